"""Learning curves of a whole board in one compact SVG: a small panel per row, all with the same axes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from longwave.platform.boards.numbers import MINUS
from longwave.platform.boards.texts import plain
from longwave.platform.figures.frame import FONT, list_names, thin_points
from longwave.platform.figures.palette import NEUTRAL
from longwave.platform.figures.svg import THEME, escape_text

PAIR = tuple[int, float]
"""An epoch and its metric."""
ACROSS = 2
"""Panels side by side."""
WIDTH, HEIGHT = 240, 130
"""Size of a panel in pixels; the SVG views ``p0``, ``p1``, … show single panels."""
LEFT, TOP, PLOT, DEEP = 56, 22, 174, 86
"""Position and size of the plot in a panel, in pixels."""
REACH = 10
"""A logarithmic axis ends at this multiple of the worst of the lines' best values, or at the best trivial predictor."""
SMALL, LARGE = 0.01, 1e5
"""Ends of an axis outside of these are written with an exponent: else they would not fit left of the plot."""
TITLE = 30
"""Maximal characters of a title; longer ones are truncated with dots."""


@dataclass(frozen=True)
class CurveLine:
    """One retraining: its metric by epoch, its best epoch if it ended ok, and whether it broke."""

    points: Sequence[PAIR]
    best: int | None = None
    broken: bool = False


@dataclass(frozen=True)
class Panel:
    """One row: its title, its colour and its retrainings."""

    title: str
    colour: str
    lines: Sequence[CurveLine]


@dataclass(frozen=True)
class _Scale:
    """Axes of all panels: last epoch, smallest and largest metric, and whether larger metrics are clipped."""

    last: int
    low: float
    high: float
    log: bool
    cut: bool

    @classmethod
    def of(cls, lines: Sequence[CurveLine], log: bool, limit: float | None) -> _Scale:
        """Return the axes that show all points, except errors above ``limit`` and far above the best of every line."""
        shown = [_points_shown(line, log) for line in lines]
        numbers = [value for points in shown for _, value in points] or [1.0]
        last = max((epoch for points in shown for epoch, _ in points), default=1)
        worst = max((min(value for _, value in points) for points in shown if points), default=1.0)
        high = min(max(numbers), max(REACH * worst, limit or 0.0)) if log else max(numbers)
        return cls(last, min(numbers), high, log, cut=high < max(numbers))

    def at(self, epoch: int, value: float) -> tuple[int, int]:
        """Return the position of a point in a plot, in half pixels from its upper left corner."""
        low, high, shown = (math.log(v) if self.log else v for v in (self.low, self.high, min(value, self.high)))
        x_share = (epoch - 1) / (self.last - 1) if self.last > 1 else 0.5
        y_share = (shown - low) / (high - low) if high > low else 0.5
        return round(2 * PLOT * x_share), round(2 * DEEP * (1 - y_share))


def draw_panels(panels: Sequence[Panel], metric: str, log: bool, limit: float | None = None, points: int = 64) -> str:
    """Return learning curves as SVG, one panel per row: a dot marks a best epoch, a cross where a retraining broke off.

    Args:
        panels: Rows in order; one without a finite metric has an empty panel.
        metric: What the curves show, with its direction and unit.
        log: Whether the y axis is logarithmic, as for errors; values that are not positive are then left out. Values
            above ``limit`` and ``REACH`` times the worst of the lines' best values are drawn at the upper edge,
            labelled ≥.
        limit: Value of the best trivial predictor, a dashed line; left out if outside the axis.
        points: Maximal points of a line, besides its best epoch.
    """
    scale = _Scale.of([line for panel in panels for line in panel.lines], log, limit)
    panel_rows = math.ceil(len(panels) / ACROSS)
    size = (
        f'width="{ACROSS * WIDTH}" height="{panel_rows * HEIGHT}" viewBox="0 0 {ACROSS * WIDTH} {panel_rows * HEIGHT}"'
    )
    summary = (
        f"{metric[:1].upper()}{metric[1:]} by epoch, one panel a row: {list_names([panel.title for panel in panels])}"
    )
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape_text(summary)}" {size}'
    style = f'font-family="{FONT}" font-size="11" fill="none" stroke-width="2.5" stroke-linejoin="round"'
    parts = [_draw_panel(k, panel, scale, points) for k, panel in enumerate(panels)]
    return f"{opening} {style}>{THEME}<defs>{_draw_axes(scale, limit)}</defs>{''.join(parts)}</svg>"


def _draw_axes(scale: _Scale, limit: float | None) -> str:
    """Return the content of every panel: the frame, the ends of both axes, and the limit."""
    right, bottom = LEFT + PLOT, TOP + DEEP
    ends = ((LEFT - 4, TOP + 8, "end", "≥ " * scale.cut + _short(scale.high)),
            (LEFT - 4, bottom, "end", _short(scale.low)),
            (LEFT, bottom + 13, "start", "1"), (right, bottom + 13, "end", plain(scale.last)),
            (LEFT + PLOT // 2, bottom + 13, "middle", "epoch"))  # fmt: skip
    texts = "".join(f'<text x="{x}" y="{y}" text-anchor="{side}">{text}</text>' for x, y, side, text in ends)
    line = ""
    if limit is not None and scale.low <= limit <= scale.high and (limit > 0 or not scale.log):
        y = TOP + scale.at(1, limit)[1] / 2
        line = f'<path d="M{LEFT},{y}H{right}" stroke="{NEUTRAL}" stroke-width="1.5" stroke-dasharray="5 4"/>'
    frame = f'<path d="M{LEFT},{TOP}V{bottom}H{right}" stroke="{NEUTRAL}" stroke-width="1"/>'
    return f'<g id="a"><g fill="currentColor">{texts}</g>{frame}{line}</g>'


def _short(value: float) -> str:
    """Return a number in at most seven characters: ``93.4``, ``5.9e−4``."""
    if not value or SMALL <= abs(value) < LARGE:
        return plain(float(f"{value:.3g}"))
    digits, _, exponent = f"{value:.1e}".partition("e")
    return f"{digits.removesuffix('.0')}e{int(exponent)}".translate(MINUS)


def _draw_panel(k: int, panel: Panel, scale: _Scale, limit: int) -> str:
    """Return one panel with its view."""
    x, y = k % ACROSS * WIDTH, k // ACROSS * HEIGHT
    title = panel.title if len(panel.title) <= TITLE else f"{panel.title[: TITLE - 1]}…"
    lines, dots = (
        "".join(paths)
        for paths in zip(*(_draw_line(line, scale, limit) for line in panel.lines), ("", ""), strict=True)
    )
    curves = f'<path d="{lines}"/><path d="{dots}" stroke-width="9" stroke-linecap="round"/>' if lines else ""
    return (
        f'<view id="p{k}" viewBox="{x} {y} {WIDTH} {HEIGHT}"/><g transform="translate({x},{y})"><use href="#a"/>'
        f'<text x="{LEFT}" y="14" font-weight="600" fill="currentColor">{escape_text(title)}</text>'
        f'<g transform="translate({LEFT},{TOP})scale(.5)" stroke="{panel.colour}">{curves}</g></g>'
    )


def _draw_line(line: CurveLine, scale: _Scale, limit: int) -> tuple[str, str]:
    """Return a retraining's line, with a cross if it broke off, and the dot at its best epoch."""
    shown = _points_shown(line, scale.log)
    best = next((k for k, (epoch, _) in enumerate(shown) if epoch == line.best), None)
    points = [scale.at(*shown[k]) for k in thin_points(len(shown), limit, () if best is None else (best,))]
    if not points:
        return "", ""
    steps = " ".join(f"{x - a},{y - b}" for (a, b), (x, y) in pairwise(points))
    path = f"M{points[0][0]},{points[0][1]}" + (f"l{steps}" if steps else "h0")
    if best is not None:
        x, y = scale.at(*shown[best])
        return path, f"M{x},{y}h0"
    return path + ("m-6,-6l12,12m0,-12l-12,12" if line.broken else ""), ""


def _points_shown(line: CurveLine, log: bool) -> list[PAIR]:
    """Return the points of a line that the axes can show."""
    return [(epoch, value) for epoch, value in line.points if math.isfinite(value) and (value > 0 or not log)]


def points_by_trial(points: Iterable[tuple[str, int, float]]) -> dict[str, list[PAIR]]:
    """Return epochs and metrics by trial, from (trial, epoch, metric) in order."""
    by_trial: dict[str, list[PAIR]] = {}
    for trial, epoch, value in points:
        by_trial.setdefault(trial, []).append((epoch, value))
    return by_trial
