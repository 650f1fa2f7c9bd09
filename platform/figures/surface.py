"""The validation metric of a search over two settings, as coloured cells, hatched where trials diverged."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import altair as alt

from longwave.platform.boards.progress import scored
from longwave.platform.figures.frame import (
    FAINT,
    Figure,
    Mark,
    as_data,
    ends_without_outliers,
    frame_chart,
    number_axis,
)
from longwave.platform.figures.palette import DIVERGED
from longwave.platform.figures.search import SCHEME, spans_decades, trial_settings
from longwave.platform.records.stored import Trial

HEIGHT = 340
FEWEST, MOST = 2, 8
"""Fewest and most cells along an axis."""
HATCH = (0.4, 0.8, 1.2, 1.6)
"""Positions of hatching strokes along the diagonal of a cell."""


@dataclass(frozen=True)
class Bins:
    """Equal bins of an axis, on a logarithmic scale if numbers span more than a factor of ten."""

    low: float
    high: float
    count: int
    log: bool

    @classmethod
    def of(cls, numbers: Sequence[float], count: int) -> Bins:
        """Return ``count`` bins that contain ``numbers``, or one around them if all are equal."""
        low, high = min(numbers), max(numbers)
        if low == high:
            half = abs(low) / 2 or 0.5
            return cls(low - half, high + half, 1, log=False)
        return cls(low, high, count, spans_decades(numbers))

    def part(self, value: float) -> int:
        """Return the index of the bin of ``value``, from 0."""
        low, high, position = (math.log(v) if self.log else v for v in (self.low, self.high, value))
        return min(self.count - 1, int((position - low) / ((high - low) or 1.0) * self.count))

    def at(self, position: float) -> float:
        """Return the value at a position in units of bins: 1.5 is the middle of the second bin."""
        share = position / self.count
        if self.log:
            return math.exp(math.log(self.low) + share * (math.log(self.high) - math.log(self.low)))
        return self.low + share * (self.high - self.low)


def surface(trials: Sequence[Trial], across: str, up: str, goal: str, metric: str) -> Figure | None:
    """Return cells of two settings of search trials, coloured by the median validation metric. Cells in which half of
    the trials or more diverged are hatched; if all did, they have no colour. Each trial is a dot, or a cross if it
    diverged. None for fewer than two ended trials.
    """
    ended = [
        t for t in trials if t.run and t.status != "failed" and across in trial_settings(t) and up in trial_settings(t)
    ]
    if len(ended) < 2:
        return None
    points = [(trial_settings(t)[across], trial_settings(t)[up], scored(t), t) for t in ended]
    count = min(MOST, max(FEWEST, round(math.sqrt(len(points)))))
    bins = [Bins.of(numbers, count) for numbers in ([x for x, *_ in points], [y for _, y, *_ in points])]
    cells: dict[tuple[int, int], list[float | None]] = {}
    for x, y, valid, _ in points:
        cells.setdefault((bins[0].part(x), bins[1].part(y)), []).append(valid)
    squares = {cell: _draw_square(cell, numbers, bins, metric) for cell, numbers in cells.items()}
    strokes = [stroke for cell, mark in squares.items() if mark["lost"] >= 0.5 for stroke in _hatch_strokes(cell, bins)]
    dots: list[Mark] = [
        {"x": x, "y": y, "lost": valid is None,
         "tip": f"trial {t.config.id[:8]}: {across} {x:.4g}, {up} {y:.4g}, "
                + (t.status if valid is None else f"validation {metric} {valid:.4g}")}
        for x, y, valid, t in points
    ]  # fmt: skip
    chart = _layers([*squares.values()], strokes, dots, (across, up), bins, goal, metric)
    return frame_chart(chart, f"Validation {metric} over {across} and {up}; hatched: half or more diverged", HEIGHT)


def _layers(
    squares: Sequence[Mark], strokes: Sequence[Mark], dots: Sequence[Mark],
    names: tuple[str, str], bins: Sequence[Bins], goal: str, metric: str,
) -> Any:  # fmt: skip
    x_axis, y_axis = (number_axis(name, [b.low, b.high], b.log) for name, b in zip(names, bins, strict=True))
    x, y = alt.X("x:Q", **x_axis), alt.Y("y:Q", **y_axis)
    medians = [mark["valid"] for mark in squares if mark["valid"] is not None]
    reach: dict[str, Any] = {"type": "linear"}
    if spans_decades(medians):
        reach = {"type": "log", "domain": ends_without_outliers(medians, goal), "clamp": True, "nice": False}
    scale = alt.Scale(scheme=SCHEME, reverse=goal == "min", **reach)
    colour = alt.Color("valid:Q", scale=scale, legend=alt.Legend(title=f"validation {metric}", orient="right"))
    tip = alt.Tooltip("tip:N", title=" ")
    good, bad = ([dot for dot in dots if dot["lost"] is is_diverged] for is_diverged in (False, True))
    cells = [
        [mark for mark in squares if (mark["valid"] is None) is without_median] for without_median in (False, True)
    ]
    return alt.layer(
        alt.Chart(as_data(cells[0])).mark_rect().encode(x=x, x2="x2:Q", y=y, y2="y2:Q", color=colour, tooltip=tip),
        alt.Chart(as_data(cells[1])).mark_rect(color=FAINT, opacity=0.2).encode(
            x=x, x2="x2:Q", y=y, y2="y2:Q", tooltip=tip),
        alt.Chart(as_data(strokes)).mark_rule(color=DIVERGED, strokeWidth=1.5).encode(x=x, x2="x2:Q", y=y, y2="y2:Q"),
        alt.Chart(as_data(good)).mark_point(filled=True, size=28, color="white", stroke="black", strokeWidth=0.75,
                                           opacity=0.9).encode(x=x, y=y, tooltip=tip),
        alt.Chart(as_data(bad)).mark_point(shape="cross", angle=45, size=60, color=DIVERGED).encode(
            x=x, y=y, tooltip=tip),
    )  # fmt: skip


def _draw_square(cell: tuple[int, int], metrics: Sequence[float | None], bins: Sequence[Bins], metric: str) -> Mark:
    """Return a cell: its position, the median of its ended trials, and the share that diverged."""
    ended = [valid for valid in metrics if valid is not None]
    diverged = len(metrics) - len(ended)
    valid = median(ended) if ended else None
    middle = f"median validation {metric} {valid:.4g}, " if valid is not None else ""
    (x, x2), (y, y2) = ((b.at(k), b.at(k + 1)) for b, k in zip(bins, cell, strict=True))
    return {
        "x": x, "x2": x2, "y": y, "y2": y2, "valid": valid, "lost": diverged / len(metrics),
        "tip": f"{middle}{diverged} of {len(metrics)} diverged",
    }  # fmt: skip


def _hatch_strokes(cell: tuple[int, int], bins: Sequence[Bins]) -> Iterator[Mark]:
    """Yield the strokes that hatch a cell."""
    for c in HATCH:
        ends = ((max(0.0, c - 1), min(1.0, c)), (min(1.0, c), max(0.0, c - 1)))
        (x, y), (x2, y2) = ([b.at(k + part) for b, k, part in zip(bins, cell, end, strict=True)] for end in ends)
        yield {"x": x, "y": y, "x2": x2, "y2": y2}
