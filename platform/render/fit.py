"""Which columns of a table a terminal has room for. No number and no name is ever cut: what is too much goes whole."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from rich.cells import cell_len

from longwave.platform.boards.texts import DASH
from longwave.platform.render.export import Table

GAP = 2
"""Columns of a terminal between two of a table."""
LEAST = 16
"""Columns that a column of prose keeps at least; its words may be longer."""
WORD, SCORE = 20, 32
"""Longest word, and longest number with its interval, that is not folded."""
PIECE = re.compile(r"\S+ \[[^\]]*\](?!\S)|\(\S+ [^\s()]+\)(?!\S)|\S+")
"""What stays on one line where there is room for it: a word, two in brackets, or a number with its interval."""


def fitting_columns(made: Table, width: int | None) -> list[int]:
    """Return the columns of a table that stand in a terminal, in order.

    What the table leaves out first goes first, and comes back where there is room for it beside what is worth more.

    Args:
        made: The table.
        width: Columns of the terminal; None where lines may be of any length.
    """
    shown = [k for k in range(len(made.columns)) if k not in made.beneath and not is_empty(made, k)]
    if width is None:
        return shown
    needs = {k: width_needed(made, k) for k in shown}
    stay = {k for k in shown if k not in made.drop}
    for k in reversed([k for k in made.drop if k in needs]):
        if total_width([needs[j] for j in (*stay, k)]) <= width:
            stay.add(k)
    return sorted(stay)


def width_needed(made: Table, column: int) -> int:
    """Return how wide a column must be: as its widest cell; one of prose as its longest word, within bounds."""
    if column not in made.prose:
        return _widest_cell(made, column)
    longest = max(
        (_unbroken_width(piece) for cell in _column_cells(made, column) for piece in PIECE.findall(cell)), default=0
    )
    return min(max(LEAST, longest), _widest_cell(made, column))


def _unbroken_width(piece: str) -> int:
    """Return how much of a piece is kept on one line in any case; of words in brackets that is little."""
    return min(cell_len(piece), SCORE if piece.endswith("]") else LEAST if " " in piece else WORD)


def column_widths(made: Table, shown: Sequence[int], width: int | None) -> list[int]:
    """Return how wide the columns ``kept`` are in a terminal: those of prose share what the others leave."""
    if width is None:
        return [_widest_cell(made, k) for k in shown]
    widths = {k: width_needed(made, k) for k in shown}
    left = width - total_width(list(widths.values()))
    wanting = sorted((k for k in shown if k in made.prose), key=lambda k: _widest_cell(made, k) - widths[k])
    for done, k in enumerate(wanting):
        more = max(0, min(_widest_cell(made, k) - widths[k], left // (len(wanting) - done)))
        widths[k] += more
        left -= more
    return list(widths.values())


def is_empty(made: Table, column: int) -> bool:
    """Return whether a column that may be left out says nothing of any line."""
    return column in made.drop and all(line[column] in (DASH, "") for line in made.lines)


def wrap_text(text: str, width: int) -> str:
    """Return text in lines of a width, none of which ends within a number and its interval if that fits one."""
    lines = []
    for part in text.split("\n"):
        lines.append("")
        for piece in PIECE.findall(part):
            for word in [piece] if cell_len(piece) <= width else piece.split():
                if lines[-1] and cell_len(f"{lines[-1]} {word}") > width:
                    lines.append("")
                lines[-1] += f" {word}" if lines[-1] else word
    return "\n".join(lines)


def _column_cells(made: Table, column: int) -> list[str]:
    """Return head and cells of a column."""
    return [made.columns[column], *(line[column] for line in made.lines)]


def _widest_cell(made: Table, column: int) -> int:
    return max(cell_len(part) for cell in _column_cells(made, column) for part in cell.split("\n"))


def total_width(widths: Sequence[int]) -> int:
    """Return how wide a table of such columns is."""
    return sum(widths) + GAP * max(0, len(widths) - 1)


def split_table(made: Table, width: int | None, ahead: int) -> list[Table]:
    """Return a table as several, each as wide as a terminal has room for; all begin with its first column.

    Args:
        made: The table.
        width: Columns of the terminal; None where lines may be of any length.
        ahead: Columns that stand in the first alone, before those that are dealt out.
    """
    parts: list[list[int]] = [[*range(ahead)]]
    for k in range(ahead, len(made.columns)):
        if (
            width is not None
            and total_width([width_needed(made, j) for j in (*parts[-1], k)]) > width
            and len(parts[-1]) > 1
        ):
            parts.append([0])
        parts[-1].append(k)
    last = len(parts) - 1
    return [
        replace(
            made,
            columns=[made.columns[k] for k in part],
            lines=[[line[k] for k in part] for line in made.lines],
            title=made.title if number == 0 else "",
            answer=made.answer if number == 0 else "",
            caption=made.caption if number == last else "",
            notes=made.notes if number == last else (),
            bold=frozenset((i, part.index(k)) for i, k in made.bold if k in part),
            prose=frozenset(part.index(k) for k in made.prose if k in part),
        )
        for number, part in enumerate(parts)
    ]


def lines_beneath(made: Table) -> list[str]:
    """Return what stands beneath a table: a line for each text of such a column, behind the names of its lines.

    Lines of one text are named together, and a text that all have is said of all.
    """
    lines = []
    names = [line[0].replace(DASH, "") for line in made.lines]
    for k in sorted(made.beneath):
        whose: dict[str, list[str]] = {}
        for name, line in zip(names, made.lines, strict=True):
            if line[k] not in (DASH, ""):
                whose.setdefault(line[k], []).append(name)
        same = len(whose) == 1 and len(made.lines) > 1
        lines += [f"{made.columns[k]}, {'all' if same else ', '.join(own)}: {text}" for text, own in whose.items()]
    return lines
