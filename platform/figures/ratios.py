"""Ratios of errors on a logarithmic axis: of two models task by task, or ours over published ones."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import altair as alt

from longwave.platform.boards.compare import Comparison
from longwave.platform.figures.frame import (
    AXIS,
    FAINT,
    LETTERS,
    LINE,
    Figure,
    Mark,
    as_data,
    frame_chart,
    least_shown,
    list_names,
    number_axis,
)
from longwave.platform.figures.palette import family_colour

TITLE = 54
"""Characters per line of the axis title, as many as fit on a phone."""


MANY, DENSE = 24, 16
"""Number of lines above which they are denser, and their height then, in pixels."""


@dataclass(frozen=True)
class Ratio:
    """One line: a ratio with its interval, if it has one, and its tooltip."""

    name: str
    value: float
    low: float | None
    high: float | None
    colour: str
    tip: str


def error_ratios(comparison: Comparison, family: str) -> Figure | None:
    """Return the error ratios of two models or rows, board by board, in the colour of the first one's family; None if
    no board has one.
    """
    lines = [
        Ratio(
            c.a.board,
            r.value,
            r.low,
            r.high,
            family_colour(family),
            f"{c.a.board}: error ratio {r.value:.3g}, {c.word}",
        )
        for c in comparison.contests
        if c.contrast and (r := c.contrast.ratio)
    ]
    return ratios(lines, f"error of {comparison.a} over that of {comparison.b}: left of 1 is better") if lines else None


def ratios(lines: Sequence[Ratio], title: str, margin: float | None = None) -> Figure:
    """Return ratios with their intervals and a line at 1; a band spans 1/``margin`` to ``margin``.

    Args:
        lines: Ratios in order; those of the same name share a line.
        title: How the axis is named.
        margin: Ratio that makes no difference, above 1; None for no band.
    """
    ends = [(r.value if r.low is None else r.low, r.value if r.high is None else r.high) for r in lines]
    least = least_shown([*(r.value for r in lines), *(number for pair in ends for number in pair)], log=True)
    marks: list[Mark] = [
        {"name": r.name, "value": max(r.value, least), "low": max(low, least), "high": max(high, least),
         "tint": r.colour, "tip": r.tip}
        for r, (low, high) in zip(lines, ends, strict=True)
    ]  # fmt: skip
    names = list(dict.fromkeys(r.name for r in lines))
    numbers = [1.0, *(mark[end] for mark in marks for end in ("value", "low", "high"))]
    numbers += [margin, 1 / margin] if margin else []
    heading = [line for part in title.replace(": ", ":\n").split("\n") for line in textwrap.wrap(part, TITLE)]
    x_axis = number_axis(heading, numbers, True, titleAnchor="end", orient="top")
    x = alt.X("value:Q", **x_axis)
    y = alt.Y(
        "name:N",
        sort=names,
        axis=alt.Axis(title=None, ticks=False, domain=False, labelOverlap=False, labelLimit=320, grid=True),
    )
    tint, tip = alt.Color("tint:N", scale=None), alt.Tooltip("tip:N", title=" ")
    unit_line = (
        alt.Chart(as_data([{"value": 1.0, "tip": "equal errors"}])).mark_rule(color=FAINT, strokeWidth=1.5).encode(x=x)
    )
    layers = [
        unit_line,
        alt.Chart(as_data(marks)).mark_rule(strokeWidth=2).encode(
            x=alt.X("low:Q", **x_axis), x2="high:Q", y=y, color=tint, tooltip=tip),
        alt.Chart(as_data(marks)).mark_point(shape="circle", filled=True, size=90, opacity=1).encode(
            x=x, y=y, color=tint, tooltip=tip),
    ]  # fmt: skip
    if margin:
        band = alt.Chart(as_data([{"low": 1 / margin, "high": margin}])).mark_rect(color=FAINT, opacity=0.15)
        layers.insert(0, band.encode(x=alt.X("low:Q", **x_axis), x2="high:Q"))
    return frame_chart(
        alt.layer(*layers),
        f"{title}: {list_names(names)}",
        AXIS + LETTERS * len(heading) + (DENSE if len(names) > MANY else LINE) * max(1, len(names)),
    )
