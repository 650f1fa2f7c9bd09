"""Rows pinned with a star. They are in the URL, and stay pinned on other pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from longwave.dashboard import state
from longwave.dashboard.board_table import STAR
from longwave.platform.boards.row import SHORT, Row

KEY = "star"
"""Key in the URL and in the session."""


def pinned_names() -> list[str]:
    """Return the first digits of the pinned rows: from the URL, else from the last page that had some."""
    if url_names := state.address_list(KEY):
        st.session_state[KEY] = url_names
    return list(st.session_state.get(KEY, ()))


def star_params() -> dict[str, str]:
    """Return the pinned rows for a URL's query: empty if there are none."""
    return {KEY: ",".join(names)} if (names := pinned_names()) else {}


def is_pinned(row: Row) -> bool:
    """Return whether a row is pinned."""
    return row.key[:SHORT] in pinned_names()


def pinned_first(rows: Sequence[Row], hidden: Sequence[Row]) -> list[Row]:
    """Return the rows with the pinned ones first, including pinned ones of ``hidden``, which a filter left out."""
    names = pinned_names()
    pinned = [row for row in [*rows, *(row for row in hidden if row not in rows)] if row.key[:SHORT] in names]
    return [*pinned, *(row for row in rows if row not in pinned)]


def draw_star(row: Row, container: Any = st) -> None:
    """Draw the switch that pins a row."""
    key = f"pick {KEY} {row.key}"
    st.session_state[key] = is_pinned(row)
    container.toggle(f"{STAR}Pin this row", key=key, on_change=_write_star, args=(row.key[:SHORT],))


def _write_star(name: str) -> None:
    names = pinned_names()
    pinned = [other for other in names if other != name] if name in names else [*names, name]
    st.session_state[KEY] = pinned
    state.write_address(KEY, pinned)
