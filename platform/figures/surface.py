"""What two settings did to a search: cells in the colour of the validation metric, hatched where trials diverged."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import altair as alt

from longwave.platform.boards.progress import scored
from longwave.platform.figures.frame import FAINT, Figure, Mark, as_data, frame_chart, number_axis
from longwave.platform.figures.palette import DIVERGED
from longwave.platform.figures.search import SCHEME, spans_decades, trial_settings
from longwave.platform.records.stored import Trial

HEIGHT = 340
FEWEST, MOST = 2, 8
"""Cells along an axis."""
HATCH = (0.4, 0.8, 1.2, 1.6)
"""Where the strokes of a hatched cell cross its diagonal."""


@dataclass(frozen=True)
class Bins:
    """Equal parts of an axis, of its logarithm where numbers span more than a factor of ten."""

    low: float
    high: float
    count: int
    log: bool

    @classmethod
    def of(cls, numbers: Sequence[float], count: int) -> Bins:
        """Return ``count`` parts that hold ``numbers``, one where all are the same."""
        return cls(min(numbers), max(numbers), count if max(numbers) > min(numbers) else 1, spans_decades(numbers))

    def part(self, value: float) -> int:
        """Return the part that holds ``value``, from 0."""
        low, high, at = (math.log(v) if self.log else v for v in (self.low, self.high, value))
        return min(self.count - 1, int((at - low) / ((high - low) or 1.0) * self.count))

    def at(self, position: float) -> float:
        """Return the value at a place in parts: 1.5 is the middle of the second."""
        share = position / self.count
        if self.log:
            return math.exp(math.log(self.low) + share * (math.log(self.high) - math.log(self.low)))
        return self.low + share * (self.high - self.low)


def surface(trials: Sequence[Trial], across: str, up: str, goal: str, metric: str) -> Figure | None:
    """Return two settings of search trials as cells, coloured by the median of the validation metric there.

    A cell in which half of the trials or more diverged is hatched; where all did it has no colour. Each trial is a dot,
    a cross where it diverged. None for fewer than two trials that ended.
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
    made = _layers([*squares.values()], strokes, dots, (across, up), bins, goal, metric)
    return frame_chart(made, f"Validation {metric} over {across} and {up}; hatched: half or more diverged", HEIGHT)


def _layers(
    squares: Sequence[Mark], strokes: Sequence[Mark], dots: Sequence[Mark],
    names: tuple[str, str], bins: Sequence[Bins], goal: str, metric: str,
) -> Any:  # fmt: skip
    of_x, of_y = (number_axis(name, [b.low, b.high], b.log) for name, b in zip(names, bins, strict=True))
    x, y = alt.X("x:Q", **of_x), alt.Y("y:Q", **of_y)
    medians = [mark["valid"] for mark in squares if mark["valid"] is not None]
    scale = alt.Scale(scheme=SCHEME, reverse=goal == "min", type="log" if spans_decades(medians) else "linear")
    tint = alt.Color("valid:Q", scale=scale, legend=alt.Legend(title=f"validation {metric}", orient="right"))
    tip = alt.Tooltip("tip:N", title=" ")
    good, bad = ([dot for dot in dots if dot["lost"] is lost] for lost in (False, True))
    cells = [[mark for mark in squares if (mark["valid"] is None) is empty] for empty in (False, True)]
    return alt.layer(
        alt.Chart(as_data(cells[0])).mark_rect().encode(x=x, x2="x2:Q", y=y, y2="y2:Q", color=tint, tooltip=tip),
        alt.Chart(as_data(cells[1])).mark_rect(color=FAINT, opacity=0.2).encode(
            x=x, x2="x2:Q", y=y, y2="y2:Q", tooltip=tip),
        alt.Chart(as_data(strokes)).mark_rule(color=DIVERGED, strokeWidth=1.5).encode(x=x, x2="x2:Q", y=y, y2="y2:Q"),
        alt.Chart(as_data(good)).mark_point(filled=True, size=28, color="white", stroke="black", strokeWidth=0.75,
                                           opacity=0.9).encode(x=x, y=y, tooltip=tip),
        alt.Chart(as_data(bad)).mark_point(shape="cross", angle=45, size=60, color=DIVERGED).encode(
            x=x, y=y, tooltip=tip),
    )  # fmt: skip


def _draw_square(cell: tuple[int, int], metrics: Sequence[float | None], bins: Sequence[Bins], metric: str) -> Mark:
    """Return a cell: where it is, the median of what ended there, and the share that diverged."""
    ended = [valid for valid in metrics if valid is not None]
    lost = len(metrics) - len(ended)
    valid = median(ended) if ended else None
    middle = f"median validation {metric} {valid:.4g}, " if valid is not None else ""
    (x, x2), (y, y2) = ((b.at(k), b.at(k + 1)) for b, k in zip(bins, cell, strict=True))
    return {
        "x": x, "x2": x2, "y": y, "y2": y2, "valid": valid, "lost": lost / len(metrics),
        "tip": f"{middle}{lost} of {len(metrics)} diverged",
    }  # fmt: skip


def _hatch_strokes(cell: tuple[int, int], bins: Sequence[Bins]) -> Iterator[Mark]:
    """Yield the strokes that hatch a cell."""
    for c in HATCH:
        ends = ((max(0.0, c - 1), min(1.0, c)), (min(1.0, c), max(0.0, c - 1)))
        (x, y), (x2, y2) = ([b.at(k + part) for b, k, part in zip(bins, cell, end, strict=True)] for end in ends)
        yield {"x": x, "y": y, "x2": x2, "y2": y2}
