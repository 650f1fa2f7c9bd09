"""Scores against cost, or against the length of the sequences."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import altair as alt

from longwave.platform.boards.overview import best_on_validation
from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import duration, measured, median, plain
from longwave.platform.figures.forest import PALE, score_limits
from longwave.platform.figures.frame import AXIS, Figure, Mark, as_data, frame_chart, least_shown, number_axis
from longwave.platform.figures.palette import NEUTRAL, family_colour

HEIGHT = 320
WIDTHS = (230, 380, 620)
"""Widths for which names are laid out, on a phone, in an edition and on a desktop, in pixels."""
TEST_SET = r"[ ,]?test=(\d+)"
"""The test set in the name of a variant."""
LETTER, NAME = 14, 210
"""Height of a line of text, and maximal width of a name, in pixels."""
COSTS: dict[str, tuple[str, Callable[[Row], float | None], Callable[[float | None], str]]] = {
    "parameters": ("trainable parameters", lambda row: row.parameters, plain),
    "train": (
        "time to train a seed [s]",
        lambda row: row.train_seconds / (row.seed_count + row.failed) if row.seed_count else None,
        duration,
    ),
    "find": ("time of the search [s]", lambda row: row.find_seconds or None, duration),
    "energy": ("energy of a retraining [J]", lambda row: row.joules, plain),
}
"""Costs: title of the axis, value of a row, and its text."""


def against_cost(rows: Sequence[Row], names: Sequence[str], cost: str, log: bool) -> Figure | None:
    """Return medians against a cost of ``COSTS``; None if no row has both. Steps join the Pareto-optimal rows; the best
    trivial predictor is a dashed line. Names that would overlap are left out.
    """
    title, value, write = COSTS[cost]
    marks: list[Mark] = []
    for name, row in zip(names, rows, strict=True):
        cost_value = value(row) if row.kind == "retrained" else None
        if cost_value and row.median is not None:
            tip = f"{name}: {median(row)}, {title.partition(' [')[0]} {write(cost_value)}"
            common = {"tint": family_colour(row.family), "ink": PALE if row.provisional else 1.0, "tip": tip}
            marks.append({"name": name, "cost": float(cost_value), "value": row.median, **common})
    if not marks:
        return None
    line = score_limits(rows, [])
    y, marks, line = _y_axis(f"test {measured(rows[0])}", marks, line, log)
    x = alt.X("cost:Q", **number_axis(title, [m["cost"] for m in marks], True))
    front = _pareto_front(marks, rows[0].goal)
    dots, hover = alt.Chart(as_data(marks)), alt.Tooltip("tip:N", title=" ")
    chart = alt.layer(
        alt.Chart(as_data(front)).mark_line(interpolate="step-after", opacity=0.5, color=NEUTRAL).encode(x=x, y=y),
        dots.mark_point(filled=True, size=90).encode(
            x=x, y=y, color=alt.Color("tint:N", scale=None), opacity=alt.Opacity("ink:Q", scale=None), tooltip=hover),
        *_names_beside(marks, front, (*marks, *line), log, x, y),
        alt.Chart(as_data(line)).mark_rule(strokeDash=[5, 4], strokeWidth=1.5, color=NEUTRAL).encode(
            y=y, tooltip=hover),
    )  # fmt: skip
    return frame_chart(chart, f"Test {measured(rows[0])} against {title}", HEIGHT)


def against_length(rows: Sequence[Row], log: bool) -> Figure | None:
    """Return medians against the length, or the steps ahead, that the variants name; None for fewer than two, or both.
    For each, a model's best row on validation is shown, and the best trivial predictor as a dashed line. Names that
    would overlap are left out.

    Args:
        rows: Rows of all variants of one task.
        log: Whether the y axis is logarithmic.
    """
    rows = _newest_test_sets(rows)
    shown = _by_length(rows)
    axes = {axis for axis, length in (_length_of(row.variant) for row in rows) if length}
    if len({mark["cost"] for mark in shown}) < 2 or len(axes) > 1:
        return None
    y, shown, line = _y_axis(f"test {measured(rows[0])}", shown, _trivial_by_length(rows), log)
    [axis] = axes
    x = alt.X("cost:Q", **number_axis(axis, [m["cost"] for m in shown], True))
    last = [max((m for m in shown if m["name"] == name), key=lambda m: m["cost"]) for name in _distinct_names(shown)]
    base, hover = alt.Chart(as_data(shown)), alt.Tooltip("tip:N", title=" ")
    colour, ink = alt.Color("tint:N", scale=None), alt.Opacity("ink:Q", scale=None)
    dash = alt.StrokeDash("name:N", sort=_distinct_names(shown), legend=None)
    chart = alt.layer(
        base.mark_line().encode(x=x, y=y, color=colour, detail="name:N", strokeDash=dash),
        base.mark_point(filled=True, size=70).encode(x=x, y=y, color=colour, opacity=ink, tooltip=hover),
        *_names_beside(last, [], (*shown, *line), log, x, y),
        alt.Chart(as_data(line)).mark_line(strokeDash=[5, 4], strokeWidth=1.5, color=NEUTRAL).encode(x=x, y=y),
    )  # fmt: skip
    return frame_chart(chart, f"Test {measured(rows[0])} against {axis}", HEIGHT)


def _newest_test_sets(rows: Sequence[Row]) -> list[Row]:
    """Return the rows without those at a length at which others were tested on a newer test set."""
    newest: dict[float | None, int] = {}
    for row in rows:
        length = _length_of(row.variant)[1]
        newest[length] = max(newest.get(length, 0), _test_set(row.variant))
    return [row for row in rows if _test_set(row.variant) == newest[_length_of(row.variant)[1]]]


def _y_axis(title: str, marks: Sequence[Mark], line: Sequence[Mark], log: bool) -> tuple[alt.Y, list[Mark], list[Mark]]:
    """Return the axis of scores, with the marks and the trivial predictors where it shows them."""
    numbers = [float(mark["value"]) for mark in (*marks, *line)]
    least = least_shown(numbers, log)
    shown, limits = ([{**mark, "value": max(mark["value"], least)} for mark in group] for group in (marks, line))
    return alt.Y("value:Q", **number_axis(title, numbers, log)), shown, limits


def _by_length(rows: Sequence[Row]) -> list[Mark]:
    """Return the median of each model's best row on validation at each length."""
    by_model: dict[tuple[str, str], list[Row]] = {}
    for row in (row for row in rows if row.current and row.seed_count):
        by_model.setdefault((row.model, row.variant), []).append(row)
    best = [(best_on_validation(model_rows), _length_of(variant)[1]) for (_, variant), model_rows in by_model.items()]
    return [
        {"name": row.model_title, "cost": length, "value": row.median, "tint": family_colour(row.family),
         "ink": PALE if row.provisional else 1.0, "tip": f"{row.label}, {row.variant}: {median(row)}"}
        for row, length in best
        if row.median is not None and length
    ]  # fmt: skip


def _trivial_by_length(rows: Sequence[Row]) -> list[Mark]:
    """Return the best trivial predictor of each length, shortest first."""
    best: dict[float, Mark] = {}
    for row in rows:
        if row.trivial and row.mean is not None and (length := _length_of(row.variant)[1]):
            best.setdefault(length, {"cost": length, "value": row.mean})
    return sorted(best.values(), key=lambda mark: float(mark["cost"]))


def _distinct_names(marks: Sequence[Mark]) -> list[str]:
    return list(dict.fromkeys(str(mark["name"]) for mark in marks))


def _labelled_marks(
    marks: Sequence[Mark], front: Sequence[Mark], drawn: Sequence[Mark], log: bool, width: int
) -> list[Mark]:
    """Return the marks whose names fit beside them and overlap no other name or mark, those on the front first, with
    the ``side`` of the name: left if the mark is far to the right.

    Args:
        marks: To be named.
        front: Those of them to be named first.
        drawn: All marks of the figure, which its axes contain.
        log: Whether the y axis is logarithmic.
        width: Of the figure, in pixels.
    """

    def positions(key: str, log: bool, size: float) -> list[float]:
        scale = math.log if log else float
        numbers = [scale(mark[key]) for mark in drawn if key in mark]
        low, width = min(numbers), (max(numbers) - min(numbers)) or 1.0
        return [size * (scale(mark[key]) - low) / width for mark in marks]

    log = log and all(mark["value"] > 0 for mark in drawn)

    labelled: list[tuple[float, float, float, Mark]] = []
    spots = [*zip(positions("cost", True, width), positions("value", log, HEIGHT - AXIS), marks, strict=True)]
    for x_pixel, y_pixel, mark in sorted(spots, key=lambda spot: spot[2] not in front):
        name_width = min(NAME, 7 * len(mark["name"]))
        left = x_pixel > width - name_width
        start = x_pixel - 8 - name_width if left else x_pixel + 8
        overlaps_mark = any(
            start - 6 < x < start + name_width + 6 and abs(y_pixel + 6 - y) < LETTER
            for x, y, m in spots
            if m is not mark
        )
        if (
            start >= 0
            and not overlaps_mark
            and all(
                abs(y_pixel - label_y) > LETTER or start + name_width < low or high < start
                for low, high, label_y, _ in labelled
            )
        ):
            labelled.append((start, start + name_width, y_pixel, {**mark, "side": "left" if left else "right"}))
    return [mark for *_, mark in labelled]


def _names_beside(
    marks: Sequence[Mark], front: Sequence[Mark], drawn: Sequence[Mark], log: bool, x: alt.X, y: alt.Y
) -> list[alt.Chart]:
    """Return layers of names left and right of their marks; of ``WIDTHS``, a figure shows the widest that fits."""
    sides: dict[str, dict[str, Any]] = {"left": {"align": "right", "dx": -8}, "right": {"align": "left", "dx": 8}}
    return [
        alt.Chart(as_data(mark for mark in marked if mark["side"] == side))
        .transform_filter(f"{low} <= width && width < {high}")
        .mark_text(dy=-6, limit=NAME, **text_options).encode(x=x, y=y, text="name:N")
        for width, low, high in zip(WIDTHS, (0, *WIDTHS[1:]), (*WIDTHS[1:], 1e6), strict=True)
        for marked in [_labelled_marks(marks, front, drawn, log, width)]
        for side, text_options in sides.items()
    ]  # fmt: skip


def _pareto_front(marks: Sequence[Mark], goal: str) -> list[Mark]:
    """Return the Pareto-optimal marks, cheapest first."""
    sign = 1 if goal == "min" else -1
    front: list[Mark] = []
    for mark in sorted(marks, key=lambda m: (m["cost"], sign * m["value"])):
        if not front or sign * mark["value"] < sign * front[-1]["value"]:
            front.append(mark)
    return front


def _test_set(variant: str) -> int:
    """Return the number of a variant's test set: 2 for ``h=25,test=2``, else 1."""
    match = re.search(TEST_SET, variant)
    return int(match[1]) if match else 1


def _length_of(variant: str) -> tuple[str, float | None]:
    """Return the length in the name of a variant, ``N=500``, or its steps ahead, ``h=25``, with the name of that axis.

    The number is None if there is none, or if another one differs as well, apart from the test set.
    """
    if match := re.fullmatch(r"([NTLh])=(\d+)", re.sub(TEST_SET, "", variant)):
        return "steps ahead" if match[1] == "h" else "length", float(match[2])
    return "", None
