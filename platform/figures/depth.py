"""Scores, and what is measured beside them, against the number of layers: a line a model, a dot a retraining."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import altair as alt

from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import measured
from longwave.platform.figures.frame import Figure, Mark, axis, framed, values
from longwave.platform.figures.legend import legend_height, told_apart
from longwave.platform.figures.palette import colour
from longwave.platform.records.stored import Trial

HEIGHT = 320
LEAST = 1e-30
"""Smallest number that a logarithmic axis shows; what is less stands there."""


def stacked(rows: Sequence[Row]) -> list[Row]:
    """Return the retrained rows of those models that stand there with several numbers of layers."""
    depths = defaultdict[str, set[int]](set)
    for row in rows:
        if row.current and row.layers:
            depths[_form(row)].add(row.layers)
    return [row for row in rows if row.current and row.layers and len(depths[_form(row)]) > 1]


def metric_of(rows: Sequence[Row]) -> str:
    """Return what the board's metric is called."""
    return rows[0].metric


def measures_of(trials: Sequence[Trial]) -> list[str]:
    """Return the names of what was measured beside the metric, once a trial, in order."""
    found = (m.key for trial in trials if trial.run for m in trial.run.measures if not m.x_name)
    return list(dict.fromkeys(found))


def depth(rows: Sequence[Row], trials: Sequence[Trial], shown: str) -> Figure | None:
    """Return one line a model through the medians of its retrainings; None where no model has several depths.

    Args:
        rows: Rows of one board.
        trials: Their retrainings.
        shown: The board's metric, or the name of a measure; measures have a logarithmic axis.
    """
    log = shown != metric_of(rows)
    ended = {trial.config.id: trial for trial in trials if trial.run and trial.status == "ok"}
    dots, middles = list[Mark](), list[Mark]()
    for row in stacked(rows):
        found = [value for k in row.trials if k in ended and (value := _value(ended[k], shown, log)) is not None]
        if not found:
            continue
        same = {"model": _form(row), "layers": row.layers, "tint": colour(row.family)}
        dots += [{**same, "value": v, "tip": f"{same['model']}, {row.layers} layers: {v:.4g}"} for v in found]
        middle = median(found)
        told = f"{same['model']}, {row.layers} layers: median {middle:.4g} of {len(found)}"
        middles.append({**same, "value": middle, "tip": told})
    if not middles:
        return None
    title = shown.replace("_", " ") if log else f"test {measured(rows[0])}"
    ticks = alt.Axis(title="layers", values=sorted({m["layers"] for m in middles}), format="~g", labelOverlap=True)
    x = alt.X("layers:Q", scale=alt.Scale(type="log", nice=False, padding=10), axis=ticks)
    y = alt.Y("value:Q", **axis(title, [m["value"] for m in dots], log))
    tints = {m["model"]: m["tint"] for m in middles}
    same_dot: dict[str, Any] = {
        "x": x, "y": y, "shape": alt.Shape("model:N", legend=None), "tooltip": alt.Tooltip("tip:N", title=" "),
    }  # fmt: skip
    chart = alt.layer(
        alt.Chart(values(middles)).mark_line(strokeWidth=1.75).encode(
            x=x, y=y, **told_apart("model:N", tints)),
        alt.Chart(values(middles)).mark_point(size=90, opacity=1).encode(
            fill=alt.Fill("tint:N", scale=None), stroke=alt.Stroke("tint:N", scale=None), **same_dot),
        alt.Chart(values(dots)).mark_point(size=30, opacity=0.5).encode(
            stroke=alt.Stroke("tint:N", scale=None), **same_dot),
    )  # fmt: skip
    return framed(chart, f"{title} against the number of layers, a line a model", HEIGHT + legend_height(len(tints)))


def _form(row: Row) -> str:
    """Return the model with all its options but the number of layers."""
    others: Mapping[str, object] = {name: value for name, value in row.options.items() if name != "layers"}
    told = ", ".join(f"{name} {value}" for name, value in others.items())
    name = row.model_title
    return f"{name} ({told})" if told else name


def _value(trial: Trial, shown: str, log: bool) -> float | None:
    """Return the test score of a retraining, or one of its measures; on a logarithmic axis at least ``LEAST``."""
    assert trial.run
    if not log:
        return trial.run.test
    found = next((m.value for m in trial.run.measures if m.key == shown and not m.x_name), None)
    return None if found is None else max(found, LEAST)
