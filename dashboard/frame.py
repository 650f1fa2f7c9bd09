"""What all pages share: their frame, what stands where there is nothing, and how a view is taken along."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

import streamlit as st

from longwave.dashboard import reads
from longwave.platform.errors import LongwaveError
from longwave.platform.figures.frame import Figure
from longwave.platform.render.export import Format, Table, write
from longwave.platform.render.harmless import in_markdown

EVERY = 10
"""Seconds between two looks at the store while a page is open."""
DEMO = "longwave sweep run infra/sweeps/demo.toml"
ENDINGS = {Format.csv: "csv", Format.markdown: "md", Format.latex: "tex", Format.json: "json"}
Draw = Callable[[str], None]
"""Draws a page, given the store's URL."""


def page(title: str, draw: Draw) -> None:
    """Draw a page, and again every few seconds while it is open; what is wrong stands there in a sentence."""
    st.title(title, anchor=False)

    @st.fragment(run_every=EVERY)
    def drawn() -> None:
        try:
            draw(reads.where())
        except LongwaveError as error:
            st.info(in_markdown(str(error)))
            if not _any_results():
                command("The demo takes a few minutes on two cores:", DEMO)

    drawn()


def go(place: Any, name: str, label: str, **query: str) -> None:
    """Draw a link to another page, with what its address is to say."""
    place.page_link(f"pages/{name}.py", label=label, query_params={k: v for k, v in query.items() if v})


def leave(name: str, **query: str) -> None:
    """Open another page, with what its address is to say."""
    st.switch_page(f"pages/{name}.py", query_params={k: v for k, v in query.items() if v})


def command(why: str, text: str) -> None:
    """Draw a command to copy, and what it is good for."""
    st.markdown(in_markdown(why))
    st.code(text, language=None, wrap_lines=True)


def figure(made: Callable[[], Figure | None], key: str, lacking: str = "") -> bool:
    """Draw a figure and return whether it stands there; one that cannot be drawn becomes a sentence.

    Args:
        made: Gives it, or None where there is nothing to draw.
        key: Its name on the page.
        lacking: What is said where there is nothing.
    """
    try:
        drawn = made()
    except Exception as error:  # a figure must never take its page along
        st.info(in_markdown(f"This figure cannot be drawn: {error}"))
        return True
    if drawn is None:
        if lacking:
            st.caption(lacking)
        return False
    st.altair_chart(drawn.chart, key=key, alt=drawn.title)
    return True


def share(name: str, tables: Sequence[Table] = (), figures: Mapping[str, Callable[[], Figure]] | None = None) -> None:
    """Draw what takes a view along: its link, how it is cited, its tables and figures as files.

    Args:
        name: Of the view, for its files.
        tables: What is on screen.
        figures: By name.
    """
    with st.popover("Share", help="Link, citation, tables and figures of this view"):
        st.caption("Link to this view")
        st.code(link(), language=None, wrap_lines=True)
        st.caption("Citation")
        st.code(citation(name), language=None, wrap_lines=True)
        if tables:
            st.caption("The tables on screen")
            row = st.container(horizontal=True)
            for format, ending in ENDINGS.items():
                text = partial(write, tables, format)
                row.download_button(
                    ending.upper(), text, f"{_file(name)}.{ending}", key=f"{name} {ending}", on_click="ignore"
                )
        for label, made in (figures or {}).items():
            st.caption(f"Figure: {label}")
            row = st.container(horizontal=True)
            for ending, draw in (("svg", partial(_svg, made)), ("png", partial(_png, made))):
                key = f"{label} {ending}"
                row.download_button(ending.upper(), draw, f"{_file(label)}.{ending}", key=key, on_click="ignore")


def link() -> str:
    """Return the address of this view."""
    parts = urlsplit(str(st.context.url or ""))
    return urlunsplit((parts.scheme, parts.netloc, parts.path, urlencode(dict(st.query_params.items())), ""))


def citation(name: str) -> str:
    """Return how a view is cited: what, of which store, read when, where."""
    return f"{name}. Longwave leaderboard, read {datetime.now(UTC):%d %b %Y, %H:%M} UTC. {link()}"


def freshness() -> str:
    """Return when the page looked."""
    return f"read at {datetime.now(UTC):%H:%M:%S} UTC, again every {EVERY} s"


def _svg(made: Callable[[], Figure]) -> str:
    return made().svg()


def _png(made: Callable[[], Figure]) -> bytes:
    return made().png()


def _file(name: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in name.lower()).split())[:80] or "longwave"


def _any_results() -> bool:
    try:
        return bool(reads.tasks(reads.where()))
    except LongwaveError:
        return False
