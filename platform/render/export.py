"""Tables as text for other programs: CSV, Markdown, LaTeX and JSON. The one place that knows how they are written."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from longwave.platform.redaction import redact_document, redacted
from longwave.platform.render.harmless import in_csv, in_json, in_latex, in_markdown


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
        answer: What the table says, in a sentence or two; in a terminal it stands above.
        prose: Columns whose cells may run over several lines of a terminal; others never do.
        drop: Columns that a narrow terminal leaves out, the first of them first.
        beneath: Columns that a terminal prints beneath the table.
        notes: What a terminal prints beneath the table, each a paragraph; papers and programs do not get it.
    """

    title: str
    columns: Sequence[str]
    lines: Sequence[Sequence[str]]
    caption: str = ""
    bold: frozenset[tuple[int, int]] = frozenset()
    records: Sequence[Mapping[str, Any]] = ()
    right: frozenset[int] = frozenset()
    answer: str = ""
    prose: frozenset[int] = frozenset()
    drop: Sequence[int] = ()
    beneath: frozenset[int] = frozenset()
    notes: Sequence[str] = ()


def of_texts(title: str, columns: Sequence[str], lines: Sequence[Sequence[str]]) -> Table:
    """Return a table of texts, whose records are its lines."""
    return Table(title, columns, lines, records=[dict(zip(columns, line, strict=True)) for line in lines])


def format_tables(tables: Sequence[Table], format: Format, content: object = None) -> str:
    """Return the tables in a format other than ``table``, with a newline at the end.

    Args:
        tables: CSV has the records of all of them under one heading; Markdown and LaTeX write one after the other.
        format: Which.
        content: What JSON holds; the records of all tables by default.
    """
    records = [redact_document(record) for table in tables for record in table.records]
    if format is Format.json:
        return as_json(records if content is None else content) + "\n"
    if format is Format.csv:
        return _to_csv(records)
    return "\n".join((_to_latex if format is Format.latex else _to_markdown)(table) for table in tables)


def as_json(content: object) -> str:
    """Return JSON without passwords; text stays readable, and what is not finite is a ValueError."""
    return in_json(json.dumps(redact_document(content), indent=2, ensure_ascii=False, allow_nan=False))


def _to_csv(records: Sequence[Mapping[str, Any]]) -> str:
    """Return one line a record: an empty cell for what is not there, lists of text by semicolons, else JSON."""
    columns = dict.fromkeys(name for record in records for name in record)
    file = io.StringIO()
    writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
    writer.writerow({name: in_csv(name) for name in columns})
    writer.writerows({name: _plain_cell(value) for name, value in record.items()} for record in records)
    return file.getvalue()


def _plain_cell(value: Any) -> Any:
    """Return a value as one CSV cell."""
    if isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(part, str) for part in value):
        value = "; ".join(value)
    elif isinstance(value, Mapping | Sequence) and not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return "" if value is None else in_csv(value) if isinstance(value, str) else value


def _to_markdown(table: Table) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cells) + " |"

    columns, title, answer, caption = (
        [in_markdown(name) for name in table.columns],
        *(in_markdown(redacted(text)) for text in (table.title, table.answer, table.caption)),
    )
    lines = [line(cells) for cells in _mark_cells(table, in_markdown, "**{}**".format)]
    rule = "|" + "".join(" ---: |" if k in table.right else " --- |" for k in range(len(table.columns)))
    return "\n".join(
        [
            *([f"### {title}", ""] if title else []),
            *([answer, ""] if answer else []),
            line(columns),
            rule,
            *lines,
            "",
            *([caption, ""] if caption else []),
        ]
    )


def _to_latex(table: Table) -> str:
    """Return a table for LaTeX, over both columns of a paper that has two; it needs no package."""

    def line(cells: Sequence[str]) -> str:
        text = " & ".join(cells) + r" \\"
        return f"{{}}{text}" if text[0] in "[*" else text  # the line before would take it for an argument

    sides = "".join("r" if k in table.right else "l" for k in range(len(table.columns)))
    said = " ".join(filter(None, (table.answer, table.caption)))
    caption = in_latex(redacted(". ".join(filter(None, (table.title, said)))))
    return "\n".join(
        [
            r"\begin{table*}",
            r"\centering\small\setlength{\tabcolsep}{4pt}",
            *([rf"\caption{{{caption}}}"] if caption else []),
            rf"\begin{{tabular}}{{{sides}}}",
            r"\hline",
            line([_stacked(name) for name in table.columns]),
            r"\hline",
            *[line(cells) for cells in _mark_cells(table, in_latex, r"\textbf{{{}}}".format)],
            r"\hline",
            r"\end{tabular}",
            r"\end{table*}",
            "",
        ]
    )


def _stacked(name: str) -> str:
    """Return a heading of one line, or of several above each other."""
    parts = [in_latex(part) for part in name.split("\n")]
    return parts[0] if len(parts) == 1 else r"\shortstack{" + r"\\".join(parts) + "}"


def _mark_cells(table: Table, harmless: Callable[[str], str], bold: Callable[[str], str]) -> list[list[str]]:
    """Return the cells without passwords and made harmless, those in bold wrapped."""
    return [
        [bold(harmless(cell)) if (i, j) in table.bold else harmless(cell) for j, cell in enumerate(cells)]
        for i, cells in enumerate(redact_document(table.lines))
    ]
