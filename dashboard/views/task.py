"""One board: the task, its reference numbers, the rows, and their figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import pandas as pd
import streamlit as st

from longwave.dashboard import (
    board_figures,
    cached_reads,
    export_menu,
    filters,
    page_frame,
    stars,
    state,
    table_frames,
)
from longwave.dashboard.board_table import view_board
from longwave.dashboard.table import draw_board
from longwave.platform.boards.answer import answer
from longwave.platform.boards.landmarks import landmarks
from longwave.platform.boards.row import SHORT, Row
from longwave.platform.boards.texts import measured, median
from longwave.platform.errors import ConfigError
from longwave.platform.figures.curves import curves
from longwave.platform.paths import store_option
from longwave.platform.render.harmless import in_streamlit

MOST = 5
"""Largest number of selected rows that are linked and compared."""
LANDMARKS = ("", "model", "median [95 %]", "rank", "parameters", "searched")


def draw(url: str) -> None:
    """Draw the pickers, the chosen board, and the figures of its rows."""
    if not (tasks := cached_reads.read_tasks(url)):
        raise ConfigError("The store holds no retrainings yet. They appear once a sweep has retrained its winners.")
    pickers, corner = page_frame.draw_head()
    dependents: state.Dependents = {
        "variant": lambda chosen: table_frames.list_variants(cached_reads.read_board_rows(url, chosen))
    }
    task = state.draw_choice("Task", "task", tasks, cached_reads.task_title(url), pickers, dependents)
    task_rows = cached_reads.read_board_rows(url, task)
    variants = table_frames.list_variants(task_rows)
    variant = variants[0]
    if len(variants) > 1:
        variant = state.draw_choice("Variant", "variant", variants, container=pickers)
    with st.expander("Ranked rows, filters and order"):
        pool = filters.draw_pool_filter([row for row in task_rows if row.variant == variant])
        rows = [row for row in cached_reads.read_board_rows(url, task, pool) if row.variant == variant]
        filtered = filters.draw_row_filters(rows)
        shown = filters.draw_column_choice()
        bar = st.container(horizontal=True, vertical_alignment="bottom")
        retrained = filters.draw_sort_order([row for row in filtered if row.kind == "retrained"], bar)
        with_published = state.draw_switch("Published numbers", "published", True, bar)
    retrained = stars.pinned_first(retrained, [row for row in rows if row.kind == "retrained"])
    draw_about(url, task, variant)
    if not retrained:
        raise ConfigError("No row matches these filters. Remove one of them.")
    st.markdown(f"**{in_streamlit(answer(rows).sentence)}**")
    draw_baselines(rows)
    st.caption(
        f"{len(retrained)} of {sum(row.kind == 'retrained' for row in task_rows if row.variant == variant)} rows "
        "that were trained here" + filters.describe_filters()
    )
    view = view_board(retrained, shown, [row for row in retrained if stars.is_pinned(row)])
    if state.address_list("select"):
        left_side, right_side = st.columns([3, 2], gap="medium")
        with left_side:
            chosen = draw_board(view)
        with right_side:
            draw_detail(url, chosen)
    else:
        draw_board(view)
        st.caption("Select a row to see its seeds and curves beside the table; select two or more to compare them.")
    others = [row for row in filtered if row.trivial or (with_published and row.kind == "published")]
    figures = board_figures.board_figures(url, [*retrained, *others], rows, task_rows, with_published)
    draw_references(others)
    selections = {str(row.settings["selection"]) for row in retrained}
    st.caption(table_frames.ranked_how(rows[0], selections))
    with corner:
        tables = [
            export_menu.board_as_table(view, rows, pool),
            *([export_menu.references_as_table(others)] if others else []),
        ]
        page_frame.draw_share_menu(rows[0].board, tables, figures)


def draw_about(url: str, task: str, variant: str) -> None:
    """Draw what the task tests, the length of its sequences, and the chance level."""
    entries = [k for k in cached_reads.read_catalogue(url) if k.kind == "task" and k.name == task]
    facts = next((k.facts for k in entries if k.variant == variant), None)
    if not facts:
        return
    length = facts.get("length")
    sentences = [
        str(facts.get("summary", "")),
        f"Length {length}" + (f", {facts['lag']}." if facts.get("lag") else ".") if length else "",
        f"Chance reaches {facts['chance']:.4g}." if facts.get("chance") is not None else "",
        f"Source: {facts['source']}." if facts.get("source") else "",
    ]
    st.caption(f"**{in_streamlit(str(facts.get('title', task)))}.** {in_streamlit(' '.join(filter(None, sentences)))}")


def draw_baselines(rows: Sequence[Row]) -> None:
    """Draw the reference numbers: best row, baselines, best published number, best trivial predictor."""
    lines = [list(asdict(line).values()) for line in landmarks(rows)]
    shown = pd.DataFrame(lines, columns=list(LANDMARKS)).map(in_streamlit)
    with st.container(key="landmarks"):
        st.table(shown, border="horizontal", hide_index=True)


def draw_detail(url: str, chosen: Sequence[Row]) -> None:
    """Draw the score, curves and command of the last selected row, and links for all selected rows."""
    if not chosen:
        return
    row = chosen[-1]
    st.markdown(f"**{in_streamlit(row.label)}: {in_streamlit(median(row))}**")
    st.caption(in_streamlit(table_frames.short_text(row)))
    trials = cached_reads.read_trials(url, tuple(row.counted_trials))
    points = cached_reads.read_curves(url, tuple(row.counted_trials))
    title = f"validation {measured(row)}"
    page_frame.draw_figure(
        lambda: curves(trials, points, row.family, "valid", title, row.goal == "min") if points else None,
        "selected curves", "No epoch of these retrainings is stored.",
    )  # fmt: skip
    st.code(row.command + store_option(url), language=None)
    stars.draw_star(row)
    bar = st.container(horizontal=True)
    for row in chosen[:MOST]:
        page_frame.draw_link(bar, "row", row.label, row=row.config)
    if len(chosen) > 1:
        page_frame.draw_link(bar, "compare", "Compare them", rows=",".join(row.config[:SHORT] for row in chosen[:MOST]))


def draw_references(rows: Sequence[Row]) -> None:
    """Draw the numbers not trained here, best first, without ranks."""
    if rows:
        st.markdown("**Not trained here**: published numbers without a row, and trivial predictors")
        table = export_menu.references_as_table(rows)
        lines = pd.DataFrame(table.lines, columns=list(table.columns))
        st.dataframe(lines, hide_index=True, height="content", key="references", alt="Numbers not trained here")


page_frame.draw_page("Board", draw)
