"""How often open pages redraw: less often with more open pages and slower reads."""

from __future__ import annotations

import threading
import time
import uuid

import streamlit as st

SHORTEST, LONGEST = 10, 160
"""Shortest and longest interval between two redraws of a page, in seconds."""
SHARE_OF_CORE = 0.25
"""Share of one core that automatic redraws may use."""
MISSED = 2
"""Intervals without a redraw after which a page counts as closed: each followed link opens a new one."""
SMOOTHING = 0.8
"""Weight of the previous mean in the running mean of the durations."""


class RefreshRate:
    """Chooses the redraw interval from the load of the server; shared by all sessions."""

    def __init__(self) -> None:
        self._closed_at: dict[str, float] = {}
        self._mean_seconds = 0.0
        self._lock = threading.Lock()

    def note_draw(self, visitor: str, seconds: float, interval: int) -> None:
        """Record that a visitor's page was drawn, how many seconds that took, and the interval to its next redraw."""
        now = time.monotonic()
        with self._lock:
            mean = self._mean_seconds or seconds
            self._mean_seconds = SMOOTHING * mean + (1 - SMOOTHING) * seconds
            self._closed_at[visitor] = now + MISSED * interval
            self._closed_at = {name: at for name, at in self._closed_at.items() if at > now}

    def every(self, interval: int = SHORTEST) -> int:
        """Return the seconds between two redraws: ``interval``, doubled until all pages stay within
        ``SHARE_OF_CORE``."""
        needed = len(self._closed_at) * self._mean_seconds / SHARE_OF_CORE
        while interval < min(needed, LONGEST):
            interval *= 2
        return interval


@st.cache_resource(show_spinner=False)
def shared_rate() -> RefreshRate:
    """Return the instance of this server."""
    return RefreshRate()


def visitor_id() -> str:
    """Return the id of this session."""
    return str(st.session_state.setdefault("visitor", uuid.uuid4().hex))
