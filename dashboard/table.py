"""A board as a table on a page: one line per row; selecting one shows its seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from longwave.dashboard import board_table, state, table_frames
from longwave.dashboard.board_table import DOT, BoardView
from longwave.platform.boards.row import SHORT, Row
from longwave.platform.boards.texts import DASH
from longwave.platform.figures.palette import NEUTRAL, family_colour

WIDTHS = {
    "rank_low": 48, DOT: 26, "median": 190, "parameters": 90,
    "verdict": 400, "published": 300, "departures": 420,
}  # fmt: skip
"""Pixels."""
AS_WIDE = ("title", "mean", "n", "searched")
"""Columns that are as wide as what stands in them."""
SIGN, NAME = 7.5, (90, 200)
"""Pixels per character, and smallest and largest width of a column fitted to its content."""


def draw_board(made: BoardView) -> list[Row]:
    """Draw the table of one board; return the selected rows, which are in the URL."""
    linked, rows = state.address_list("select"), made.rows
    start = [k for k, row in enumerate(rows) if any(row.key.startswith(name) for name in linked)]
    key = f"{table_frames.board_key(rows)} {start}"
    event = st.dataframe(
        board_table.styled_board(made, [NEUTRAL if row.trivial else family_colour(row.family) for row in rows]),
        key=key,
        on_select="rerun",
        selection_mode="multi-row",
        selection_default={"selection": {"rows": start}},
        height="content",
        hide_index=True,
        placeholder=DASH,
        column_config=table_headings(made),
        alt=f"The rows of {rows[0].board}, in order",
    )
    picked = [k for k in event["selection"]["rows"] if k < len(rows)]
    if picked != start:
        state.write_address("select", [rows[k].key[:SHORT] for k in picked])
        st.rerun(scope="fragment")
    return [rows[k] for k in picked]


def text_width(texts: Sequence[str]) -> int:
    """Return the width in pixels of a column fitted to its content."""
    return round(min(max(SIGN * max(map(len, texts), default=0) + 20, NAME[0]), NAME[1]))


def table_headings(made: BoardView) -> dict[str, Any]:
    """Return the table's headings, widths in pixels, alignments and definitions."""
    column = st.column_config.Column
    widths = {**WIDTHS, **{key: text_width(made.texts.get(key, ())) for key in AS_WIDE}}
    return {
        key: column(name, width=widths.get(key), help=meaning, alignment=align)
        for key, (name, meaning, align) in board_table.column_headings(made).items()
    }
