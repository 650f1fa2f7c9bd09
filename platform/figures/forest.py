"""The forest plot: medians with their intervals, seeds, published numbers, and trivial predictors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt

from longwave.platform.boards.printed import quote_number
from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import measured, median, plain, seeds
from longwave.platform.figures.frame import (
    AXIS,
    LINE,
    Figure,
    Mark,
    as_data,
    frame_chart,
    least_shown,
    list_names,
    number_axis,
)
from longwave.platform.figures.palette import NEUTRAL, family_colour

DASH = "M0,-0.5V0.5"
"""Mark of a retraining."""
PALE = 0.45
"""Opacity of a provisional row."""
WORDS: dict[str, dict[str, Any]] = {
    "": {"align": "left", "dx": 6}, "right": {"align": "left", "dx": 12}, "left": {"align": "right", "dx": -12},
}  # fmt: skip
"""Alignment of words in a line: at its beginning, or left or right of its marks."""


def forest(rows: Sequence[Row], names: Sequence[str], log: bool) -> Figure:
    """Return medians with intervals, retrainings as dashes, published numbers as hollow diamonds. The best trivial
    predictor is a dashed line through all rows, and the weakest, which is near chance, a dotted one if it is within the
    range. Provisional rows are pale. An interval that ends at a diverged seed extends to the worst number of the figure
    and ends in an arrow. What a logarithmic axis cannot show, such as an error of 0, is an arrow at its left end.

    Args:
        rows: Rows of one board, in order.
        names: Their labels, which are unique.
        log: Whether the axis is logarithmic, if any number is positive.
    """
    lines = [(name, row) for name, row in zip(names, rows, strict=True) if not row.trivial]
    marks = [mark for name, row in lines for mark in _row_marks(name, row)]
    marks += score_limits(rows, [mark["value"] for mark in marks if "value" in mark])
    least = least_shown([mark["value"] for mark in marks if "value" in mark], log)
    marks = [
        {**mark, "kind": "below", "value": least} if mark.get("value", least) < least else mark
        for mark in marks
        if "name" in mark or mark["value"] >= least
    ]
    numbers = [mark["value"] for mark in marks if "value" in mark]
    edge, log = (max if rows[0].goal == "min" else min)(numbers, default=0.0), least > -math.inf
    for mark in marks:
        if mark["kind"] == "interval":
            mark |= {end: edge if mark[end] is None else max(mark[end], least) for end in ("low", "high")}
        elif mark["kind"] == "none":
            mark |= _word_sides(
                [m["value"] for m in marks if m.get("name") == mark["name"] and "value" in m], numbers, log
            )
    marks += [{**mark, "kind": "open", "value": edge} for mark in marks if mark.get("open")]
    title = f"test {measured(rows[0])}"
    order = [name for name, _ in lines]
    summary = f"Medians of {title} with their intervals, best first: {list_names(order)}"
    return frame_chart(
        _layers(marks, order, number_axis(title, numbers, log), rows[0].goal), summary, AXIS + LINE * max(1, len(lines))
    )


def _layers(marks: Sequence[Mark], order: Sequence[str], of_x: dict[str, Any], goal: str) -> Any:
    x = alt.X("value:Q", **of_x)
    y = alt.Y(
        "name:N", sort=[*order], axis=alt.Axis(title=None, ticks=False, domain=False, labelOverlap=False, grid=True)
    )
    channels = {"y": y, "color": alt.Color("tint:N", scale=None), "tooltip": alt.Tooltip("tip:N", title=" ")}
    channels["opacity"] = alt.Opacity("ink:Q", scale=None)
    arrow = "triangle-right" if goal == "min" else "triangle-left"

    def chart_of(kind: str) -> alt.Chart:
        return alt.Chart(as_data(mark for mark in marks if mark["kind"] == kind))

    return alt.layer(
        chart_of("limit").mark_rule(strokeDash=[5, 4], strokeWidth=1.5, color=NEUTRAL).encode(x=x, tooltip="tip:N"),
        chart_of("chance").mark_rule(strokeDash=[1, 4], strokeWidth=1.5, color=NEUTRAL).encode(x=x, tooltip="tip:N"),
        chart_of("seed").mark_point(shape=DASH, size=225, strokeWidth=1.5).encode(x=x, **channels),
        chart_of("printed")
        .mark_point(shape="diamond", size=120, strokeWidth=1.75, filled=False)
        .encode(x=x, **channels),
        chart_of("interval").mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", **of_x), x2="high:Q", **channels),
        chart_of("median").mark_point(shape="circle", filled=True, size=90).encode(x=x, **channels),
        chart_of("open").mark_point(shape=arrow, filled=True, size=90).encode(x=x, **channels),
        chart_of("below").mark_point(shape="triangle-left", filled=True, size=90).encode(x=x, **channels),
        *(_word_layer(marks, side, x, y) for side in WORDS if any(mark.get("side") == side for mark in marks)),
    )


def _word_layer(marks: Sequence[Mark], side: str, x: alt.X, y: alt.Y) -> Any:
    """Return the layer of the words at one side."""
    shown = [mark for mark in marks if mark["kind"] == "none" and mark["side"] == side]
    x_channel = x if side else alt.value(0)
    return alt.Chart(as_data(shown)).mark_text(**WORDS[side]).encode(x=x_channel, y=y, text="word:N", tooltip="tip:N")


def _word_sides(line_values: Sequence[float], numbers: Sequence[float], log: bool) -> Mark:
    """Return the side and position of words in a line: beside its marks, where there is more room."""
    if not line_values:
        return {}
    scale = math.log if log else float
    left, right = scale(min(line_values)) - scale(min(numbers)), scale(max(numbers)) - scale(max(line_values))
    at_right = right >= left
    return {
        "side": "right" if at_right else "left",
        "value": max(line_values) if at_right else min(line_values),
        "word": "no median",
    }


def _row_marks(name: str, row: Row) -> Iterator[Mark]:
    """Yield the marks of a row's line."""
    common: Mark = {"name": name, "tint": family_colour(row.family), "ink": PALE if row.provisional else 1.0}
    for score in row.scores:
        yield {**common, "kind": "seed", "value": score, "tip": f"{row.label}, one retraining: {plain(score)}"}
    for number in row.published:
        tip = f"{row.label}, published: {quote_number(number)}"
        yield {**common, "kind": "printed", "value": float(number["value"]), "tip": tip}
    if row.kind == "published":
        return
    if row.median is None:
        state = f"no median: {seeds(row)}"
        yield {**common, "kind": "none", "side": "", "word": state, "tip": state}
        return
    best, worst = row.median_best, row.median_worst
    if row.median_level is None:
        best = worst = row.median
    low, high = (best, worst) if row.goal == "min" else (worst, best)
    tip = f"{row.label}, median: {median(row)}"
    yield {**common, "kind": "interval", "low": low, "high": high, "open": worst is None, "tip": tip}
    yield {**common, "kind": "median", "value": row.median, "tip": tip}


def score_limits(rows: Sequence[Row], numbers: Sequence[float]) -> list[Mark]:
    """Return the best trivial predictor of a board, and the weakest if it is within the range of the numbers.

    Args:
        rows: Rows of one board, in order.
        numbers: The numbers that a figure shows.
    """
    predictors = [row for row in rows if row.trivial and row.mean is not None]
    ends = [
        ("limit", "best trivial predictor", predictors[:1]),
        ("chance", "weakest trivial predictor", predictors[1:][-1:]),
    ]
    marks: list[Mark] = [
        {"kind": kind, "value": row.mean, "tip": f"{label}, {row.title}: {plain(row.mean)}"}
        for kind, label, shown in ends
        for row in shown
    ]
    low, high = (min(numbers), max(numbers)) if numbers else (math.inf, -math.inf)
    return [mark for mark in marks if mark["kind"] == "limit" or low <= mark["value"] <= high]
