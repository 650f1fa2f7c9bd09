"""Each retraining of a board as a dot, row by row; intervals would hide their distribution. Diverged ones are
crosses."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import measured, plain
from longwave.platform.figures.frame import AXIS, LINE, Figure, Mark, as_data, frame_chart, least_shown, number_axis
from longwave.platform.figures.palette import DIVERGED, NEUTRAL, family_colour

SPREAD = 0.28
"""Vertical offset of dots, so that equal ones are visible, as a share of the line's height."""


def seeds(rows: Sequence[Row], names: Sequence[str], log: bool) -> Figure | None:
    """Return a dot per retraining, a tick at each median, and a cross at the worst number for each diverged one. The
    best trivial predictor is a dashed line through all rows. What a logarithmic axis cannot show, such as an error of
    0, is a triangle at its left end. None if no seed has ended.

    Args:
        rows: Rows of one board, in order.
        names: Their labels, which are unique.
        log: Whether the axis is logarithmic, if any number is positive.
    """
    lines = [(name, row) for name, row in zip(names, rows, strict=True) if row.kind == "retrained" and row.seed_count]
    chance = [float(row.mean) for row in rows if row.trivial and row.mean is not None][:1]
    numbers = [*(score for _, row in lines for score in row.scores), *chance]
    if not lines or not numbers:
        return None
    least = least_shown(numbers, log)
    edge = (max if rows[0].goal == "min" else min)(max(number, least) for number in numbers)
    dots = [
        {"name": name, "value": edge if score is None else max(score, least), "tint": family_colour(row.family),
         "mark": "diverged" if score is None else "below" if score < least else "seed",
         "off": SPREAD * (2 * k / max(1, row.seed_count - 1) - 1) if row.seed_count > 1 else 0.0,
         "tip": f"{row.label}, one retraining: {'diverged' if score is None else plain(score)}"}
        for name, row in lines for k, score in enumerate(row.seeds)
    ]  # fmt: skip
    middles: list[Mark] = [
        {"name": name, "value": max(row.median, least), "tint": family_colour(row.family),
         "tip": f"{row.label}, median"}
        for name, row in lines if row.median is not None
    ]  # fmt: skip
    limit = [{"value": v, "tip": f"best trivial predictor: {plain(v)}"} for v in chance if v >= least]
    title, order = f"test {measured(rows[0])}", [name for name, _ in lines]
    x = alt.X("value:Q", **number_axis(title, numbers, log))
    names_shown = alt.Scale(domain=order)
    y = alt.Y(
        "name:N", scale=names_shown, axis=alt.Axis(title=None, ticks=False, domain=False, labelOverlap=False, grid=True)
    )
    off = alt.YOffset("off:Q", scale=alt.Scale(domain=[-1, 1]))
    tint, tip = alt.Color("tint:N", scale=None), alt.Tooltip("tip:N", title=" ")
    good, below, bad = ([dot for dot in dots if dot["mark"] == mark] for mark in ("seed", "below", "diverged"))
    chart = alt.layer(
        alt.Chart(as_data(limit)).mark_rule(strokeDash=[5, 4], strokeWidth=1.5, color=NEUTRAL).encode(x=x, tooltip=tip),
        alt.Chart(as_data(middles)).mark_tick(thickness=2.5, size=22).encode(x=x, y=y, color=tint, tooltip=tip),
        alt.Chart(as_data(good)).mark_point(shape="circle", filled=True, size=55, opacity=0.75).encode(
            x=x, y=y, yOffset=off, color=tint, tooltip=tip),
        alt.Chart(as_data(below)).mark_point(shape="triangle-left", filled=True, size=55, opacity=0.75).encode(
            x=x, y=y, yOffset=off, color=tint, tooltip=tip),
        alt.Chart(as_data(bad)).mark_point(shape="cross", angle=45, size=70, color=DIVERGED).encode(
            x=x, y=y, yOffset=off, tooltip=tip),
    )  # fmt: skip
    return frame_chart(chart, f"Each retraining, {title}: {', '.join(order)}", AXIS + (LINE + 6) * len(order))
