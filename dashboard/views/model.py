"""One model: its equation and paper, its comparison with a baseline on each board, the effect of its settings."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from textwrap import dedent

import streamlit as st

from longwave.dashboard import cached_reads, page_frame, search_view, state, table_frames
from longwave.dashboard.link_table import Link, draw_link_table
from longwave.platform.boards.compare import Comparison, compare
from longwave.platform.boards.landmarks import BASELINES
from longwave.platform.boards.row import SHORT, Row
from longwave.platform.boards.texts import marked_median, metric_words, plain, rank
from longwave.platform.errors import ConfigError
from longwave.platform.figures.frame import Figure
from longwave.platform.figures.ratios import error_ratios
from longwave.platform.figures.search import varied_settings
from longwave.platform.records.stored import CatalogueEntry
from longwave.platform.render.comparison import comparison_table
from longwave.platform.render.harmless import in_streamlit


def draw(url: str) -> None:
    """Draw the model in the URL."""
    rows = [row for row in cached_reads.read_board_rows(url) if row.kind == "retrained"]
    models = sorted({row.model for row in rows})
    if not models:
        raise ConfigError("The store holds no retrainings yet. Models appear once a sweep has retrained its winners.")
    titles = {row.model: row.model_title for row in rows}
    pickers, corner = page_frame.draw_head()
    dependents: state.Dependents = {
        "against": lambda chosen: [name for name in models if name != chosen],
        "board": lambda chosen: {row.board for row in rows if row.model == chosen},
        "pair": lambda _: (),
    }
    model = state.draw_choice("Model", "model", models, titles.__getitem__, pickers, dependents)
    others = [name for name in (*BASELINES, *models) if name in models and name != model]
    model_rows = [row for row in rows if row.model == model]
    entry = next((k for k in cached_reads.read_catalogue(url) if (k.kind, k.name) == ("model", model)), None)
    tables = []
    figures: dict[str, Figure | None] = {}
    if others:
        against = state.draw_choice("Against", "against", list(dict.fromkeys(others)), titles.__getitem__, pickers)
        try:
            comparison = compare(rows, model, against)
        except ConfigError as error:
            st.info(in_streamlit(str(error)))
        else:
            tables = [comparison_table(comparison)]
            figures[f"{comparison.a} against {comparison.b}"] = draw_standing(comparison, model_rows[0].family)
    st.subheader("Its rows", anchor=False)
    draw_rows([row for row in model_rows if row.current] or model_rows)
    figures[f"{titles[model]}, settings"] = draw_searches(url, model_rows)
    with corner:
        page_frame.draw_share_menu(titles[model], tables, figures)
    if entry:
        draw_description(entry)


def draw_rows(rows: Sequence[Row]) -> None:
    """Draw one line per row of the model: its rank on each board, with links to both."""
    lines: list[list[str | Link]] = [
        [
            Link(row.board, "task", {"task": row.task, "variant": row.variant}),
            Link(row.label, "row", {"row": row.key[:SHORT]}),
            marked_median(row),
            rank(row),
            plain(row.parameters),
        ]
        for row in rows
    ]
    draw_link_table(("board", "row", "median [95 %]", "rank", "parameters"), lines, "Its rows")


def draw_standing(comparison: Comparison, family: str) -> Figure | None:
    """Draw a model's error ratios to another, board by board: below 1 its errors are smaller."""
    st.markdown(f"**{in_streamlit(comparison.verdict)}**")
    return page_frame.draw_figure(lambda: error_ratios(comparison, family), "ratios")


def draw_searches(url: str, rows: Sequence[Row]) -> Figure | None:
    """Draw the effect of the settings of a model's search trials on one board, two at a time, and return it."""
    st.subheader("Effect of its settings", anchor=False)
    bar, _ = page_frame.draw_head()
    boards = sorted({row.board for row in rows})
    board = state.draw_choice("Board", "board", boards, container=bar, dependents={"pair": lambda _: ()})
    row = next(row for row in rows if row.board == board)
    ids = tuple(run.id for run in cached_reads.open_store(url).search_runs(row.config))
    trials = cached_reads.read_trials(url, ids)
    names = varied_settings(trials)
    pairs = [f"{a} × {b}" for a, b in combinations(names, 2)]
    if not pairs:
        st.caption("No search of this model has tried two settings on this board.")
        return None
    pair = state.draw_choice("Settings", "pair", pairs, container=bar)
    across, up = pair.split(" × ")
    return search_view.draw_surface(trials, across, up, row.goal, metric_words(row.metric))


def draw_description(entry: CatalogueEntry) -> None:
    """Draw the model's equation, source, parameters and options."""
    facts = entry.facts
    st.subheader("What it is", anchor=False)
    st.caption(in_streamlit(str(facts.get("source", ""))))
    for part in str(facts.get("equation", "")).split("\n\n"):
        if part.startswith(" "):
            st.code(dedent(part), language=None, wrap_lines=True)
        else:
            st.markdown(in_streamlit(part.replace("\n", " ")))
    if facts.get("params"):
        st.dataframe(table_frames.parameter_frame(facts), hide_index=True, height="content", key="params")
        for line in table_frames.ranges_by_task(facts):
            st.caption(in_streamlit(line))


page_frame.draw_page("Model", draw)
