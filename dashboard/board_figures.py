"""The figures of a board, one at a time; the URL sets which one, its axis, and whether it has published numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import streamlit as st

from longwave.dashboard import cached_reads, page_frame, state, table_frames
from longwave.platform.boards.errors import curve_in_errors, has_errors, in_errors
from longwave.platform.boards.landmarks import BASELINES
from longwave.platform.boards.pairs import pairs, ranked
from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import measured
from longwave.platform.figures.depth import depth, measures_of, metric_of, stacked_rows
from longwave.platform.figures.forest import forest
from longwave.platform.figures.frame import Figure
from longwave.platform.figures.lag import against_lag, scores_by_lag
from longwave.platform.figures.matrix import matrix
from longwave.platform.figures.scatter import against_length
from longwave.platform.figures.search import median_bests
from longwave.platform.figures.seeds import seeds

Make = Callable[[], Figure | None]
NAMES = {
    "medians": "Medians",
    "seeds": "Seeds",
    "pairs": "Pairs",
    "length": "Against length or lag",
    "depth": "Against depth",
    "search": "Search budgets",
}
MOST = 10
"""Number of best rows in the pairwise matrix, which also has the baselines."""
ABOUT = {
    "medians": "Medians with their intervals, each retraining as a short stroke, printed numbers as diamonds. Lines "
    "through all rows: the best trivial predictor, dashed, and the worst, dotted. A triangle at the left end of a "
    "logarithmic axis: an error of 0.",
    "seeds": "Each retraining as a dot, a line at the median, a cross for one that diverged; dashed: the best trivial "
    "predictor. A triangle at the left end of a logarithmic axis: an error of 0.",
    "pairs": f"Error of each row over that of each column, geometric means, of the {MOST} best ranked rows and the "
    "baselines. Better and worse: significant at 5 % by the guarded rank tests of all pairs that the ranks rest on.",
    "length": "The median of each model's best row on validation, by the length of its sequences or the steps ahead of "
    "its forecasts.",
    "depth": "Score by number of layers: each retraining is a dot, a line joins the medians.",
    "search": "The best validation score that a search of k trials finds, its median over such searches. With three "
    "models or fewer, a band shows 80 % of them.",
}
LACKING = {
    "medians": "No row has a median yet.",
    "seeds": "No retraining has ended yet.",
    "pairs": "Comparing takes two ranked rows, and there are fewer.",
    "length": "This task has results at fewer than two lengths or lags. Run a sweep of another variant.",
    "depth": "These rows have no measurements by depth.",
    "search": "No curve: no search behind these rows has finished, or their trials are not independent draws (TPE, "
    "warm start).",
}


def board_figures(
    url: str, rows: Sequence[Row], board_rows: Sequence[Row], task_rows: Sequence[Row], printed: bool
) -> dict[str, Figure | None]:
    """Draw one figure of a board with its controls, and return it by name, for export.

    Args:
        url: URL of the store.
        rows: The board's rows, as shown.
        board_rows: All rows of the board, in its own order.
        task_rows: Rows of all variants of the task.
        printed: Whether published numbers are drawn.
    """
    bar = st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center")
    names = [name for name in NAMES if name != "depth" or stacked_rows(rows)]
    chosen = state.draw_buttons("Figure", "figure", names, NAMES.__getitem__, bar)
    if chosen == "depth":
        make = by_depth(url, rows, bar)
    else:
        log = chosen != "pairs" and draw_log_switch(rows[0], bar)
        make = make_figure(url, chosen, rows, board_rows, task_rows, log, printed)
    st.caption(ABOUT[chosen])
    return {f"{rows[0].board} {NAMES[chosen].lower()}": page_frame.draw_figure(make, chosen, LACKING[chosen])}


def draw_log_switch(row: Row, bar: object) -> bool:
    """Draw the axis switch, and return whether it is logarithmic; an accuracy is then shown as an error."""
    return state.draw_switch("Log error" if has_errors(row) else "Log axis", "log", row.goal == "min", bar)


def make_figure(
    url: str,
    name: str,
    rows: Sequence[Row],
    board_rows: Sequence[Row],
    task_rows: Sequence[Row],
    log: bool,
    printed: bool,
) -> Make:
    """Return the function that draws a figure, by name; rows as for ``board_figures``."""
    if name == "length":
        return lambda: draw_lengths(url, rows, task_rows, log)
    if log:
        rows, task_rows = ([in_errors(row) for row in variant_rows] for variant_rows in (rows, task_rows))
    names = table_frames.row_labels(rows)
    if name == "seeds":
        return lambda: seeds(rows, names, log)
    if name == "pairs":
        return lambda: draw_pairwise(rows, names, board_rows)
    if name == "search":
        return lambda: draw_budgets(url, rows, log)
    shown = rows if printed else [replace(row, published=()) for row in rows]
    return lambda: forest(shown, names, log)


def by_depth(url: str, rows: Sequence[Row], bar: object) -> Make:
    """Draw the choice of the quantity against depth, and return the function that draws that figure."""
    trials = cached_reads.read_trials(url, tuple(k for row in stacked_rows(rows) for k in row.trials))
    labels = [metric_of(rows), *measures_of(trials)]
    shown = state.draw_buttons("Shown by depth", "depth", labels, container=bar) if len(labels) > 1 else labels[0]
    return lambda: depth(rows, trials, shown)


def draw_pairwise(rows: Sequence[Row], names: Sequence[str], board_rows: Sequence[Row]) -> Figure | None:
    """Return the matrix of the best ranked rows shown and the baselines, by the tests of all pairs of the board."""
    name_by_key = {row.key: name for row, name in zip(rows, names, strict=True)}
    shown = [row for row in ranked(board_rows) if row.key in name_by_key]
    compared = [row for k, row in enumerate(shown) if k < MOST or row.model in BASELINES]
    return matrix(pairs(board_rows, compared), name_by_key)


def draw_lengths(url: str, rows: Sequence[Row], task_rows: Sequence[Row], log: bool) -> Figure | None:
    """Return the scores by the lengths or lags at which each retraining measured them, else by those of the
    variants."""
    trials = cached_reads.read_trials(url, tuple(trial for row in rows for trial in row.trials))
    return against_lag(scores_by_lag(rows, trials), log) or against_length(
        [in_errors(row) for row in task_rows] if log else task_rows, log
    )


def draw_budgets(url: str, rows: Sequence[Row], log: bool) -> Figure | None:
    """Return the median best scores of the searches behind the models shown."""
    shown = {row.config for row in rows}
    models = {row.model: row.model_title for row in rows}
    curves = [
        c for c in cached_reads.read_search_curves(url, rows[0].task) if c.row.variant == rows[0].variant and c.curve
    ]
    curves = [curve_in_errors(curve) if log else curve for curve in curves if curve.row.config in shown]
    return median_bests(curves, models, measured(curves[0].row), log) if curves else None
