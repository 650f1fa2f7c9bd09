"""One board: what the task is, its rows, and the figures behind them."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from longwave.dashboard import cells, frame, pool, reads, state
from longwave.dashboard.table import board_table
from longwave.platform.boards.answer import answer
from longwave.platform.boards.row import SHORT, Row, named
from longwave.platform.errors import ConfigError
from longwave.platform.figures.forest import forest
from longwave.platform.render import board as as_text
from longwave.platform.render.harmless import in_markdown


def draw(url: str) -> None:
    """Draw the pickers, the board of what is picked, and the figures of its rows."""
    if not (tasks := reads.tasks(url)):
        raise ConfigError(
            "The store holds no retrainings yet. A sweep retrains its winners last; they appear here then."
        )
    pickers = st.columns([2, 2, 3, 1], vertical_alignment="bottom")
    task = state.choose("Task", "task", tasks, place=pickers[0])
    everything = reads.board(url, task)
    variants = cells.variants(everything)
    variant = variants[0]
    if len(variants) > 1:
        variant = state.choose("Variant", "variant", variants, place=pickers[1])
    with st.expander("Pool and filters", expanded=bool(set(st.query_params) - {"task", "variant", "log"})):
        wanted = pool.pool(everything)
        rows = [row for row in reads.board(url, task, wanted) if row.variant == variant]
        rows = pool.shown(rows)
    if not rows:
        raise ConfigError("No row is left by these filters. Take one of them back.")
    place, names = named((task, variant)), cells.labels(rows)
    with pickers[3]:
        log = state.asked("log") or ("yes" if rows[0].goal == "min" else "no")
        frame.share(
            place, [as_text.table(rows, wanted)], {f"{place} medians": lambda: forest(rows, names, log == "yes")}
        )
    st.markdown(f"**{in_markdown(answer(rows).sentence)}**")
    chosen = board_table(rows)
    follow(chosen)
    bar = st.container(horizontal=True, horizontal_alignment="distribute")
    bar.markdown("**Medians with their intervals**, each retraining, published numbers", width="content")
    logarithmic = state.switch("Log axis", "log", rows[0].goal == "min", place=bar)
    frame.figure(lambda: forest(rows, names, logarithmic), "forest")
    st.caption(cells.ranked_how(rows[0], {"best"}))


def follow(chosen: Sequence[Row]) -> None:
    """Draw where the selected rows lead to."""
    ours = [row for row in chosen if row.kind == "reproduced"]
    if not ours:
        st.caption("Select a row for its seeds, curves and command; select two or more to compare them.")
        return
    bar = st.container(horizontal=True)
    for row in ours[:6]:
        frame.go(bar, "row", row.title, row=row.config)
    if len(ours) > 1:
        frame.go(bar, "compare", "Compare them", rows=",".join(row.config[:SHORT] for row in ours))


frame.page("Board", draw)
