"""The table of a board: columns, texts and colours, shared by all its renderings. Needs no Streamlit."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import pandas as pd
from pandas.io.formats.style import Styler

from longwave.dashboard import table_frames
from longwave.platform.boards import columns
from longwave.platform.boards.columns import Align, Column
from longwave.platform.boards.numbers import column_power, power_text
from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import DASH, marked_median, result

DOT = " "
"""Key of the column with the model's colour, which has no data."""
RED, GREY = "#D9483B", "#868E97"
"""Colours of diverged shares and of provisional rows; readable on white and on black."""
BEST_COLOUR = "rgba(23, 105, 170, 0.14)"
"""Background of medians in the best tie group; never of a provisional one."""
ORDER = (
    "title", "median", "rank_low", DOT, "mean", "n", "share", "superseded", "verification", "parameters", "searched",
    "verdict", "published", "train_seconds", "find_seconds",
)  # fmt: skip
"""Keys of the first columns, beginning with name and score: a phone shows these."""
ALWAYS = ("title", "median", "rank_low")
"""Keys of the columns on every board."""
STAR = "★ "
"""Mark before the name of a pinned row."""
IF_ANY = ("superseded", "published", "verdict")
"""Keys of the columns that are shown only if some row has an entry."""


@dataclass(frozen=True)
class BoardView:
    """The table of a board, shared by all its renderings.

    Attributes:
        rows: In order.
        columns: In order.
        texts: Text of each cell, by key of the column.
        power: Power of ten by which medians and means are scaled.
    """

    rows: Sequence[Row]
    columns: Sequence[Column]
    texts: Mapping[str, Sequence[str]]
    power: int = 0

    @property
    def numbers(self) -> list[Column]:
        """Columns whose values are numbers."""
        return [column for column in self.columns if column.kind in ("whole", "number")]


def shown_columns(rows: Sequence[Row], keys: Sequence[str] = ()) -> list[Column]:
    """Return the columns of the table of ``rows``, in order: ``ALWAYS`` and, if given, those of ``keys``."""
    if keys:
        return columns.named_columns([*ALWAYS, *keys])
    chosen = columns.standing("dashboard", rows)
    chosen = [c for c in chosen if c.key not in IF_ANY or any(c.text(row) != DASH for row in rows)]
    return sorted(chosen, key=lambda c: ORDER.index(c.key) if c.key in ORDER else len(ORDER))


def view_board(rows: Sequence[Row], keys: Sequence[str] = (), pinned: Collection[Row] = ()) -> BoardView:
    """Return the table of the rows of one board.

    Args:
        rows: In order.
        keys: Keys of the columns; if empty, those in which some row has an entry.
        pinned: Rows marked with a star.
    """
    table_columns = shown_columns(rows, keys)
    power = column_power(rows)
    texts = {column.key: [column.text(row) for row in rows] for column in table_columns}
    texts |= {"median": [marked_median(row, power) for row in rows], "mean": [result(row, power) for row in rows]}
    labels = zip(rows, table_frames.row_labels(rows), strict=True)
    titles = [STAR * any(row is pinned_row for pinned_row in pinned) + label for row, label in labels]
    return BoardView(rows, table_columns, {**texts, "title": titles}, power)


def board_frame(view: BoardView) -> pd.DataFrame:
    """Return the board's values by column key, one line per row. Numbers stay numbers, so columns sort by value."""
    frame: dict[str, Any] = {}
    for column in view.columns:
        texts = view.texts[column.key]
        frame[column.key] = texts
        if column in view.numbers:
            sort_values = [sort_value(column, row, text) for row, text in zip(view.rows, texts, strict=True)]
            frame[column.key] = pd.Series(sort_values, dtype="float")
        if column.key == "rank_low":
            frame[DOT] = ["●"] * len(view.rows)
    return pd.DataFrame(frame)


def sort_value(column: Column, row: Row, text: str) -> float | None:
    """Return the sort key of a numeric cell: worse than any number if its text is none, or None for a dash.

    The browser prints a missing number only as a dash.
    """
    if text == DASH:
        return None
    value: float | None = column.value(row)
    if value is not None:
        return value
    return -math.inf if row.goal == "max" and column.key in ("median", "mean") else math.inf


def styled_board(view: BoardView, colours: Sequence[str]) -> Styler:
    """Return ``board_frame`` with the page's formatting: numbers in their column's format, colours of the models."""
    table, rows = board_frame(view).style, view.rows
    table = table.format({column.key: _in_turn(view.texts[column.key]) for column in view.numbers})
    table = table.apply(lambda _: [f"color: {colour}" for colour in colours], subset=[DOT])
    if "share" in table.columns:
        table = table.map(lambda share: f"color: {RED}" if share > 0 else "", subset=["share"])
    greys = [f"color: {GREY}" if row.provisional or row.superseded else "" for row in rows]
    tinted = [key for key in table.columns if key not in (DOT, "share")]
    best = [f"background-color: {BEST_COLOUR}" if row.shines else "" for row in rows]
    return table.apply(lambda _: greys, subset=tinted).apply(lambda _: best, subset=["median"])


def column_headings(view: BoardView) -> dict[str, tuple[str, str, Align]]:
    """Return heading, meaning and alignment of each column of ``board_frame``, by key."""
    unit = f", × {power_text(view.power)}" if view.power else ""
    names = {c.key: c.heading + unit * (c.key in ("median", "mean")) for c in view.columns}
    headings = {c.key: (names[c.key], c.meaning, c.align) for c in view.columns}
    return {**headings, DOT: (" ", "Colour of the model on this page.", "left")}


def _in_turn(texts: Sequence[str]) -> Callable[[object], str]:
    """Return a formatter of a column's cells, called from the first row to the last."""
    turn = cycle(texts)
    return lambda _: next(turn)
