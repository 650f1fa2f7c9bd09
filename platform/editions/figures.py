"""The figures of an edition: small SVG files for each board, drawn from its rows and their epochs."""

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
"""Maximal bytes of a board's figures together: rows and points are reduced until they fit."""
CURVES = "-curves.svg"
"""Suffix of the file of a board's learning curves."""
WIDTH = 480
"""Width of a figure in pixels, legible on a phone too."""
ROWS = (40, 20, 10, 5, 2, 1)
"""Numbers of rows to try in a figure; the first that fits is used."""
POINTS = (48, 32, 24, 16, 12, 8)
"""Numbers of points to try per learning curve; the first that fits is used."""
EACH, BESIDE = 25_000, 42_000
"""Maximal bytes of each figure except the curves, and of all these figures together."""
LONG = 32
"""Characters of a name for which a figure has room."""
SIZE = re.compile(r'width="(\d+)" height="(\d+)"')

Curves = Mapping[str, Sequence[tuple[int, float]]]
"""Epochs and validation metrics by trial."""


@dataclass(frozen=True)
class Drawing:
    """One figure of one board.

    Attributes:
        file: Its name in the folder.
        svg: Its content.
        title: Its heading.
        note: How to read it.
        views: Name of a row's view in the SVG, by the row's key; empty without views.
    """

    file: str
    svg: str
    title: str
    note: str
    views: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return the data that a page needs; sizes in pixels."""
        width, height = (int(side) for side in SIZE.findall(self.svg)[0])
        fields = {name: getattr(self, name) for name in ("file", "title", "note", "views")}
        return {**fields, "width": width, "height": height}


def epochs(points: Iterable[Point]) -> Curves:
    """Return the validation metric of each epoch by trial, from epochs in order."""
    return points_by_trial((point.trial, point.epoch, point.valid) for point in points)


def drawings(
    number: int, rows: Sequence[Row], of_task: Sequence[Row], seeds: Mapping[str, Sequence[Any]], curves: Curves
) -> list[Drawing]:
    """Return the figures of one board, at most ``MOST`` bytes together.

    Args:
        number: Number of the board, from 1.
        rows: Its rows, in order.
        of_task: Rows of all variants of its task.
        seeds: Retrainings of each row by its key, as an edition has them.
        curves: Epochs of these retrainings.
    """
    shown = [row for row in rows if not row.trivial and not row.superseded]
    trivials = [row for row in rows if row.trivial]
    shown_so_far: list[Drawing] = []
    for kind, title, note, figure in _kinds(shown, trivials, of_task) if shown else ():
        tried = ((n, figure_drawn.svg(WIDTH) if (figure_drawn := figure(n)) else "") for n in ROWS)
        n, svg = next(((n, svg) for n, svg in tried if len(svg.encode()) <= EACH), (0, ""))
        if svg and sum(map(_size, shown_so_far)) + len(svg.encode()) <= BESIDE:
            shown_so_far.append(Drawing(f"board-{number}-{kind}.svg", svg, title, note + _few(n, shown), {}))
    return [*shown_so_far, *_curves(number, shown, trivials, seeds, curves, MOST - sum(map(_size, shown_so_far)))]


def _kinds(
    rows: Sequence[Row], trivials: Sequence[Row], of_task: Sequence[Row]
) -> list[tuple[str, str, str, Callable[[int], Figure | None]]]:
    """Return kind, title, note and drawing function of the first n rows, for each figure except the curves."""
    log, (names, trivial_names) = _logarithmic(rows), (_names(board_rows) for board_rows in (rows, trivials))

    def first(n: int) -> tuple[list[Row], list[str]]:
        return [*rows[:n], *trivials], [*names[:n], *trivial_names]

    return [
        ("medians", "Medians with their intervals", _forest_note(rows, trivials),
         lambda n: forest(*first(n), log)),
        ("parameters", "Score against size", _cost_note(trivials),
         lambda n: against_cost(*first(n), "parameters", log)),
        ("time", "Score against time to train", _cost_note(trivials), lambda n: against_cost(*first(n), "train", log)),
        ("length", "Score against length", "Of each model the row that is best on validation. Dashed: the best trivial"
         " predictor.", lambda _: against_length(of_task, log)),
    ]  # fmt: skip


def _curves(
    number: int,
    rows: Sequence[Row],
    trivials: Sequence[Row],
    seeds: Mapping[str, Sequence[Any]],
    curves: Curves,
    size: int,
) -> list[Drawing]:
    """Return the learning curves of a board in at most ``size`` bytes; none if no epochs are known."""
    lines = {row.key: [_line(seed, curves) for seed in seeds[row.key]] for row in rows}
    with_curves = [row for row in rows if any(line.points for line in lines[row.key])]
    if not with_curves:
        return []
    parts = [Panel(escape_invisible(row.label), family_colour(row.family), lines[row.key]) for row in with_curves]
    metric, log = measured(rows[0]), _logarithmic(rows)
    limit = next((row.mean for row in trivials), None)
    tried = ((n, draw_panels(parts[:n], f"validation {metric}", log, limit, points)) for n in ROWS for points in POINTS)
    n, svg = next(((n, svg) for n, svg in tried if len(svg.encode()) <= size), (0, ""))
    if not n:  # too many retrainings for a figure
        return []
    note = (
        f"Validation {metric}, one line per retraining: a dot at its best epoch, a cross where it diverged or failed."
        f"{' Dashed: the test score of the best trivial predictor.' * (limit is not None)}"
    )
    views = {row.key: f"p{k}" for k, row in enumerate(with_curves[:n])}
    return [Drawing(f"board-{number}{CURVES}", svg, "Learning curves", note + _few(n, with_curves), views)]


def _line(seed: Mapping[str, Any], curves: Curves) -> CurveLine:
    ended = seed["best_epoch"] if seed["status"] == "ok" else None
    return CurveLine(curves.get(seed["trial"], ()), ended, seed["status"] in ("diverged", "failed"))


def _logarithmic(rows: Sequence[Row]) -> bool:
    """Return whether a board's axis is logarithmic, as it is for errors."""
    return rows[0].goal == "min"


def _names(rows: Sequence[Row]) -> list[str]:
    """Return a label per row; long ones are truncated, and made unique by the row's position."""
    names = [escape_invisible(row.label) for row in rows]
    return [name if len(name) <= LONG else f"{name[: LONG - 6]}… {k}" for k, name in enumerate(names, 1)]


def _few(n: int, rows: Sequence[Row]) -> str:
    return f" The first {n} of {len(rows)} rows." if n < len(rows) else ""


def _size(drawing: Drawing) -> int:
    return len(drawing.svg.encode())


def _forest_note(rows: Sequence[Row], trivials: Sequence[Row]) -> str:
    """Return how to read the forest plot, with the name of the best trivial predictor."""
    sentences = ["A dot is a median with its interval, a dash a retraining."]
    if any(row.published for row in rows):
        sentences.append("Hollow diamonds are published numbers.")
    if any(row.provisional for row in rows):
        sentences.append("Pale rows are provisional.")
    return " ".join([*sentences, *_limit(trivials)])


def _cost_note(trivials: Sequence[Row]) -> str:
    return " ".join(
        ["The stepped line joins the rows to which no other row is both cheaper and better.", *_limit(trivials)]
    )


def _limit(trivials: Sequence[Row]) -> list[str]:
    """Return the meaning of the dashed line, if there is one."""
    return [f"Dashed: the best trivial predictor, {row.title}, {plain(row.mean)}." for row in trivials[:1]]
