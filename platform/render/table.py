"""A table, which others print, export or draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Table:
    """A table for people, and its records for programs.

    Attributes:
        title: Its heading.
        columns: Headings of the columns.
        lines: Cells as texts, one sequence per line.
        caption: Explanation of the numbers.
        bold: Cells in bold, as (line, column).
        records: The same for programs: one mapping per line, with more keys and full precision.
        right: Columns aligned to the right.
        answer: The result in a sentence or two; a terminal prints it above the table.
        prose: Columns whose cells may wrap in a terminal and in LaTeX.
        drop: Columns that a narrow terminal leaves out, in this order.
        beneath: Columns that a terminal prints below the table.
        notes: Paragraphs that a terminal and a notebook print below the table.
        keys: Keys of the records, for a CSV without any; by default the headings.
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
    keys: Sequence[str] = ()
