"""Tables as text for other programs: CSV, Markdown, LaTeX and JSON. The one place that knows how they are written."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Format(StrEnum):
    """How tables are printed: ``table`` is for the terminal, the others are for programs and papers."""

    table = "table"
    csv = "csv"
    markdown = "markdown"
    latex = "latex"
    json = "json"


@dataclass(frozen=True)
class Table:
    """A table as people read it, and the records behind it.

    Attributes:
        title: Its heading.
        columns: Headings of the columns.
        lines: Cells as text, one sequence a line.
        caption: What the numbers are: n, the test, what was left out.
        bold: Cells in bold, as (line, column).
        records: The same for programs: one mapping a line, with more keys and full precision.
        right: Columns whose cells stand to the right.
    """

    title: str
    columns: Sequence[str]
    lines: Sequence[Sequence[str]]
    caption: str = ""
    bold: frozenset[tuple[int, int]] = frozenset()
    records: Sequence[Mapping[str, Any]] = ()
    right: frozenset[int] = frozenset()


LATEX = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "–": "--",
    "—": "---",
    "−": "$-$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "×": r"$\times$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "≈": r"$\approx$",
    "<": "$<$",
    ">": "$>$",
    **{sign: f"$^{{{plain}}}$" for sign, plain in zip("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789", strict=True)},
    "η": r"$\eta$",
    "τ": r"$\tau$",
    "Δ": r"$\Delta$",
    "α": r"$\alpha$",
    "β": r"$\beta$",
    "γ": r"$\gamma$",
    "ε": r"$\epsilon$",
    "σ": r"$\sigma$",
    "λ": r"$\lambda$",
    "π": r"$\pi$",
    "ω": r"$\omega$",
    "·": r"$\cdot$",
    "→": r"$\to$",
}
"""What stands in LaTeX for the characters that mean something there, or that its fonts lack."""


def write(tables: Sequence[Table], format: Format, content: object = None) -> str:
    """Return the tables in a format other than ``table``, with a newline at the end.

    Args:
        tables: CSV has the records of all of them under one heading; Markdown and LaTeX write one after the other.
        format: Which.
        content: What JSON holds; the records of all tables by default.
    """
    records = [record for table in tables for record in table.records]
    if format is Format.json:
        return as_json(records if content is None else content) + "\n"
    if format is Format.csv:
        return _csv(records)
    return "\n".join((_latex if format is Format.latex else _markdown)(table) for table in tables)


def as_json(content: object) -> str:
    """Return JSON; text stays readable, and what is not finite is a ValueError."""
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)


def _csv(records: Sequence[Mapping[str, Any]]) -> str:
    """Return one line a record: an empty cell for what is not there, lists of text by semicolons, else JSON."""
    columns = dict.fromkeys(name for record in records for name in record)
    file = io.StringIO()
    writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _plain(value) for name, value in record.items()} for record in records)
    return file.getvalue()


def _plain(value: Any) -> Any:
    """Return a value as one CSV cell."""
    if isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    if isinstance(value, Sequence) and not isinstance(value, str):
        texts = all(isinstance(part, str) for part in value)
        return "; ".join(value) if texts else json.dumps(value, ensure_ascii=False, allow_nan=False)
    return "" if value is None else value


def _markdown(table: Table) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    lines = [line(cells) for cells in _marked(table, "**{}**".format)]
    rule = "|" + "".join(" ---: |" if k in table.right else " --- |" for k in range(len(table.columns)))
    caption = [table.caption, ""] if table.caption else []
    title = [f"### {table.title}", ""] if table.title else []
    return "\n".join([*title, line(table.columns), rule, *lines, "", *caption])


def _latex(table: Table) -> str:
    """Return a table for LaTeX with the package booktabs."""

    def line(cells: Sequence[str]) -> str:
        return " & ".join(cells) + r" \\"

    escaped = Table("", table.columns, [[escaped_latex(c) for c in cells] for cells in table.lines], bold=table.bold)
    sides = "".join("r" if k in table.right else "l" for k in range(len(table.columns)))
    caption = escaped_latex(". ".join(filter(None, (table.title, table.caption))))
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            *([rf"\caption{{{caption}}}"] if caption else []),
            rf"\begin{{tabular}}{{{sides}}}",
            r"\toprule",
            line([escaped_latex(name) for name in table.columns]),
            r"\midrule",
            *[line(cells) for cells in _marked(escaped, r"\textbf{{{}}}".format)],
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def escaped_latex(text: str) -> str:
    """Return text as LaTeX prints it."""
    return "".join(LATEX.get(sign, sign) for sign in text)


def _marked(table: Table, bold: Callable[[str], str]) -> list[list[str]]:
    """Return the cells, those in bold wrapped."""
    return [
        [bold(cell) if (i, j) in table.bold else cell for j, cell in enumerate(cells)]
        for i, cells in enumerate(table.lines)
    ]
