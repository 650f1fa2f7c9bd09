"""Scores and further measures against the number of layers: a line per model, a dot per retraining."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import altair as alt

from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import measured, metric_words
from longwave.platform.figures.frame import Figure, Mark, as_data, frame_chart, number_axis
from longwave.platform.figures.legend import legend_height, line_styles
from longwave.platform.figures.palette import family_colour
from longwave.platform.records.stored import Trial
from longwave.platform.wording import describe_count

HEIGHT = 320
LEAST = 1e-30
"""Smallest number on a logarithmic axis; smaller ones are drawn there."""


def stacked_rows(rows: Sequence[Row]) -> list[Row]:
    """Return the retrained rows of models with several numbers of layers."""
    depths = defaultdict[str, set[int]](set)
    for row in rows:
        if row.current and row.layers:
            depths[_form_name(row)].add(row.layers)
    return [row for row in rows if row.current and row.layers and len(depths[_form_name(row)]) > 1]


def metric_of(rows: Sequence[Row]) -> str:
    """Return the name of the board's metric."""
    return rows[0].metric


def measures_of(trials: Sequence[Trial]) -> list[str]:
    """Return the names of measures with one value per trial, in order."""
    keys = (m.key for trial in trials if trial.run for m in trial.run.measures if not m.x_name)
    return list(dict.fromkeys(keys))


def depth(rows: Sequence[Row], trials: Sequence[Trial], shown: str) -> Figure | None:
    """Return one line per model through its medians, and a dot per retraining; None if no model has several depths. A
    median of scores counts diverged seeds as worst, as on the board; that of a measure, which has no worst value, is of
    the seeds that ended.

    Args:
        rows: Rows of one board.
        trials: Their retrainings.
        shown: The board's metric, or the name of a measure; measures have a logarithmic axis.
    """
    log = shown != metric_of(rows)
    ended = {trial.config.id: trial for trial in trials if trial.run and trial.status == "ok"}
    dots, medians = list[Mark](), list[Mark]()
    for row in stacked_rows(rows):
        counted = [ended[trial] for trial in row.counted_trials if trial in ended]
        values = [value for trial in counted if (value := _test_value(trial, shown, log)) is not None]
        if not values:
            continue
        name, least = _form_name(row), LEAST if log else -math.inf
        common = {"model": name, "layers": row.layers, "tint": family_colour(row.family)}
        tips = [f"{name}, {row.layers} layers: {value:.4g}" for value in values]
        dots += [{**common, "value": max(v, least), "tip": tip} for v, tip in zip(values, tips, strict=True)]
        middle, n = (median(values), len(values)) if log else (row.median, row.seed_count)
        if middle is not None:
            tip = f"{name}, {row.layers} layers: median {middle:.4g} of {describe_count(n, 'seed')}"
            medians.append({**common, "value": max(middle, least), "tip": tip})
    if not dots:
        return None
    title = metric_words(shown) if log else f"test {measured(rows[0])}"
    ticks = alt.Axis(title="layers", values=sorted({m["layers"] for m in dots}), format="~g", labelOverlap=True)
    x = alt.X("layers:Q", scale=alt.Scale(type="log", nice=False, padding=10), axis=ticks)
    y = alt.Y("value:Q", **number_axis(title, [m["value"] for m in dots], log))
    colours = {m["model"]: m["tint"] for m in dots}
    dot_channels: dict[str, Any] = {
        "x": x, "y": y, "shape": alt.Shape("model:N", legend=None), "tooltip": alt.Tooltip("tip:N", title=" "),
    }  # fmt: skip
    chart = alt.layer(
        alt.Chart(as_data(medians)).mark_line(strokeWidth=1.75).encode(
            x=x, y=y, **line_styles("model:N", colours)),
        alt.Chart(as_data(medians)).mark_point(size=90, opacity=1).encode(
            fill=alt.Fill("tint:N", scale=None), stroke=alt.Stroke("tint:N", scale=None), **dot_channels),
        alt.Chart(as_data(dots)).mark_point(size=30, opacity=0.5).encode(
            stroke=alt.Stroke("tint:N", scale=None), **dot_channels),
    )  # fmt: skip
    return frame_chart(
        chart, f"{title} against the number of layers, one line per model", HEIGHT + legend_height(len(colours))
    )


def _form_name(row: Row) -> str:
    """Return the model's title with all its options except the number of layers."""
    others: Mapping[str, object] = {name: value for name, value in row.options.items() if name != "layers"}
    options = ", ".join(f"{name} {value}" for name, value in others.items())
    name = row.model_title
    return f"{name} ({options})" if options else name


def _test_value(trial: Trial, shown: str, log: bool) -> float | None:
    """Return the test score of a retraining, or a measure."""
    assert trial.run
    if not log:
        return trial.run.test
    return next((m.value for m in trial.run.measures if m.key == shown and not m.x_name), None)
