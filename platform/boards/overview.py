"""All boards at a glance: models by tasks, one score and one mean rank a model."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, TypeVar

from longwave.platform.boards.row import Row, named
from longwave.platform.statistics.overall import TaskScores, mean_ranks, overall_scores, task_ranks
from longwave.platform.statistics.stats import Estimate, direction
from longwave.platform.statistics.verdict import ENOUGH

OF_CELL = ("median", "median_best", "median_worst", "median_level", "mean", "std", "n", "diverged")
"""What a record of the overview has of each task, by the keys of ``columns.py``; beside it ``row`` and ``state``."""

Where = TypeVar("Where")


@dataclass(frozen=True)
class ModelLine:
    """One model over all tasks.

    Attributes:
        model, title: Registry key and name in print.
        cells: Its row best on validation for each of the overview's tasks; None where it was never run.
        score: Mean over tasks of its gain, with its 95 % interval from ``FEWEST_TASKS`` on; None where ``why`` says
            so, where a task has no trivial predictor, and where no task measures a gain.
        rank: Mean rank over tasks of its median among the models with a rank, with the lowest and highest that the
            tests allow.
        medians: Its median on each task as a gain (``TaskScores.gains``), 0 where that diverged.
        ranks: Rank of its median on each task.
        why: Why it has neither score nor rank: ``1 of 2 tasks``; empty where it has.
    """

    model: str
    title: str
    cells: Sequence[Row | None]
    score: Estimate | None = None
    rank: Estimate | None = None
    medians: Sequence[float] = ()
    ranks: Sequence[float] = ()
    why: str = ""

    @property
    def ran(self) -> int:
        """Tasks with a result: a seed ended there, ok or diverged."""
        return sum(cell is not None and cell.seed_count > 0 for cell in self.cells)

    def to_dict(self) -> dict[str, Any]:
        """Return one record: score and mean rank with their ends, or why there are none."""
        fields: dict[str, Any] = {"model": self.model, "title": self.title, "why": self.why}
        for name, value in (("score", self.score), ("mean_rank", self.rank)):
            ends = (value.value, value.low, value.high) if value else (None, None, None)
            fields |= dict(zip((name, f"{name}_low", f"{name}_high"), ends, strict=True))
        return fields


@dataclass(frozen=True)
class Overview:
    """Models by tasks; ``tasks`` holds (task, variant) for each cell of a line, ``lines`` are best first."""

    tasks: Sequence[tuple[str, str]]
    lines: Sequence[ModelLine]

    def to_dict(self) -> list[dict[str, Any]]:
        """Return one record a model: see ``ModelLine.to_dict``; a task's keys begin with its name."""
        return [{**line.to_dict(), **self._cells(line)} for line in self.lines]

    def _cells(self, line: ModelLine) -> dict[str, Any]:
        cells: dict[str, Any] = {}
        for place, cell in zip(self.tasks, line.cells, strict=True):
            for name in OF_CELL:
                cells[f"{named(place)} {name}"] = getattr(cell, name) if cell else None
            cells[f"{named(place)} row"] = cell.config if cell else ""
            cells[f"{named(place)} state"] = state(cell)
        return cells


def overviews(rows: Sequence[Row]) -> list[Overview]:
    """Return an overview of each set of boards that share models, of most boards first; one at least.

    A model of sequences is run on no graph: over the boards of both no model would have a score or a rank.
    """
    models: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        if row.kind != "trivial" and row.current:
            models.setdefault((row.task, row.variant), set()).add(row.model)
    return [overview(row for row in rows if (row.task, row.variant) in some) for some in sharing(models) or [[]]]


def sharing(models: Mapping[Where, Collection[str]]) -> list[list[Where]]:
    """Return places, given their models, in groups, the largest first; the order is kept otherwise.

    Two places are in one group if they have a model in common, or each has one in common with others of the group.
    """
    groups: list[list[Where]] = []
    for place, mine in models.items():
        near = [group for group in groups if any(not {*mine}.isdisjoint(models[other]) for other in group)]
        groups = [*(group for group in groups if group not in near), [*chain(*near), place]]
    return sorted(([place for place in models if place in group] for group in groups), key=len, reverse=True)


def overview(rows: Iterable[Row]) -> Overview:
    """Return the overview of the boards of several tasks; every task weighs the same.

    Scores and mean ranks are those of models with ``ENOUGH`` seeds on every task, among each other alone, and there
    must be two: a model that is absent from the hard tasks must not lead. Without a trivial predictor on every task
    there are mean ranks alone. Superseded rows are left out; of a model with no other row, untrusted ones are shown.
    """
    ours: dict[str, dict[tuple[str, str], list[Row]]] = {}
    trivial: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        place = (row.task, row.variant)
        if row.kind == "trivial":
            trivial.setdefault(place, []).append(row)
        elif row.current:
            ours.setdefault(row.model, {}).setdefault(place, []).append(row)
    tasks = sorted({place for theirs in ours.values() for place in theirs})
    lines = []
    for model, theirs in ours.items():
        cells = [best_on_validation(theirs[place]) if place in theirs else None for place in tasks]
        title = next(cell.title for cell in cells if cell).partition(" (")[0]
        lines.append(ModelLine(model, title, cells))
    lines = [replace(line, why=_lacks(line, tasks)) for line in lines]
    full = [line for line in lines if not line.why]
    part = [line for line in lines if line.why]
    if len(full) == 1:
        full, part = [], [*part, replace(full[0], why="no other model has")]
    scored = _scored(full, [trivial.get(place, []) for place in tasks])
    scored.sort(
        key=lambda line: (-line.score.value if line.score else 0.0, line.rank.value if line.rank else 0.0, line.model)
    )
    return Overview(tasks, scored + sorted(part, key=lambda line: (-line.ran, line.model)))


def _lacks(line: ModelLine, tasks: Sequence[tuple[str, str]]) -> str:
    """Return why a line has no score and no rank by itself: not every task, untrusted on one, or too few seeds."""
    if line.ran < len(tasks):
        return f"{line.ran} of {len(tasks)} tasks"
    if untrusted := [named(place) for cell, place in zip(line.cells, tasks, strict=True) if cell and cell.untrusted]:
        return f"untrusted on {untrusted[0]}"
    seeds, place = min((cell.seed_count, place) for cell, place in zip(line.cells, tasks, strict=True) if cell)
    return f"{seeds} of {ENOUGH} seeds on {named(place)}" if seeds < ENOUGH else ""


def best_on_validation(rows: Sequence[Row]) -> Row:
    """Return a model's row that is best on validation; untrusted ones come last, tests are not looked at."""
    sign = direction(rows[0].goal)
    return min(rows, key=lambda row: (row.untrusted, row.valid is None, -sign * (row.valid or 0.0), row.config))


def state(cell: Row | None) -> str:
    """Return ``ok``, ``diverged``, ``failed``, ``missing`` (asked for, not ended), or ``not run``."""
    return cell.state if cell else "not run"


def _scored(lines: Sequence[ModelLine], trivial: Sequence[Sequence[Row]]) -> list[ModelLine]:
    """Return lines with enough seeds on all tasks with their scores and mean ranks."""
    if not lines:
        return []
    boards = [[cell for cell in column if cell] for column in zip(*(line.cells for line in lines), strict=True)]
    tasks = [
        TaskScores(cells[0].place, [cell.seeds for cell in cells], cells[0].scale, _zero(cells, predictors))
        for cells, predictors in zip(boards, trivial, strict=True)
    ]
    medians = [task.gains([cell.median for cell in cells]) for task, cells in zip(tasks, boards, strict=True)]
    ranks = [task_ranks(task.rows, task.scale) for task in tasks]
    means = mean_ranks([task.rows for task in tasks], [task.scale for task in tasks])
    scores = overall_scores(tasks).scores if all(trivial) else []
    return [
        replace(
            line,
            score=scores[k] if scores else None,
            rank=means[k],
            medians=[gains[k] for gains in medians],
            ranks=[rank[k] for rank in ranks],
        )
        for k, line in enumerate(lines)
    ]


def _zero(cells: Sequence[Row], predictors: Sequence[Row]) -> float:
    """Return the value of the best trivial predictor of a task, of its worst seed where it has none."""
    sign = direction(cells[0].goal)
    if predictors:
        return sign * max(sign * (row.mean or 0.0) for row in predictors)
    return sign * min((sign * score for cell in cells for score in cell.scores), default=0.0)
