"""How often open pages look at the store: the more pages are open, and the longer a look takes, the more seldom."""

from __future__ import annotations

import threading
import time
import uuid

import streamlit as st

LEAST, MOST = 10, 160
"""Seconds between two looks of a page."""
SHARE_OF_CORE = 0.25
"""Of one core's time that looks of themselves may take."""
SECONDS_OPEN = 2 * MOST
"""Seconds after which a page that has not looked is taken for closed."""
SMOOTHING = 0.8
"""Weight of earlier looks in how long one takes."""


class RefreshRate:
    """What the server's pages take; all sessions share one."""

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
        """Return the seconds between two looks: ``least``, doubled until all pages keep within ``SHARE_OF_CORE``."""
        need = len(self._seen) * self._took / SHARE_OF_CORE
        while least < min(need, MOST):
            least *= 2
        return least


@st.cache_resource(show_spinner=False)
def shared_rate() -> RefreshRate:
    """Return the one of this server."""
    return RefreshRate()


def visitor_id() -> str:
    """Return the name of this session."""
    return str(st.session_state.setdefault("visitor", uuid.uuid4().hex))
