"""Learning curves: one line a retraining, by epoch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import cycle
from statistics import quantiles

import altair as alt

from longwave.platform.figures.frame import Figure, Mark, as_data, frame_chart, number_axis, thin_points
from longwave.platform.figures.legend import legend_height, told_apart
from longwave.platform.figures.palette import FAMILIES, family_colour
from longwave.platform.records.run import Point
from longwave.platform.records.stored import Trial

HEIGHT = 320
FEWEST = 3
"""Retrainings from which on their median is drawn."""
OF = {"valid": "validation", "loss": "training loss"}
"""What a curve may show."""


def curves(trials: Sequence[Trial], points: Sequence[Point], family: str, what: str, title: str, log: bool) -> Figure:
    """Return a thin line a retraining by epoch, and from three on their median and the band of their middle half.

    A dot marks the best epoch of a retraining, a cross where one diverged or failed.

    A line of many epochs is thinned; its ends and its best epoch stay.

    Args:
        trials: Retrainings of one row.
        points: Their epochs, by trial and epoch.
        family: Of their model.
        what: ``valid`` or ``loss``.
        title: How the axis is named.
        log: Whether the y axis is logarithmic; what is not positive is left out then.
    """
    marks = [mark for trial in trials for mark in _line(trial, points, what, log)]
    numbers = [mark["value"] for mark in marks]
    lines, ends = ([m for m in marks if (m["mark"] == "") is plain] for plain in (True, False))
    y = alt.Y("value:Q", **number_axis(title, numbers, log))
    x = alt.X("epoch:Q", scale=alt.Scale(nice=False), axis=alt.Axis(title="epoch", grid=False, tickMinStep=1))
    middle = _middle_half(lines) if len(trials) >= FEWEST else []
    width, faint = (0.8, 0.5) if middle else (1.75, 1.0)
    tip = alt.Tooltip("tip:N", title=" ")
    shape = alt.Shape("mark:N", scale=alt.Scale(domain=["best", "broken"], range=["circle", "cross"]), legend=None)
    chart = alt.layer(
        alt.Chart(as_data(middle)).mark_area(color=family_colour(family), opacity=0.2).encode(
            x=x, y=alt.Y("low:Q", **number_axis(title, numbers, log)), y2="high:Q"),
        alt.Chart(as_data(lines)).mark_line(color=family_colour(family), strokeWidth=width, opacity=faint).encode(
            x=x, y=y, detail="name:N", tooltip=tip),
        alt.Chart(as_data(middle)).mark_line(color=family_colour(family), strokeWidth=2.5).encode(
            x=x, y=y, tooltip=tip),
        alt.Chart(as_data(ends)).mark_point(
            filled=True, size=30 if middle else 80, opacity=1, color=family_colour(family)).encode(
            x=x, y=y, shape=shape, angle=alt.condition("datum.mark == 'broken'", alt.value(45), alt.value(0)),
            tooltip=tip),
    )  # fmt: skip
    middle_half = "; thick the median, the band the middle half" if middle else ""
    summary = f"{title} by epoch, one line a retraining, a dot at its best epoch, a cross where it broke{middle_half}"
    return frame_chart(chart, summary, HEIGHT)


def running_curves(trials: Sequence[Trial], points: Sequence[Point], title: str, log: bool) -> Figure | None:
    """Return the validation metric of trials in training by epoch, a line each, coloured by model; None without epochs.

    Args:
        trials: Of one task.
        points: Their epochs, by trial and epoch.
        title: How the axis is named.
        log: Whether the y axis is logarithmic; what is not positive is left out then.
    """
    marks: list[Mark] = []
    for trial in trials:
        mine = [p for p in points if p.trial == trial.config.id and math.isfinite(p.valid) and (p.valid > 0 or not log)]
        marks += [
            {"trial": trial.config.id, "model": trial.about.model, "epoch": mine[k].epoch, "value": mine[k].valid,
             "tip": f"{trial.about.model}, trial {trial.config.id[:8]}, epoch {mine[k].epoch}: {mine[k].valid:.5g}"}
            for k in thin_points(len(mine))
        ]  # fmt: skip
    if not marks:
        return None
    models = sorted({mark["model"] for mark in marks})
    tints = dict(zip(models, cycle(FAMILIES.values()), strict=False))
    base = alt.Chart(as_data(marks)).encode(
        x=alt.X("epoch:Q", scale=alt.Scale(nice=False), axis=alt.Axis(title="epoch", grid=False, tickMinStep=1)),
        y=alt.Y("value:Q", **number_axis(title, [mark["value"] for mark in marks], log)),
        detail="trial:N", tooltip=alt.Tooltip("tip:N", title=" "),
    )  # fmt: skip
    made = base.mark_line(strokeWidth=1.2, point=alt.OverlayMarkDef(size=12)).encode(**told_apart("model:N", tints))
    return frame_chart(
        made, f"{title} by epoch of {len(trials)} trials in training", HEIGHT + legend_height(len(models))
    )


def _middle_half(lines: Sequence[Mark]) -> list[Mark]:
    """Return by epoch the median and the quartiles of the retrainings that have a value there, ``FEWEST`` at least."""
    by_epoch: dict[int, list[float]] = {}
    for mark in lines:
        by_epoch.setdefault(mark["epoch"], []).append(mark["value"])
    marks: list[Mark] = []
    for epoch, values in sorted(by_epoch.items()):
        if len(values) >= FEWEST:
            low, median, high = quantiles(values, n=4, method="inclusive")
            tip = f"epoch {epoch}: median {median:.5g}, middle half {low:.5g} to {high:.5g}, {len(values)} seeds"
            marks.append({"mark": "median", "epoch": epoch, "value": median, "low": low, "high": high, "tip": tip})
    return marks


def _line(trial: Trial, points: Sequence[Point], what: str, log: bool) -> Iterator[Mark]:
    """Yield the points of a retraining's line, then the mark on it."""
    mine = [(p.epoch, getattr(p, what)) for p in points if p.trial == trial.config.id]
    mine = [(epoch, value) for epoch, value in mine if math.isfinite(value) and (value > 0 or not log)]
    name = f"seed {trial.config.seed}" + ("" if trial.status == "ok" else f" ({trial.status})")
    best = trial.run.best_epoch if trial.run and trial.status == "ok" else None
    at = next((k for k, (epoch, _) in enumerate(mine) if epoch == best), None)
    own = {"name": f"seed {trial.config.seed}"}
    for k in thin_points(len(mine), always=() if at is None else (at,)):
        epoch, value = mine[k]
        yield {**own, "mark": "", "epoch": epoch, "value": value, "tip": f"{name}, epoch {epoch}: {value:.5g}"}
    if at is not None:
        epoch, value = mine[at]
        yield {**own, "mark": "best", "epoch": epoch, "value": value, "tip": f"{name}, best epoch {epoch}: {value:.5g}"}
    elif mine and trial.status in ("diverged", "failed"):
        epoch, value = mine[-1]
        yield {**own, "mark": "broken", "epoch": epoch, "value": value, "tip": f"{name} in epoch {epoch}"}
