"""Published numbers and ours: error ratios, and the verdicts that follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from longwave.dashboard import cached_reads, page_frame, state
from longwave.dashboard.filters import VERDICTS
from longwave.dashboard.link_table import Link, draw_link_table
from longwave.platform.boards.printed import quote_number, write_ratio, write_verdict
from longwave.platform.boards.printed_share import verdict_share
from longwave.platform.boards.row import SHORT, Row
from longwave.platform.errors import ConfigError
from longwave.platform.figures.palette import family_colour
from longwave.platform.figures.ratios import Ratio, ratios
from longwave.platform.render.export import of_texts
from longwave.platform.render.harmless import in_streamlit

TABLE = 420
"""Height of the table in pixels; it scrolls and wraps long reasons."""
HEAD = ("board", "model", "published", "verdict", "our error over it", "why")


def draw(url: str) -> None:
    """Draw every published number with a row to compare."""
    rows = cached_reads.read_board_rows(url)
    pairs = [(row, number) for row in rows for number in row.published if row.current]
    if not pairs:
        raise ConfigError(
            "No row can be compared with a published number yet. Sweeps of the papers' tasks are in infra/sweeps."
        )
    verdicts = {number["verdict"] for _, number in pairs}
    pickers, corner = page_frame.draw_head()
    boards = sorted({row.board for row, _ in pairs})
    chosen = state.draw_choices("Boards", "boards", boards, container=pickers)
    words = state.draw_choices("Verdict", "verdict", [w for w in VERDICTS if w in verdicts], container=pickers)
    shown = [
        (row, number)
        for row, number in pairs
        if (not chosen or row.board in chosen) and (not words or number["verdict"] in words)
    ]
    if not shown:
        st.info("No printed number matches these filters. Remove one of them.")
        return
    lines = [table_line(row, number) for row, number in shown]
    table = of_texts("Published numbers and ours", HEAD, lines)
    st.markdown(in_streamlit(verdict_share(rows)))
    shown_ratios = [
        Ratio(f"{row.label}, {row.board}", float(n["ratio"]), n["ratio_low"], n["ratio_high"],
              family_colour(row.family), f"{row.label} on {row.board}: {write_verdict(n)}")
        for row, n in shown if n["ratio"]
    ]  # fmt: skip
    figure = None
    if shown_ratios:
        margins = {row.margin for row, number in shown if number["ratio"]}
        margin = margins.pop() if len(margins) == 1 else None  # no band is true of several
        caption = "our error over the printed one: left of 1 is better"
        figure = page_frame.draw_figure(lambda: ratios(shown_ratios, caption, margin), "ratios")
    with corner:
        page_frame.draw_share_menu("Reproduction", [table], {"Reproduction": figure})
    with st.container(height=TABLE, border=False, key="printed"):
        draw_link_table(HEAD, [_linked(row, line) for (row, _), line in zip(shown, lines, strict=True)], table.title)


def table_line(row: Row, number: Mapping[str, Any]) -> tuple[str, ...]:
    """Return one line: the published number, the verdict, and its reason in a sentence."""
    why = str(number["why"]).rstrip(".")
    sentence = f"{why[:1].upper()}{why[1:]}." if why else ""
    reason = "; ".join(number["departures"]) or sentence
    return (row.board, row.label, quote_number(number), str(number["verdict"]), write_ratio(number), reason)


def _linked(row: Row, line: Sequence[str]) -> list[str | Link]:
    """Return a line of the table with links to its board and its row."""
    return [
        Link(row.board, "task", {"task": row.task, "variant": row.variant}),
        Link(row.label, "row", {"row": row.key[:SHORT]}),
        *line[2:],
    ]


page_frame.draw_page("Reproduction", draw)
