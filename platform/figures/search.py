"""What a search found: settings against the validation metric, and what a search of k trials is expected to find."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import altair as alt

from longwave.platform.boards.budget import SearchCurve
from longwave.platform.boards.progress import scored
from longwave.platform.figures.frame import FAINT, Figure, Mark, as_data, frame_chart, number_axis
from longwave.platform.figures.legend import legend_height, told_apart
from longwave.platform.figures.palette import DIVERGED, family_colour
from longwave.platform.records.stored import Trial

HEIGHT = 300
BANDS = 3
"""Searches up to which their bands are drawn: more hide each other."""
SCHEME: Any = "viridis"
"""Colours of a metric: even steps, also for the colour-blind."""


def trial_settings(trial: Trial) -> dict[str, float]:
    """Return the numbers that a search trial was drawn with."""
    numbers = {name: value for name, value in trial.config.params.items() if isinstance(value, float | int)}
    return {**numbers, "hidden": float(trial.config.hidden), "batch": float(trial.config.batch)}


def rank_key(trial: Trial, goal: str) -> tuple[bool, float]:
    """Return what search trials are sorted by: the best on validation first, those without a metric last."""
    valid = scored(trial)
    return (valid is None, 0.0 if valid is None else valid if goal == "min" else -valid)


def varied_settings(trials: Sequence[Trial]) -> list[str]:
    """Return the names of the settings that differ among trials, those of the paper's letters first."""
    seen: dict[str, set[float]] = {}
    for trial in trials:
        for name, value in trial_settings(trial).items():
            seen.setdefault(name, set()).add(value)
    first = ("dt", "gamma", "epsilon", "alpha", "beta", "tau", "lr")
    names = [name for name, values in seen.items() if len(values) > 1]
    return sorted(names, key=lambda name: (first.index(name) if name in first else len(first), name))


def parallel_coordinates(
    trials: Sequence[Trial], goal: str, metric: str, chosen: Collection[str] | None = None
) -> Figure | None:
    """Return parallel coordinates: a line a trial through its settings, coloured by its rank on validation.

    A diverged trial is a dashed red line. Each axis runs from the least to the largest value that was drawn, by
    logarithm where those span more than a factor of ten.

    Args:
        trials: Search trials; of them those that ended are drawn.
        goal: ``"max"`` or ``"min"``.
        metric: How the metric is written.
        chosen: Ids of the trials that are picked out: the others are faint; None for all.
    """
    names = varied_settings(trials)
    ended = [trial for trial in trials if trial.run]
    if not names or len(ended) < 2:
        return None
    order = sorted((t for t in ended if scored(t) is not None), key=lambda t: rank_key(t, goal))
    ranks = {trial.config.id: k / max(1, len(order) - 1) for k, trial in enumerate(order)}
    axis_of = {
        name: _axis_position([trial_settings(t)[name] for t in ended if name in trial_settings(t)]) for name in names
    }
    marks: list[Mark] = []
    for trial in ended:
        own, id = trial_settings(trial), trial.config.id
        for name in (n for n in names if n in own):
            marks.append({"trial": id, "axis": name, "at": axis_of[name](own[name]),
                          "rank": ranks.get(id), "diverged": id not in ranks, "kept": chosen is None or id in chosen,
                          "tip": f"trial {id[:8]}, {name} {own[name]:.4g}: {_final_value(trial, metric)}"})  # fmt: skip
    x = alt.X("axis:N", sort=names, axis=alt.Axis(title=None, labelAngle=0, grid=True, domain=False))
    y = alt.Y("at:Q", axis=alt.Axis(title="least to largest drawn", labels=False, ticks=False, grid=False))
    tip = alt.Tooltip("tip:N", title=" ")
    good, bad = ([m for m in marks if m["diverged"] is lost and m["kept"]] for lost in (False, True))
    others = [m for m in marks if not m["kept"]]
    rank = alt.Color("rank:Q", scale=alt.Scale(scheme=SCHEME, reverse=True), legend=None)
    made = alt.layer(
        alt.Chart(as_data(others)).mark_line(opacity=0.25, color=FAINT).encode(x=x, y=y, detail="trial:N", tooltip=tip),
        alt.Chart(as_data(bad))
        .mark_line(strokeDash=[3, 3], opacity=0.5, color=DIVERGED)
        .encode(x=x, y=y, detail="trial:N", tooltip=tip),
        alt.Chart(as_data(good)).mark_line(opacity=0.7).encode(x=x, y=y, detail="trial:N", color=rank, tooltip=tip),
    )
    return frame_chart(made, f"Settings of {len(ended)} search trials, by rank on validation {metric}", HEIGHT)


def expected_bests(curves: Sequence[SearchCurve], names: Mapping[str, str], metric: str, log: bool) -> Figure | None:
    """Return the expected best validation metric of k trials, one line a model; for a few with the band of 80 %.

    Args:
        curves: Searches of one board.
        names: Labels by model.
        metric: How the metric is written.
        log: Whether the y axis is logarithmic.
    """
    marks: list[Mark] = [
        {"name": names[curve.row.model], "k": k, "value": e.value, "low": e.low, "high": e.high,
         "tint": family_colour(curve.row.family), "tip": f"{names[curve.row.model]}, {k} trials: {e.value:.4g}"}
        for curve in curves
        for k, e in enumerate(curve.curve, 1)
        if e.value > 0 or not log
    ]  # fmt: skip
    if not marks:
        return None
    of_y = number_axis(f"expected best validation {metric}", [m["value"] for m in marks], log)
    x = alt.X(
        "k:Q", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(title="search trials", format="~g", grid=False)
    )
    tints = {mark["name"]: mark["tint"] for mark in marks}
    lines, banded = told_apart("name:N", tints), marks if len(tints) <= BANDS else []
    made = alt.layer(
        alt.Chart(as_data(banded)).mark_area(opacity=0.12).encode(
            x=x, y=alt.Y("low:Q", **of_y), y2="high:Q", detail="name:N", fill=alt.Fill("tint:N", scale=None)),
        alt.Chart(as_data(marks)).mark_line().encode(
            x=x, y=alt.Y("value:Q", **of_y), tooltip=alt.Tooltip("tip:N", title=" "), **lines),
    )  # fmt: skip
    return frame_chart(made, f"Expected best validation {metric} of a search", HEIGHT + legend_height(len(tints)))


def _final_value(trial: Trial, metric: str) -> str:
    valid = scored(trial)
    return trial.status if valid is None else f"validation {metric} {valid:.4g}"


def _axis_position(numbers: Sequence[float]) -> Callable[[float], float]:
    """Return what gives each number its place on an axis, from 0 to 1."""
    scale = math.log if spans_decades(numbers) else float
    low, high = scale(min(numbers)), scale(max(numbers))
    return lambda value: (scale(value) - low) / ((high - low) or 1.0)


def spans_decades(numbers: Sequence[float]) -> bool:
    """Return whether positive numbers span more than a factor of ten."""
    return bool(numbers) and min(numbers) > 0 and max(numbers) > 10 * min(numbers)
