"""Tables as CSV, Markdown, LaTeX and JSON. All output in these formats is written here."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from longwave.platform.redaction import redact_document, redacted
from longwave.platform.render.fit import column_widths
from longwave.platform.render.harmless import in_csv, in_json, in_latex, in_markdown
from longwave.platform.render.table import Table

PAGE = 88
"""Characters of small text across a page of LaTeX's ``article`` in two columns."""


class Format(StrEnum):
    """How tables are printed: ``table`` is for the terminal, the others are for programs and papers."""

    table = "table"
    csv = "csv"
    markdown = "markdown"
    latex = "latex"
    json = "json"


def of_texts(title: str, columns: Sequence[str], lines: Sequence[Sequence[str]]) -> Table:
    """Return a table of texts whose records equal its lines."""
    return Table(title, columns, lines, records=[dict(zip(columns, line, strict=True)) for line in lines])


def format_tables(tables: Sequence[Table], format: Format, content: object = None) -> str:
    """Return the tables in a format other than ``table``, with a newline at the end.

    Args:
        tables: CSV has the records of all tables under one heading; Markdown and LaTeX have them one after the other.
        format: The format.
        content: Content of JSON; by default the records of all tables.
    """
    records = [redact_document(record) for table in tables for record in table.records]
    if format is Format.json:
        return as_json(records if content is None else content) + "\n"
    if format is Format.csv:
        return _to_csv(records, tables[0].keys or tables[0].columns if tables else ())
    return "\n".join((_to_latex if format is Format.latex else _to_markdown)(table) for table in tables)


def as_json(content: object) -> str:
    """Return readable JSON without passwords; raise ValueError for numbers that are not finite."""
    return in_json(json.dumps(redact_document(content), indent=2, ensure_ascii=False, allow_nan=False))


def _to_csv(records: Sequence[Mapping[str, Any]], head: Sequence[str]) -> str:
    """Return one line per record: missing values are empty, lists of texts joined by semicolons, nested values JSON.
    Without records there is only a header, ``head``.
    """
    columns = dict.fromkeys(name for record in records for name in record) or dict.fromkeys(filter(None, head))
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
    """Return a LaTeX table across both columns of a two-column paper, without any package. Columns of prose wrap if it
    is wider than the page.
    """

    def line(cells: Sequence[str]) -> str:
        text = " & ".join(cells) + r" \\"
        return f"{{}}{text}" if text[0] in "[*" else text  # otherwise the preceding \\ reads it as its argument

    columns = range(len(table.columns))
    widths = zip(column_widths(table, columns, None), column_widths(table, columns, PAGE), strict=True)
    alignment = "".join(
        rf"p{{{fitting / PAGE:.3f}\textwidth}}" if fitting < full else "r" if k in table.right else "l"
        for k, (full, fitting) in enumerate(widths)
    )
    text_of_caption = " ".join(filter(None, (table.answer, table.caption)))
    caption = in_latex(redacted(". ".join(filter(None, (table.title, text_of_caption)))))
    return "\n".join(
        [
            r"\begin{table*}",
            r"\centering\small\setlength{\tabcolsep}{4pt}",
            *([rf"\caption{{{caption}}}"] if caption else []),
            rf"\begin{{tabular}}{{{alignment}}}",
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
    """Return a heading, with line breaks as a stack."""
    parts = [in_latex(part) for part in name.split("\n")]
    return parts[0] if len(parts) == 1 else r"\shortstack{" + r"\\".join(parts) + "}"


def _mark_cells(table: Table, harmless: Callable[[str], str], bold: Callable[[str], str]) -> list[list[str]]:
    """Return the cells without passwords, escaped, with bold ones marked."""
    return [
        [bold(harmless(cell)) if (i, j) in table.bold else harmless(cell) for j, cell in enumerate(cells)]
        for i, cells in enumerate(redact_document(table.lines))
    ]
