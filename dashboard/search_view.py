"""Results of a sweep's search so far: best trial, settings, and how to retrain a setting."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from longwave.dashboard import cached_reads, page_frame, state
from longwave.dashboard.sweep_files import retraining_file
from longwave.platform.boards.progress import TOLD, SearchProgress, progress
from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import median, metric_words, plain
from longwave.platform.errors import ConfigError
from longwave.platform.figures.frame import Figure, thin_points
from longwave.platform.figures.progress import best_so_far
from longwave.platform.figures.search import (
    importance_bars,
    parallel_coordinates,
    rank_key,
    trial_settings,
    varied_settings,
)
from longwave.platform.figures.surface import surface
from longwave.platform.records.stored import Trial
from longwave.platform.render.harmless import in_streamlit
from longwave.platform.search.studies import EVALUATORS
from longwave.platform.statistics.verdict import ENOUGH

SLIDER_STOPS = 60
"""Number of stops of a slider."""
OF_CELL: state.Dependents = dict.fromkeys(("across", "up"), lambda _: ())
"""Pickers below that of the cell, which another cell resets."""
OF_SWEEP: state.Dependents = {"cell": lambda _: (), **OF_CELL}
"""Pickers below that of the sweep, which another sweep resets."""


def draw_search(url: str, sweep: str, trials: Sequence[Trial]) -> dict[str, Figure | None]:
    """Draw the results of the search, model by model: best trial and settings. Return the figures by name."""
    cells = {(t.config.model, t.config.task, t.config.variant): False for t in trials}
    cells |= {(t.config.model, t.config.task, t.config.variant): True for t in trials if t.config.phase == "search"}
    st.subheader("The search so far", anchor=False)
    bar = st.container(horizontal=True, vertical_alignment="bottom")
    options = {
        " on ".join(filter(None, (m, " ".join(filter(None, (t, v)))))): (m, t, v)
        for m, t, v in sorted(cells, key=lambda cell: (not cells[cell], cell))
    }
    titles = {(t.config.model, t.config.task): (t.about.model_in_print, t.about.task) for t in trials}

    def cell_label(name: str) -> str:
        model, task, variant = options[name]
        title, board = titles[model, task]
        return f"{title} on {', '.join(filter(None, (board, variant)))}"

    chosen = options[state.draw_choice("Cell", "cell", list(options), cell_label, bar, OF_CELL)]
    cell_trials = [t for t in trials if (t.config.model, t.config.task, t.config.variant) == chosen]
    search_trials = [t for t in cell_trials if t.config.phase == "search"]
    rows = [
        row
        for row in cached_reads.read_board_rows(url, chosen[1])
        if row.variant == chosen[2] and row.model == chosen[0]
    ]
    retrained = [row for row in rows if sweep in row.sweeps and row.seed_count]
    if not search_trials:
        st.caption("This model has no search trials.")
        return {}
    about = search_trials[0].about
    log = state.draw_switch("Log axis", "log", about.goal == "min", bar)
    search_progress = progress(search_trials, about.goal, cached_reads.are_draws_dependent(url, sweep))
    st.markdown(describe_best(search_progress, retrained, in_streamlit(metric_words(about.metric))))
    family = next((row.family for row in rows), "")
    drawn = page_frame.draw_figure(
        lambda: best_so_far(search_progress, family, metric_words(about.metric), log), "so far", captioned=True
    )
    return {"best so far": drawn, **draw_settings(url, sweep, chosen, search_trials)}


def describe_best(search_progress: SearchProgress, rows: Sequence[Row], metric: str) -> str:
    """Return a sentence on the best score of the search, the median best of half of it, and the retrained score."""
    if not search_progress.winner or not search_progress.winner.run:
        return "No search trial has ended with a metric yet."
    value, ended_count = search_progress.winner.run.valid, len(search_progress.ended)
    trained_count = sum(trial.status == "ok" for trial in search_progress.ended)
    parts = [
        f"Best of {ended_count} drawn, {trained_count} completed: **validation {metric} {plain(value)}** "
        f"(trial {search_progress.winner.config.id[:8]})"
    ]
    if search_progress.half and ended_count > 1:
        parts.append(
            f"with half as many trials the median search finds {plain(search_progress.half.value)} "
            f"[{plain(search_progress.half.low)}, {plain(search_progress.half.high)}], 80 % of such searches"
        )
    if not search_progress.curve:
        parts.append("its trials are not independent draws, so no median search is shown")
    parts += [f"retrained: **test {metric} {median(row)}**, {row.seed_count} seeds" for row in rows[:1]]
    return "; ".join(parts) + "."


def draw_settings(
    url: str, sweep: str, cell: tuple[str, str, str], trials: Sequence[Trial]
) -> dict[str, Figure | None]:
    """Draw range filters, parallel coordinates with hyper-parameter importance, a surface over two settings, and
    trials.
    """
    goal, metric = trials[0].about.goal, metric_words(trials[0].about.metric)
    names = varied_settings(trials)
    ended = [t for t in trials if t.status in TOLD]
    if len(ended) < 2 or not names:
        if ended:
            st.caption("Settings are compared once two search trials that differ in them have ended.")
        return {}
    limited = any(state.address_value(f"in-{name}") for name in names)
    with st.expander("Ranges: pick trials by their settings", expanded=limited, on_change="rerun") as ranges:
        selected = draw_range_sliders(ended, names) if ranges.open or limited else ended
    st.caption(
        f"{len(selected)} of {len(ended)} trials lie in the ranges; the others are faint. "
        "Drag along an axis to highlight the trials in that interval."
    )
    ids = {t.config.id for t in selected}
    left, right = st.columns([3, 1], gap="medium")
    with left:
        parallel_figure = page_frame.draw_figure(
            lambda: parallel_coordinates(ended, goal, metric, ids), "parallel", captioned=True
        )
    figures = {"settings": parallel_figure}
    if len(names) > 1:
        bar = st.container(horizontal=True, vertical_alignment="bottom")
        dependents = {"up": lambda chosen: [n for n in names if n != chosen]}
        x_name = state.draw_choice("Across", "across", names, container=bar, dependents=dependents)
        y_name = state.draw_choice("Up", "up", [n for n in names if n != x_name], container=bar)
        figures[f"{y_name} over {x_name}"] = draw_surface(ended, x_name, y_name, goal, metric)
    draw_retraining(sorted(selected, key=lambda t: rank_key(t, goal)), names)
    with right:  # the slowest part
        evaluator = state.draw_buttons("Importance by", "importance", [*EVALUATORS])
        try:
            importance = cached_reads.read_importance(url, sweep, cell, evaluator, len(ended))
        except ConfigError as error:
            st.caption(in_streamlit(f"No importance: {error}"))
        else:
            make = partial(importance_bars, importance, evaluator)
            figures["importance"] = page_frame.draw_figure(make, "importance")
    return figures


def draw_surface(trials: Sequence[Trial], across: str, up: str, goal: str, metric: str) -> Figure | None:
    """Draw the validation metric over two settings with its legend; a sentence if too few trials have ended."""
    st.caption(
        "Cells: median of the validation metric; hatched: half or more of the trials there diverged. "
        "Dots: trials; crosses: those that diverged."
    )
    return page_frame.draw_figure(
        lambda: surface(trials, across, up, goal, metric), "surface", "Too few trials have ended."
    )


def draw_range_sliders(trials: Sequence[Trial], names: Sequence[str]) -> list[Trial]:
    """Draw one slider per setting, and return the trials within all ranges."""
    selected = list(trials)
    columns = st.columns(min(3, len(names)))
    for k, name in enumerate(names):
        values = sorted({trial_settings(t)[name] for t in trials if name in trial_settings(t)})
        if len(values) < 2:
            continue
        stops = [values[position] for position in thin_points(len(values), SLIDER_STOPS)]
        low, high = state.draw_range_slider(in_streamlit(name), f"in-{name}", stops, columns[k % len(columns)])
        if (low, high) != (stops[0], stops[-1]):
            selected = [t for t in selected if low <= trial_settings(t).get(name, low - 1) <= high]
    return selected


def draw_retraining(trials: Sequence[Trial], names: Sequence[str]) -> None:
    """Draw the trials, best first, and the sweep file that retrains the selected one, or the best."""
    if not trials:
        st.info("No trial lies in these ranges. Widen one of them.")
        return
    lines = [
        {"trial": t.config.id[:8], "ended": t.status, "validation": t.run.valid if t.run else None}
        | {name: trial_settings(t).get(name) for name in names}
        for t in trials
    ]
    event = st.dataframe(
        pd.DataFrame(lines), hide_index=True, key="trials", on_select="rerun", selection_mode="single-row",
        alt="Search trials, best first",
        column_config={name: st.column_config.NumberColumn(format="%.4g") for name in ("validation", *names)},
    )  # fmt: skip
    chosen = next((k for k in event["selection"]["rows"] if k < len(trials)), 0)
    trial = trials[chosen]
    which = "The selected trial" if event["selection"]["rows"] else "The best one"
    page_frame.draw_command(
        f"{which}, {trial.config.id[:8]}, with {ENOUGH} fresh seeds: save this as again.toml, then run "
        "longwave sweep run again.toml", retraining_file(trial)
    )  # fmt: skip
