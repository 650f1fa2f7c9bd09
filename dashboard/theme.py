"""The light or dark theme, from the URL: a link opens in the theme in which it was copied."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

import streamlit as st

from longwave.dashboard import state

THEMES = ("system", "light", "dark")
THEME_KEY, PAGE_KEY = "theme", "theme's page"
"""Session keys: the theme, and the page whose URL set it."""
# Streamlit's own menu stores the choice here, by page, and reads it when a page is loaded.
SCRIPT = """<script>{
const key = `stActiveTheme-${location.pathname}-v2`, wanted = %s;
if ((localStorage.getItem(key) || '"System"') !== wanted) { localStorage.setItem(key, wanted); location.reload(); }
}</script>"""


def current_theme() -> str:
    """Return the theme of the URL, or of the last URL with one if another page was opened since."""
    page, requested = urlsplit(str(st.context.url or "")).path, state.address_value("theme")
    if requested in THEMES:
        st.session_state[THEME_KEY], st.session_state[PAGE_KEY] = requested, page
    elif st.session_state.get(PAGE_KEY) == page:  # Back undid the click that set it
        st.session_state[THEME_KEY] = THEMES[0]
    return str(st.session_state.get(THEME_KEY, THEMES[0]))


def theme_params() -> dict[str, str]:
    """Return the theme for a URL's query: empty for the system's."""
    return {} if (theme := current_theme()) == THEMES[0] else {"theme": theme}


def theme_script(theme: str) -> str:
    """Return the element that sets a page's theme."""
    return SCRIPT % json.dumps(json.dumps(theme.capitalize()))


def draw_theme_choice(container: Any) -> None:
    """Draw the theme picker, and set the page to the chosen theme."""
    theme = current_theme()
    st.session_state["pick theme"] = theme
    container.segmented_control(
        "Theme", THEMES, key="pick theme", on_change=_write_theme, required=True, label_visibility="collapsed"
    )
    if theme == THEMES[0] or state.address_value("theme"):  # pages opened since keep theirs until reloaded
        st.html(theme_script(theme), unsafe_allow_javascript=True)


def _write_theme() -> None:
    state.write_address("theme", str(st.session_state["pick theme"]), THEMES[0])
