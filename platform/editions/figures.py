"""The figures of an edition: for each board some small SVG files, as they follow from its rows and their epochs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import measured, plain
from longwave.platform.figures.forest import forest
from longwave.platform.figures.frame import Figure
from longwave.platform.figures.palette import family_colour
from longwave.platform.figures.panels import CurveLine, Panel, draw_panels, points_by_trial
from longwave.platform.figures.scatter import against_cost, against_length
from longwave.platform.records.run import Point
from longwave.platform.render.harmless import escape_invisible

MOST = 60_000
"""Bytes of a board's figures together: they are drawn with fewer rows and points until they keep to it."""
CURVES = "-curves.svg"
"""How the name of a board's learning curves ends."""
WIDTH = 480
"""Pixels of a figure, so that its letters can be read on a phone, too."""
ROWS = (40, 20, 10, 5, 2, 1)
"""Rows that a figure shows, as many as fit."""
POINTS = (48, 32, 24, 16, 12, 8)
"""Points that a line of a learning curve keeps, as many as fit."""
EACH, BESIDE = 25_000, 42_000
"""Bytes that any figure but the curves may take, and all of these together."""
LONG = 32
"""Letters that a figure has room for in a name."""
SIZE = re.compile(r'width="(\d+)" height="(\d+)"')

Curves = Mapping[str, Sequence[tuple[int, float]]]
"""Epochs and validation metrics by trial."""


@dataclass(frozen=True)
class Drawing:
    """One figure of one board.

    Attributes:
        file: Its name in the folder.
        svg: Its content.
        title: What it shows, as a heading.
        note: How it is read.
        views: Name of the view of a row in it by the row's key; empty where it has none.
    """

    file: str
    svg: str
    title: str
    note: str
    views: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return what a page says of it; sizes in pixels."""
        width, height = (int(side) for side in SIZE.findall(self.svg)[0])
        same = {name: getattr(self, name) for name in ("file", "title", "note", "views")}
        return {**same, "width": width, "height": height}


def epochs(points: Iterable[Point]) -> Curves:
    """Return the validation metric by trial, given its epochs in order."""
    return points_by_trial((point.trial, point.epoch, point.valid) for point in points)


def drawings(
    number: int, rows: Sequence[Row], of_task: Sequence[Row], seeds: Mapping[str, Sequence[Any]], curves: Curves
) -> list[Drawing]:
    """Return the figures of one board, ``MOST`` bytes together.

    Args:
        number: Its number, from 1.
        rows: Its rows, in order.
        of_task: Rows of all variants of its task.
        seeds: Retrainings of each row by its key, as an edition has them.
        curves: Epochs of these retrainings.
    """
    shown = [row for row in rows if not row.trivial and not row.superseded]
    simple = [row for row in rows if row.trivial]
    shown_so_far: list[Drawing] = []
    for kind, title, note, figure in _kinds(shown, simple, of_task) if shown else ():
        tried = ((n, drawn.svg(WIDTH) if (drawn := figure(n)) else "") for n in ROWS)
        n, svg = next(((n, svg) for n, svg in tried if len(svg.encode()) <= EACH), (0, ""))
        if svg and sum(map(_size, shown_so_far)) + len(svg.encode()) <= BESIDE:
            shown_so_far.append(Drawing(f"board-{number}-{kind}.svg", svg, title, note + _few(n, shown), {}))
    return [*shown_so_far, *_curves(number, shown, simple, seeds, curves, MOST - sum(map(_size, shown_so_far)))]


def _kinds(
    rows: Sequence[Row], simple: Sequence[Row], of_task: Sequence[Row]
) -> list[tuple[str, str, str, Callable[[int], Figure | None]]]:
    """Return kind, title, note and what draws the first n rows, of each figure but the curves."""
    log, (names, theirs) = _logarithmic(rows), (_names(some) for some in (rows, simple))

    def of(n: int) -> tuple[list[Row], list[str]]:
        return [*rows[:n], *simple], [*names[:n], *theirs]

    return [
        ("medians", "Medians with their intervals", _forest_note(rows, simple), lambda n: forest(*of(n), log)),
        ("parameters", "Score against size", _cost_note(simple), lambda n: against_cost(*of(n), "parameters", log)),
        ("time", "Score against time to train", _cost_note(simple), lambda n: against_cost(*of(n), "train", log)),
        ("length", "Score against length", "Of each model the row that is best on validation. Dashed: the best trivial"
         " predictor.", lambda _: against_length(of_task, log)),
    ]  # fmt: skip


def _curves(
    number: int,
    rows: Sequence[Row],
    simple: Sequence[Row],
    seeds: Mapping[str, Sequence[Any]],
    curves: Curves,
    size: int,
) -> list[Drawing]:
    """Return the learning curves of a board in at most ``size`` bytes; none where no epoch is known."""
    lines = {row.key: [_line(seed, curves) for seed in seeds[row.key]] for row in rows}
    known = [row for row in rows if any(line.points for line in lines[row.key])]
    if not known:
        return []
    parts = [Panel(escape_invisible(row.label), family_colour(row.family), lines[row.key]) for row in known]
    metric, log = f"validation {measured(rows[0])}", _logarithmic(rows)
    limit = next((row.mean for row in simple), None)
    tried = ((n, draw_panels(parts[:n], metric, log, limit, points)) for n in ROWS for points in POINTS)
    n, svg = next((n, svg) for n, svg in tried if len(svg.encode()) <= size)
    note = f"{metric.capitalize()}, a line a retraining: a dot marks its best epoch, a cross where it broke."
    views = {row.key: f"p{k}" for k, row in enumerate(known[:n])}
    return [Drawing(f"board-{number}{CURVES}", svg, "Learning curves", note + _few(n, known), views)]


def _line(seed: Mapping[str, Any], curves: Curves) -> CurveLine:
    ended = seed["best_epoch"] if seed["status"] == "ok" else None
    return CurveLine(curves.get(seed["trial"], ()), ended, seed["status"] in ("diverged", "failed"))


def _logarithmic(rows: Sequence[Row]) -> bool:
    """Return whether a board's numbers stand on a logarithmic axis: those of errors do."""
    return rows[0].goal == "min"


def _names(rows: Sequence[Row]) -> list[str]:
    """Return a label a row; of a long one the beginning and the row's place, which no other has."""
    names = [escape_invisible(row.label) for row in rows]
    return [name if len(name) <= LONG else f"{name[: LONG - 6]}… {k}" for k, name in enumerate(names, 1)]


def _few(n: int, rows: Sequence[Row]) -> str:
    return f" The first {n} of {len(rows)} rows." if n < len(rows) else ""


def _size(one: Drawing) -> int:
    return len(one.svg.encode())


def _forest_note(rows: Sequence[Row], simple: Sequence[Row]) -> str:
    """Return how the forest plot is read, naming the line of the best trivial predictor."""
    sentences = ["A dot is a median with its interval, a dash a retraining."]
    if any(row.published for row in rows):
        sentences.append("Hollow diamonds are published numbers.")
    if any(row.provisional for row in rows):
        sentences.append("Pale rows are provisional.")
    return " ".join([*sentences, *_limit(simple)])


def _cost_note(simple: Sequence[Row]) -> str:
    return " ".join(["The step joins rows that none is both cheaper and better than.", *_limit(simple)])


def _limit(simple: Sequence[Row]) -> list[str]:
    """Return what the dashed line is, if there is one."""
    return [f"Dashed: the best trivial predictor, {row.title}, {plain(row.mean)}." for row in simple[:1]]
