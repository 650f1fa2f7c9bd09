"""Shared parts of all pages: frame, placeholders for missing content, and export of a view."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

import streamlit as st

from longwave.dashboard import cached_reads, refresh_rate, stars, theme
from longwave.dashboard.board_table import BEST_COLOUR
from longwave.platform.errors import LongwaveError
from longwave.platform.figures.frame import FAINT, Figure
from longwave.platform.figures.svg import escape_text
from longwave.platform.render.export import Format, format_tables
from longwave.platform.render.harmless import in_streamlit
from longwave.platform.render.sweeps import status_line
from longwave.platform.render.table import Table

PAGES = {
    "": {"overview": "Overview", "task": "Board", "model": "Model", "compare": "Compare", "sweep": "Sweeps"},
    "More": {
        "reproduction": "Reproduction",
        "cost": "Cost",
        "coverage": "Coverage",
        "row": "Row",
        "methods": "Methods",
    },
}
"""Titles of the pages by name, in sections."""
DEMO = "longwave demo"
STYLE = """<style>
.stMainBlockContainer { padding-left: 2rem; padding-right: 2rem; max-width: 110rem; }
h1 { font-size: 1.7rem !important; padding: 0 0 0.4rem !important; }
h3 { font-size: 1.25rem !important; padding-bottom: 0.25rem !important; }
[data-testid="stCaptionContainer"] { opacity: 0.8 !important; }
hr { margin: 0.25rem 0 !important; }
.stMultiSelect [data-tag] { background-color: rgba(134, 142, 151, 0.25) !important; color: inherit !important; }
.link-table a, .phone-pages a { color: inherit; }
[data-testid="stPageLink"] p { text-decoration: underline; }
:is(.link-table, .phone-pages) a, [data-testid="stPageLink"] p {
  text-decoration-color: #868E97; text-underline-offset: 0.2em; }
.phone-pages { display: none; }
.link-table { overflow-x: auto; font-size: 0.875rem; }
.link-table td:nth-child(-n+2) { white-space: nowrap; }
.link-table table { border-collapse: collapse; width: 100%; }
.link-table :is(th, td) { padding: 0.25rem 0.6rem; text-align: left; }
.link-table tr { border-bottom: 1px solid rgba(134, 142, 151, 0.3); }
.link-table th { font-weight: 400; opacity: 0.75; }
.st-key-printed td:last-child, .st-key-answers td:last-child { min-width: 18rem; }
.link-table td.best { font-weight: 600; background: BEST_COLOUR; }
@media (max-width: 640px) {
  .stMainBlockContainer { padding-left: 0.75rem; padding-right: 0.75rem; padding-top: 3.9rem; }
  .phone-pages { display: flex; flex-wrap: wrap; gap: 0.2rem 1rem; }
  .link-table :is(th, td) { padding: 0.25rem 0.3rem; }
  .link-table td:nth-child(-n+2) { white-space: normal; }
  .stElementContainer:has(> .stSelectbox) { min-width: 14rem; }
  .stButtonGroup [role="radiogroup"] { flex-wrap: wrap; }
  .st-key-landmarks td:nth-child(n+5), .st-key-landmarks th:nth-child(n+5) { display: none; }
}
</style>""".replace("BEST_COLOUR", BEST_COLOUR)
"""Style of all pages. It cannot be in app.py, whose output a visitor does not get if the first page is another one."""
ENDINGS = {Format.csv: "csv", Format.markdown: "md", Format.latex: "tex", Format.json: "json"}
Draw = Callable[[str], None]
"""A function that draws a page, given the store's URL."""


def draw_page(title: str, draw: Draw, interval: int = refresh_rate.SHORTEST) -> None:
    """Draw a page, and redraw it every few seconds while it is open; an error is shown as a sentence.

    Args:
        title: Title of the page.
        draw: The function that draws it.
        interval: Seconds between two redraws on a server with little load.
    """
    st.html(STYLE + pages_bar())
    st.title(title, anchor=False)
    rate = refresh_rate.shared_rate()
    every = rate.every(interval)
    redraw = False

    @st.fragment(run_every=every)
    def draw_fragment() -> None:
        nonlocal redraw
        began = time.perf_counter()
        try:
            draw(cached_reads.configured_store())
        except LongwaveError as error:
            st.info(in_streamlit(str(error)))
            if not _any_results() and not _draw_live_sweeps():
                draw_command("The demo takes a few minutes on two cores:", DEMO)
        draw_foot(every)
        rate.note_draw(refresh_rate.visitor_id(), time.perf_counter() - began, every)
        if redraw and rate.every(interval) != every:  # only a new run of the script changes the interval
            st.rerun()
        redraw = True

    draw_fragment()


def pages_bar() -> str:
    """Return links to all pages, for phones, where Streamlit hides its own behind a button."""
    pages = {name: title for section in PAGES.values() for name, title in section.items()}
    links = "".join(f'<a href="{escape_text(page_address(name, {}))}">{title}</a>' for name, title in pages.items())
    return f'<nav class="phone-pages" aria-label="Pages">{links}</nav>'


def draw_head(width: int = 640) -> tuple[Any, Any]:
    """Draw the line above a page's numbers; return the containers of its pickers and of its export menu.

    Args:
        width: Largest width of the pickers in pixels; on a phone they use the available width.
    """
    row = st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom")
    left = row.container(horizontal=True, vertical_alignment="bottom", width=width)
    return left, row.container(width="content")


def draw_foot(every: int) -> None:
    """Draw the time of the last read, and the theme picker."""
    bar = st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", key="foot")
    bar.caption(describe_freshness(every), width="content")
    theme.draw_theme_choice(bar)


def draw_link(container: Any, name: str, label: str, **query: str) -> None:
    """Draw a link to another page, with its query."""
    container.page_link(f"views/{name}.py", label=in_streamlit(label), query_params=_query_params(query))


def page_address(name: str, query: Mapping[str, str]) -> str:
    """Return the URL of another page, relative to this one."""
    return f"{'.' if name == 'overview' else name}?{urlencode(_query_params(query))}"


def draw_live_sweeps(url: str) -> bool:
    """Draw one line per running sweep, with a link to its page; return whether there is any."""
    live = cached_reads.read_live_sweeps(url)
    for status in live:
        bar = st.container(horizontal=True, vertical_alignment="center")
        draw_link(bar, "sweep", f"Sweep {status.name}", sweep=status.name)
        bar.markdown(in_streamlit(status_line(status)), width="content")
    return bool(live)


def draw_command(why: str, text: str) -> None:
    """Draw a command to copy, and its purpose."""
    st.markdown(in_streamlit(why))
    st.code(text, language=None, wrap_lines=True)


def draw_figure(
    make: Callable[[], Figure | None], key: str, lacking: str = "", captioned: bool = False
) -> Figure | None:
    """Draw a figure and return it; if it fails, show a sentence and return None.

    Args:
        make: Returns the figure, or None if there is nothing to draw.
        key: Name of the figure on the page.
        lacking: Sentence shown if there is nothing.
        captioned: Whether its text alternative is shown below it too: a figure without a legend needs that.
    """
    try:
        figure = make()
    except Exception as error:  # a failing figure must not break its page
        st.info(in_streamlit(f"This figure cannot be drawn: {error}"))
        return None
    if figure is None:
        if lacking:
            st.caption(lacking)
        return None
    spec = figure.spec()
    spec["config"]["text"] = {"color": FAINT}  # without it texts are black, even on a dark background
    st.vega_lite_chart(spec, key=key, alt=figure.title)
    if captioned:
        st.caption(in_streamlit(f"{figure.title[:1].upper()}{figure.title[1:]}."))
    return figure


def draw_share_menu(
    name: str, tables: Sequence[Table] = (), figures: Mapping[str, Figure | None] | None = None
) -> None:
    """Draw the export menu of a view: its link, its citation, its tables and figures as files.

    Args:
        name: Name of the view, also for its files.
        tables: The tables on screen.
        figures: Figures by name; None is left out.
    """
    with st.popover("Share", help="Link, citation, tables and figures of this view"):
        st.caption("Link to this view")
        st.code(view_address(), language=None, wrap_lines=True)
        st.caption("Citation")
        st.code(cite_view(name), language=None, wrap_lines=True)
        if tables:
            st.caption("The tables on screen")
            row = st.container(horizontal=True)
            for format, ending in ENDINGS.items():
                text = partial(format_tables, tables, format)
                row.download_button(
                    ending.upper(), text, f"{_file_name(name)}.{ending}", key=f"{name} {ending}", on_click="ignore"
                )
        for label, figure in (figures or {}).items():
            if figure is None:
                continue
            st.caption(in_streamlit(f"Figure: {label}"))
            row = st.container(horizontal=True)
            for ending, render in (("svg", figure.svg), ("png", figure.png)):
                key = f"{label} {ending}"
                row.download_button(ending.upper(), render, f"{_file_name(label)}.{ending}", key=key, on_click="ignore")


def view_address() -> str:
    """Return the URL of this view."""
    parts = urlsplit(str(st.context.url or ""))
    query = {**dict(st.query_params.items()), **theme.theme_params(), **stars.star_params()}
    return urlunsplit((parts.scheme, parts.netloc, parts.path, urlencode(query), ""))


def cite_view(name: str) -> str:
    """Return the citation of a view: name, store, time of reading, URL."""
    return f"{name}. Longwave leaderboard, read {datetime.now(UTC):%d %b %Y, %H:%M} UTC. {view_address()}"


def describe_freshness(every: int) -> str:
    """Return the time of the last read and the interval to the next."""
    return f"read at {datetime.now(UTC):%H:%M:%S} UTC, again every {every} s"


def _query_params(query: Mapping[str, str]) -> dict[str, str]:
    """Return the query of a URL: non-empty values, the theme, and the pinned rows."""
    return {k: v for k, v in query.items() if v} | theme.theme_params() | stars.star_params()


def _file_name(name: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in name.lower()).split())[:80] or "longwave"


def _draw_live_sweeps() -> bool:
    try:
        return draw_live_sweeps(cached_reads.configured_store())
    except LongwaveError:
        return False


def _any_results() -> bool:
    try:
        return bool(cached_reads.read_tasks(cached_reads.configured_store()))
    except LongwaveError:
        return False
