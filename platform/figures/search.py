"""What a search found: settings against the validation metric, and what a search of k trials is expected to find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from longwave.platform.boards.budget import SearchCurve
from longwave.platform.figures.frame import Figure, Mark, axis, framed, values
from longwave.platform.figures.palette import DIVERGED, colour
from longwave.platform.records.stored import Trial

HEIGHT = 300
SCHEME: Any = "viridis"
"""Colours of a metric: even steps, also for the colour-blind."""


def settings(trial: Trial) -> dict[str, float]:
    """Return the numbers that a search trial was drawn with."""
    found = {name: value for name, value in trial.config.params.items() if isinstance(value, float | int)}
    return {**found, "hidden": float(trial.config.hidden), "batch": float(trial.config.batch)}


def scored(trial: Trial) -> float | None:
    """Return a search trial's best validation metric; None where it has none, or diverged."""
    return trial.run.valid if trial.run and trial.status != "diverged" else None


def ranked(trial: Trial, goal: str) -> tuple[bool, float]:
    """Return what search trials are sorted by: the best on validation first, those without a metric last."""
    valid = scored(trial)
    return (valid is None, 0.0 if valid is None else valid if goal == "min" else -valid)


def varied(trials: Sequence[Trial]) -> list[str]:
    """Return the names of the settings that differ among trials, those of the paper's letters first."""
    seen: dict[str, set[float]] = {}
    for trial in trials:
        for name, value in settings(trial).items():
            seen.setdefault(name, set()).add(value)
    first = ("dt", "gamma", "epsilon", "alpha", "beta", "tau", "lr")
    names = [name for name, found in seen.items() if len(found) > 1]
    return sorted(names, key=lambda name: (first.index(name) if name in first else len(first), name))


def parallel(trials: Sequence[Trial], goal: str, metric: str) -> Figure | None:
    """Return parallel coordinates: a line a trial through its settings, coloured by its rank on validation.

    A diverged trial is a dashed red line. Each axis runs from the least to the largest value that was drawn.
    """
    names = varied(trials)
    ended = [trial for trial in trials if trial.run]
    if not names or len(ended) < 2:
        return None
    order = sorted((t for t in ended if scored(t) is not None), key=lambda t: ranked(t, goal))
    place = {trial.config.id: k / max(1, len(order) - 1) for k, trial in enumerate(order)}
    ends = {name: _ends([settings(t)[name] for t in ended if name in settings(t)]) for name in names}
    marks: list[Mark] = []
    for trial in ended:
        own, id = settings(trial), trial.config.id
        for name in (n for n in names if n in own):
            low, high = ends[name]
            marks.append({"trial": id, "axis": name, "at": (own[name] - low) / ((high - low) or 1.0),
                          "rank": place.get(id), "diverged": id not in place,
                          "tip": f"trial {id[:8]}, {name} {own[name]:.4g}: {_found(trial, metric)}"})  # fmt: skip
    x = alt.X("axis:N", sort=names, axis=alt.Axis(title=None, labelAngle=0, grid=True, domain=False))
    y = alt.Y("at:Q", axis=alt.Axis(title="least to largest drawn", labels=False, ticks=False, grid=False))
    tip = alt.Tooltip("tip:N", title=" ")
    good, bad = ([m for m in marks if m["diverged"] is lost] for lost in (False, True))
    rank = alt.Color("rank:Q", scale=alt.Scale(scheme=SCHEME, reverse=True), legend=None)
    made = alt.layer(
        alt.Chart(values(bad))
        .mark_line(strokeDash=[3, 3], opacity=0.5, color=DIVERGED)
        .encode(x=x, y=y, detail="trial:N", tooltip=tip),
        alt.Chart(values(good)).mark_line(opacity=0.7).encode(x=x, y=y, detail="trial:N", color=rank, tooltip=tip),
    )
    return framed(made, f"Settings of {len(ended)} search trials, by rank on validation {metric}", HEIGHT)


def surface(trials: Sequence[Trial], across: str, up: str, goal: str, metric: str) -> Figure | None:
    """Return two settings of each search trial, coloured by its validation metric; a cross where it diverged."""
    marks: list[Mark] = []
    for trial in trials:
        own = settings(trial)
        if trial.run and across in own and up in own:
            valid = scored(trial)
            marks.append({"x": own[across], "y": own[up], "valid": valid, "lost": valid is None,
                          "tip": f"trial {trial.config.id[:8]}: {across} {own[across]:.4g}, {up} {own[up]:.4g}, "
                                 f"{_found(trial, metric)}"})  # fmt: skip
    if len(marks) < 2:
        return None
    wide = {key: _wide([float(m[key]) for m in marks]) for key in ("x", "y")}
    x = alt.X("x:Q", **axis(across, [m["x"] for m in marks], wide["x"]))
    y = alt.Y("y:Q", **axis(up, [m["y"] for m in marks], wide["y"]))
    scale = alt.Scale(
        scheme=SCHEME,
        reverse=goal == "min",
        type="log" if _wide([m["valid"] for m in marks if m["valid"]]) else "linear",
    )
    tint = alt.Color("valid:Q", scale=scale, legend=alt.Legend(title=f"validation {metric}", orient="right"))
    good, bad = ([m for m in marks if m["lost"] is lost] for lost in (False, True))
    tip = alt.Tooltip("tip:N", title=" ")
    made = alt.layer(
        alt.Chart(values(good)).mark_point(filled=True, size=90, opacity=0.9).encode(x=x, y=y, color=tint, tooltip=tip),
        alt.Chart(values(bad))
        .mark_point(shape="cross", angle=45, size=80, color=DIVERGED)
        .encode(x=x, y=y, tooltip=tip),
    )
    return framed(made, f"Validation {metric} over {across} and {up}; crosses diverged", HEIGHT)


def expected(curves: Sequence[SearchCurve], names: Mapping[str, str], metric: str, log: bool) -> Figure | None:
    """Return the expected best validation metric of k trials, one line a model, with the band of 80 % of searches.

    Args:
        curves: Searches of one board.
        names: Labels by model.
        metric: How the metric is written.
        log: Whether the y axis is logarithmic.
    """
    marks: list[Mark] = [
        {"name": names[found.row.model], "k": k, "value": e.value, "low": e.low, "high": e.high,
         "tint": colour(found.row.family), "tip": f"{names[found.row.model]}, {k} trials: {e.value:.4g}"}
        for found in curves
        for k, e in enumerate(found.curve, 1)
        if e.value > 0 or not log
    ]  # fmt: skip
    if not marks:
        return None
    of_y = axis(f"expected best validation {metric}", [m["value"] for m in marks], log)
    x = alt.X(
        "k:Q", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(title="search trials", format="~g", grid=False)
    )
    tint = alt.Color("tint:N", scale=None)
    base = alt.Chart(values(marks)).encode(x=x, color=tint, detail="name:N")
    made = alt.layer(
        base.mark_area(opacity=0.12).encode(y=alt.Y("low:Q", **of_y), y2="high:Q", fill=alt.Fill("tint:N", scale=None)),
        base.mark_line().encode(
            y=alt.Y("value:Q", **of_y), strokeDash=alt.StrokeDash("name:N", legend=alt.Legend(title=None)),
            tooltip=alt.Tooltip("tip:N", title=" ")),
    )  # fmt: skip
    return framed(made, f"Expected best validation {metric} of a search", HEIGHT)


def _found(trial: Trial, metric: str) -> str:
    valid = scored(trial)
    return trial.status if valid is None else f"validation {metric} {valid:.4g}"


def _ends(found: Sequence[float]) -> tuple[float, float]:
    return min(found), max(found)


def _wide(found: Sequence[float]) -> bool:
    """Return whether positive numbers span more than a factor of ten."""
    return bool(found) and min(found) > 0 and max(found) > 10 * min(found)
