"""Figures of a search: settings against the validation metric, and the median best of k trials."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import altair as alt

from longwave.platform.boards.budget import SearchCurve
from longwave.platform.boards.progress import scored
from longwave.platform.figures.frame import (
    AXIS,
    FAINT,
    LINE,
    Figure,
    Mark,
    as_data,
    frame_chart,
    list_names,
    number_axis_without_outliers,
)
from longwave.platform.figures.legend import legend_height, line_styles
from longwave.platform.figures.palette import DIVERGED, NEUTRAL, family_colour
from longwave.platform.records.stored import Trial

HEIGHT = 320
TICKS, HEAD = 5, 1.12
"""Values at an axis of parallel coordinates, and the position of its name; the axis runs from 0 to 1."""
AXES, STEP = 6, 0.08
"""Most axes whose names fit beside each other, and how much higher every second name stands if there are more."""
APART = 0.06
"""Smallest distance of two values at an axis at which their texts do not overlap."""
BACKGROUND: Any = alt.expr("background")
"""Colour of the page, for an outline that separates the text of a value from the lines behind it."""
BRUSHED = "!isDefined(brush.at) || inrange(datum['at ' + brush.axis[0]], brush.at)"
"""Whether a trial is inside the brushed part of an axis, or nothing is brushed; of several axes the first counts."""
BANDS = 3
"""Most searches for which bands are drawn: more would hide each other."""
SCHEME: Any = "viridis"
"""Perceptually uniform colours of a metric, also for colour-blind readers."""


def trial_settings(trial: Trial) -> dict[str, float]:
    """Return the numeric settings of a search trial."""
    numbers = {name: value for name, value in trial.config.params.items() if isinstance(value, float | int)}
    return {**numbers, "hidden": float(trial.config.hidden), "batch": float(trial.config.batch)}


def rank_key(trial: Trial, goal: str) -> tuple[bool, float]:
    """Return the sort key of search trials: best on validation first, those without a metric last."""
    valid = scored(trial)
    return (valid is None, 0.0 if valid is None else valid if goal == "min" else -valid)


def varied_settings(trials: Sequence[Trial]) -> list[str]:
    """Return the names of the settings that differ among trials, parameters with the papers' letters first."""
    values_by_name: dict[str, set[float]] = {}
    for trial in trials:
        for name, value in trial_settings(trial).items():
            values_by_name.setdefault(name, set()).add(value)
    preferred = ("dt", "gamma", "epsilon", "alpha", "beta", "tau", "lr")
    names = [name for name, values in values_by_name.items() if len(values) > 1]
    return sorted(names, key=lambda name: (preferred.index(name) if name in preferred else len(preferred), name))


def parallel_coordinates(
    trials: Sequence[Trial], goal: str, metric: str, chosen: Collection[str] | None = None
) -> Figure | None:
    """Return parallel coordinates: a line per trial through its settings, coloured by its rank on validation. Diverged
    trials are dashed red lines. Each axis runs from the smallest to the largest value, on a logarithmic scale if they
    span more than a factor of ten. Brushing a part of an axis fades all trials outside.

    Args:
        trials: Search trials, of which ended ones are drawn.
        goal: ``"max"`` or ``"min"``.
        metric: Text of the metric.
        chosen: Ids of highlighted trials; the others are faint. None: all are highlighted.
    """
    names = varied_settings(trials)
    ended = [trial for trial in trials if trial.run and trial.status != "failed"]
    if not names or len(ended) < 2:
        return None
    order = sorted((t for t in ended if scored(t) is not None), key=lambda t: rank_key(t, goal))
    ranks = {trial.config.id: k / max(1, len(order) - 1) for k, trial in enumerate(order)}
    numbers = [[values[name] for t in ended if name in (values := trial_settings(t))] for name in names]
    places = [_axis_position(of_axis) for of_axis in numbers]
    marks: list[Mark] = []
    for trial in ended:
        values, id = trial_settings(trial), trial.config.id
        on_axes = {f"at {k}": places[k](values[name]) for k, name in enumerate(names) if name in values}
        for k, name in ((k, name) for k, name in enumerate(names) if name in values):
            setting = f"{name} {values[name]:.4g}"
            marks.append({"trial": id, "axis": k, "at": on_axes[f"at {k}"], **on_axes,
                          "rank": ranks.get(id), "diverged": id not in ranks, "kept": chosen is None or id in chosen,
                          "tip": f"trial {id[:8]}, {setting}: {_final_value(trial, metric)}"})  # fmt: skip
    ticks = [mark for k, of_axis in enumerate(numbers) for mark in _axis_ticks(k, of_axis)]
    step = STEP if len(names) > AXES else 0.0
    heads = [{"axis": k, "at": HEAD + k % 2 * step, "text": name} for k, name in enumerate(names)]
    x = alt.X("axis:O", axis=None, scale=alt.Scale(domain=[*range(len(names))], padding=0.5))
    y = alt.Y("at:Q", axis=None, scale=alt.Scale(domain=[-0.05, HEAD + step + 0.05]))
    tip = alt.Tooltip("tip:N", title=" ")
    good, bad = ([m for m in marks if m["diverged"] is lost and m["kept"]] for lost in (False, True))
    others = [m for m in marks if not m["kept"]]
    rank = alt.Color("rank:Q", scale=alt.Scale(scheme=SCHEME, reverse=True), legend=None)
    brush = alt.selection_interval(name="brush", encodings=["x", "y"])
    opacities = [alt.condition(BRUSHED, alt.value(clear), alt.value(0.05)) for clear in (0.25, 0.5, 0.7)]
    made = alt.layer(
        alt.Chart(as_data(others)).mark_line(color=FAINT).encode(
            x=x, y=y, detail="trial:N", tooltip=tip, opacity=opacities[0]),
        alt.Chart(as_data(bad)).mark_line(strokeDash=[3, 3], color=DIVERGED).encode(
            x=x, y=y, detail="trial:N", tooltip=tip, opacity=opacities[1]),
        alt.Chart(as_data(good)).mark_line().encode(
            x=x, y=y, detail="trial:N", color=rank, tooltip=tip, opacity=opacities[2]).add_params(brush),
        alt.Chart(as_data([{"axis": k, "at": 0.0, "end": 1.0} for k in range(len(names))])).mark_rule(
            color=FAINT).encode(x=x, y=y, y2="end:Q"),
        alt.Chart(as_data(ticks)).mark_tick(size=8, color=FAINT, thickness=1).encode(x=x, y=y),
        alt.Chart(as_data(ticks)).mark_text(
            align="right", dx=-6, fontSize=11, stroke=BACKGROUND, strokeWidth=3).encode(x=x, y=y, text="text:N"),
        alt.Chart(as_data(ticks)).mark_text(align="right", dx=-6, fontSize=11).encode(x=x, y=y, text="text:N"),
        alt.Chart(as_data(heads)).mark_text(fontSize=12, fontWeight=600).encode(x=x, y=y, text="text:N"),
    )  # fmt: skip
    summary = (
        f"Settings of {len(ended)} search trials, one line each, from yellow for the best on validation {metric} to "
        "violet for the worst; dashed red: diverged. An axis over more than a factor of ten is logarithmic"
    )
    return frame_chart(made, summary, HEIGHT)


def importance_bars(rated: Mapping[str, float], evaluator: str) -> Figure | None:
    """Return the importance of each setting of a search as bars, the most important first; None without settings."""
    if not rated:
        return None
    marks = [{"name": name, "value": value, "tip": f"{name}: {value:.2f}"} for name, value in rated.items()]
    chart = alt.Chart(as_data(marks)).mark_bar(color=NEUTRAL).encode(
        x=alt.X("value:Q", axis=alt.Axis(title=f"importance ({evaluator})", orient="top", tickCount=3)),
        y=alt.Y("name:N", sort=[*rated], axis=alt.Axis(title=None, ticks=False, domain=False, labelOverlap=False)),
        tooltip=alt.Tooltip("tip:N", title=" "),
    )  # fmt: skip
    return frame_chart(chart, f"Importance of the settings: {list_names([*rated])}", AXIS + LINE * len(marks))


def median_bests(curves: Sequence[SearchCurve], names: Mapping[str, str], metric: str, log: bool) -> Figure | None:
    """Return the median best validation metric of k trials, one line per model; for few models with the 80 % band.

    Args:
        curves: Searches of one board.
        names: Labels by model.
        metric: Text of the metric.
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
    x = alt.X(
        "k:Q", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(title="search trials", format="~g", grid=False)
    )
    colours = {mark["name"]: mark["tint"] for mark in marks}
    lines, banded = line_styles("name:N", colours), marks if len(colours) <= BANDS else []
    ends = ("value", "low", "high") if banded else ("value",)
    numbers = [number for m in marks for end in ends if (number := float(m[end])) > 0 or not log]
    y_axis = number_axis_without_outliers(f"median best validation {metric}", numbers, curves[0].row.goal, log)
    chart = alt.layer(
        alt.Chart(as_data(banded)).mark_area(opacity=0.12, clip=True).encode(
            x=x, y=alt.Y("low:Q", **y_axis), y2="high:Q", detail="name:N", fill=alt.Fill("tint:N", scale=None)),
        alt.Chart(as_data(marks)).mark_line(clip=True).encode(
            x=x, y=alt.Y("value:Q", **y_axis), tooltip=alt.Tooltip("tip:N", title=" "), **lines),
    )  # fmt: skip
    return frame_chart(chart, f"Median best validation {metric} of a search", HEIGHT + legend_height(len(colours)))


def _final_value(trial: Trial, metric: str) -> str:
    valid = scored(trial)
    return trial.status if valid is None else f"validation {metric} {valid:.4g}"


def _axis_ticks(axis: int, numbers: Sequence[float]) -> list[Mark]:
    """Return the values shown at an axis: all if they are few, else five from end to end. Values whose text would
    overlap the one below are left out.
    """
    position, values = _axis_position(numbers), sorted(set(numbers))
    if len(values) > TICKS:
        steps = [k / (TICKS - 1) for k in range(TICKS)]
        low, high = values[0], values[-1]
        values = [low * (high / low) ** k if spans_decades(numbers) else low + k * (high - low) for k in steps]
    shown = values[:1]
    for number in values[1:]:
        if position(number) - position(shown[-1]) >= APART:
            shown.append(number)
    return [{"axis": axis, "at": position(number), "text": f"{number:.3g}"} for number in shown]


def _axis_position(numbers: Sequence[float]) -> Callable[[float], float]:
    """Return the function from numbers to positions on an axis, from 0 to 1."""
    scale = math.log if spans_decades(numbers) else float
    low, high = scale(min(numbers)), scale(max(numbers))
    return lambda value: (scale(value) - low) / ((high - low) or 1.0)


def spans_decades(numbers: Sequence[float]) -> bool:
    """Return whether positive numbers span more than a factor of ten."""
    return bool(numbers) and min(numbers) > 0 and max(numbers) > 10 * min(numbers)
