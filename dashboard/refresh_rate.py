"""How often open pages redraw: less often with more open pages and slower reads."""

from __future__ import annotations

import threading
import time
import uuid

import streamlit as st

LEAST, MOST = 10, 160
"""Seconds between two redraws of a page."""
SHARE_OF_CORE = 0.25
"""Share of one core's time for automatic redraws."""
SECONDS_OPEN = 2 * MOST
"""Seconds without a redraw after which a page counts as closed."""
SMOOTHING = 0.8
"""Weight of earlier redraws in the mean duration."""


class RefreshRate:
    """Time that the server's pages take; shared by all sessions."""

    def __init__(self) -> None:
        self._seen: dict[str, float] = {}
        self._took = 0.0
        self._lock = threading.Lock()

    def note_look(self, visitor: str, took: float) -> None:
        """Note that a visitor's page was drawn, and how many seconds that took."""
        now = time.monotonic()
        with self._lock:
            self._took = SMOOTHING * self._took + (1 - SMOOTHING) * took if self._took else took
            self._seen[visitor] = now
            self._seen = {name: at for name, at in self._seen.items() if at > now - SECONDS_OPEN}

    def every(self, least: int = LEAST) -> int:
        """Return the seconds between two redraws: ``least``, doubled until all pages stay within ``SHARE_OF_CORE``."""
        need = len(self._seen) * self._took / SHARE_OF_CORE
        while least < min(need, MOST):
            least *= 2
        return least


@st.cache_resource(show_spinner=False)
def shared_rate() -> RefreshRate:
    """Return the instance of this server."""
    return RefreshRate()


def visitor_id() -> str:
    """Return the id of this session."""
    return str(st.session_state.setdefault("visitor", uuid.uuid4().hex))
