"""Light or dark, as the address says: a link opens in the theme in which it was copied."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

import streamlit as st

from longwave.dashboard import state

THEMES = ("system", "light", "dark")
KEPT, WHERE = "theme", "theme's page"
"""Of the session: the theme, and the page whose address named it."""
# Where Streamlit's own menu keeps the choice, by page; it is read when a page is loaded.
SCRIPT = """<script>{
const key = `stActiveTheme-${location.pathname}-v2`, wanted = %s;
if ((localStorage.getItem(key) || '"System"') !== wanted) { localStorage.setItem(key, wanted); location.reload(); }
}</script>"""


def current_theme() -> str:
    """Return the theme of the address; of the last address that named one, where another page was opened since."""
    page, requested = urlsplit(str(st.context.url or "")).path, state.address_value("theme")
    if requested in THEMES:
        st.session_state[KEPT], st.session_state[WHERE] = requested, page
    elif st.session_state.get(WHERE) == page:  # the way back from the click that named it
        st.session_state[KEPT] = THEMES[0]
    return str(st.session_state.get(KEPT, THEMES[0]))


def theme_params() -> dict[str, str]:
    """Return what an address says of the theme: nothing where it is the system's."""
    return {} if (now := current_theme()) == THEMES[0] else {"theme": now}


def theme_script(theme: str) -> str:
    """Return the element that brings a page into a theme."""
    return SCRIPT % json.dumps(json.dumps(theme.capitalize()))


def draw_theme_choice(container: Any) -> None:
    """Draw the picker of the theme, and bring the page into the one that is asked for."""
    now = current_theme()
    st.session_state["pick theme"] = now
    container.segmented_control(
        "Theme", THEMES, key="pick theme", on_change=_write_theme, required=True, label_visibility="collapsed"
    )
    if now == THEMES[0] or state.address_value(
        "theme"
    ):  # on pages opened since it stays as it is, until they are loaded anew
        st.html(theme_script(now), unsafe_allow_javascript=True)


def _write_theme() -> None:
    state.write_address("theme", str(st.session_state["pick theme"]), THEMES[0])
