"""Fit a table to the width of a terminal by leaving out whole columns: numbers and names are never truncated."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from rich.cells import cell_len

from longwave.platform.boards.texts import DASH
from longwave.platform.render.table import Table

GAP = 2
"""Characters between two columns."""
LEAST = 16
"""Minimal width of a column of prose, although its words may be longer."""
WORD, SCORE = 20, 32
"""Longest word, and longest number with its interval, that is not broken."""
PIECE = re.compile(r"\S+(?: × \S+)? \[[^\]]*\](?!\S)|\(\S+ [^\s()]+\)(?!\S)|\S+ × \S+|\S+")
"""Parts that stay on one line if they fit: a word, two words in brackets, or a number with its interval."""
PART = re.compile(r"\[[^\]]*\](?!\S)|\S+ × \S+|\S+")
"""Parts that do so where the others do not: an interval stands below its number."""


def fitting_columns(table: Table, width: int | None) -> list[int]:
    """Return the columns of a table that fit a terminal, in order. Columns are left out in the order of ``drop``; one
    that still fits beside more important ones is kept.

    Args:
        table: The table.
        width: Width of the terminal; None if lines may have any length.
    """
    shown = [k for k in range(len(table.columns)) if k not in table.beneath and not is_empty(table, k)]
    if width is None:
        return shown
    needed_widths = {k: width_needed(table, k) for k in shown}
    fitting = {k for k in shown if k not in table.drop}
    for k in reversed([k for k in table.drop if k in needed_widths]):
        if total_width([needed_widths[j] for j in (*fitting, k)]) <= width:
            fitting.add(k)
    return sorted(fitting)


def width_needed(table: Table, column: int, unbroken: re.Pattern[str] = PIECE, least: int = LEAST) -> int:
    """Return the minimal width of a column: of its widest cell, or for prose of its longest part, within bounds."""
    if column not in table.prose:
        return _widest_cell(table, column)
    longest = max(
        (_unbroken_width(piece) for cell in _column_cells(table, column) for piece in unbroken.findall(cell)), default=0
    )
    return min(max(least, longest), _widest_cell(table, column))


def _unbroken_width(piece: str) -> int:
    """Return the width of the part that is never broken, which is small for words in brackets."""
    return min(cell_len(piece), SCORE if piece.endswith("]") else LEAST if " " in piece else WORD)


def column_widths(table: Table, shown: Sequence[int], width: int | None) -> list[int]:
    """Return the widths of the columns ``shown`` in a terminal; columns of prose share the remaining width."""
    if width is None:
        return [_widest_cell(table, k) for k in shown]
    widths = {k: width_needed(table, k) for k in shown}
    if total_width(list(widths.values())) > width:
        widths = {k: width_needed(table, k, PART, least=0) for k in shown}
    spare = width - total_width(list(widths.values()))
    growing = sorted((k for k in shown if k in table.prose), key=lambda k: _widest_cell(table, k) - widths[k])
    for done, k in enumerate(growing):
        growth = max(0, min(_widest_cell(table, k) - widths[k], spare // (len(growing) - done)))
        widths[k] += growth
        spare -= growth
    return list(widths.values())


def is_empty(table: Table, column: int) -> bool:
    """Return whether a droppable column is empty in all lines."""
    return column in table.drop and all(line[column] in (DASH, "") for line in table.lines)


def wrap_text(text: str, width: int) -> str:
    """Return text wrapped to a width, without breaks inside a number with its interval if that fits."""
    lines = []
    for part in text.split("\n"):
        lines.append("")
        for piece in PIECE.findall(part):
            for word in _broken(piece, width):
                if lines[-1] and cell_len(f"{lines[-1]} {word}") > width:
                    lines.append("")
                lines[-1] += f" {word}" if lines[-1] else word
    return "\n".join(lines)


def _broken(piece: str, width: int) -> list[str]:
    """Return the parts of a piece that fit a width: the piece, else its number and its interval, else its words."""
    if cell_len(piece) <= width:
        return [piece]
    return [word for part in PART.findall(piece) for word in ([part] if cell_len(part) <= width else part.split())]


def _column_cells(table: Table, column: int) -> list[str]:
    """Return heading and cells of a column."""
    return [table.columns[column], *(line[column] for line in table.lines)]


def _widest_cell(table: Table, column: int) -> int:
    return max(cell_len(part) for cell in _column_cells(table, column) for part in cell.split("\n"))


def total_width(widths: Sequence[int]) -> int:
    """Return the width of a table with columns of these widths."""
    return sum(widths) + GAP * max(0, len(widths) - 1)


def split_table(table: Table, width: int | None, leading: int) -> list[Table]:
    """Split a table into several that fit a terminal, all beginning with its first column.

    Args:
        table: The table.
        width: Width of the terminal; None if lines may have any length.
        leading: Leading columns that are only in the first table.
    """
    parts: list[list[int]] = [[*range(leading)]]
    for k in range(leading, len(table.columns)):
        if (
            width is not None
            and total_width([width_needed(table, j) for j in (*parts[-1], k)]) > width
            and len(parts[-1]) > 1
        ):
            parts.append([0])
        parts[-1].append(k)
    last = len(parts) - 1
    return [
        replace(
            table,
            columns=[table.columns[k] for k in part],
            lines=[[line[k] for k in part] for line in table.lines],
            title=table.title if number == 0 else "",
            answer=table.answer if number == 0 else "",
            caption=table.caption if number == last else "",
            notes=table.notes if number == last else (),
            bold=frozenset((i, part.index(k)) for i, k in table.bold if k in part),
            prose=frozenset(part.index(k) for k in table.prose if k in part),
        )
        for number, part in enumerate(parts)
    ]


def lines_beneath(table: Table) -> list[str]:
    """Return the lines below a table: one for each text in a column of ``beneath``, with the names of its lines, unless
    these are all.
    """
    lines = []
    names = [line[0].replace(DASH, "") for line in table.lines]
    for k in sorted(table.beneath):
        names_by_text: dict[str, list[str]] = {}
        for name, line in zip(names, table.lines, strict=True):
            if line[k] not in (DASH, ""):
                names_by_text.setdefault(line[k], []).append(name)
        for text, line_names in names_by_text.items():
            of_lines = f" ({'; '.join(line_names)})" if len(line_names) < len(table.lines) else ""
            lines.append(f"{table.columns[k]}{of_lines}: {text}")
    return lines
