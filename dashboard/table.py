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
"""Widths of columns in pixels."""
AS_WIDE = ("title", "mean", "n", "searched")
"""Columns fitted to their content."""
SIGN, NAME = 7.5, (90, 200)
"""Pixels per character, and smallest and largest width of a column fitted to its content."""


def draw_board(view: BoardView) -> list[Row]:
    """Draw the table of one board and return the selected rows, which are also in the URL."""
    selected_names, rows = state.address_list("select"), view.rows
    initial = [k for k, row in enumerate(rows) if any(row.key.startswith(name) for name in selected_names)]
    key = f"{table_frames.board_key(rows)} {initial}"
    event = st.dataframe(
        board_table.styled_board(view, [NEUTRAL if row.trivial else family_colour(row.family) for row in rows]),
        key=key,
        on_select="rerun",
        selection_mode="multi-row",
        selection_default={"selection": {"rows": initial}},
        height="content",
        hide_index=True,
        placeholder=DASH,
        column_config=table_headings(view),
        alt=f"The rows of {rows[0].board}, in order",
    )
    selected = [k for k in event["selection"]["rows"] if k < len(rows)]
    if selected != initial:
        state.write_address("select", [rows[k].key[:SHORT] for k in selected])
        st.rerun(scope="fragment")
    return [rows[k] for k in selected]


def text_width(texts: Sequence[str]) -> int:
    """Return the width in pixels of a column fitted to its content."""
    return round(min(max(SIGN * max(map(len, texts), default=0) + 20, NAME[0]), NAME[1]))


def table_headings(view: BoardView) -> dict[str, Any]:
    """Return the table's headings, widths in pixels, alignments and definitions."""
    column = st.column_config.Column
    widths = {**WIDTHS, **{key: text_width(view.texts.get(key, ())) for key in AS_WIDE}}
    return {
        key: column(name, width=widths.get(key), help=meaning, alignment=align)
        for key, (name, meaning, align) in board_table.column_headings(view).items()
    }
