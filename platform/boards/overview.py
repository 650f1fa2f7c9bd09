"""All boards at a glance: models by tasks, one score and one mean rank a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from longwave.platform.boards.row import Row, named
from longwave.platform.statistics.overall import mean_ranks, normalised, oriented, overall_score, task_ranks
from longwave.platform.statistics.stats import Estimate, direction


@dataclass(frozen=True)
class ModelLine:
    """One model over all tasks.

    Attributes:
        model, title: Registry key and name in print.
        cells: Its row best on validation for each of the overview's tasks; None where it was never run.
        score: Mean over tasks of the normalised score, with its 95 % interval; None unless it ran on all.
        rank: Mean rank over tasks among the models that ran on all, with the lowest and highest the tests allow.
        scores: Normalised scores of its seeds on each task, as in ``overall.normalised``; none unless it ran on all.
        ranks: Rank of its mean on each task among the models that ran on all; none unless it ran on all.
    """

    model: str
    title: str
    cells: Sequence[Row | None]
    score: Estimate | None = None
    rank: Estimate | None = None
    scores: Sequence[Sequence[float]] = ()
    ranks: Sequence[float] = ()

    @property
    def ran(self) -> int:
        """Tasks with a result: a mean, or none because all retrainings diverged."""
        return sum(_ran(cell) for cell in self.cells)

    def to_dict(self) -> dict[str, Any]:
        """Return one record: score and mean rank with their ends, then each task's mean, std, n and state."""
        found: dict[str, Any] = {"model": self.model, "title": self.title}
        for name, value in (("score", self.score), ("mean_rank", self.rank)):
            ends = (value.value, value.low, value.high) if value else (None, None, None)
            found |= dict(zip((name, f"{name}_low", f"{name}_high"), ends, strict=True))
        return found


@dataclass(frozen=True)
class Overview:
    """Models by tasks; ``tasks`` holds (task, variant) for each cell of a line, ``lines`` are best first."""

    tasks: Sequence[tuple[str, str]]
    lines: Sequence[ModelLine]

    def to_dict(self) -> list[dict[str, Any]]:
        """Return one record a model: see ``ModelLine.to_dict``; a task's keys begin with its name."""
        return [{**line.to_dict(), **self._cells(line)} for line in self.lines]

    def _cells(self, line: ModelLine) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for place, cell in zip(self.tasks, line.cells, strict=True):
            values = (cell.mean, cell.std, cell.n, cell.config) if cell else (None, None, 0, "")
            names = (f"{named(place)} {what}" for what in ("mean", "std", "n", "row", "state"))
            found |= dict(zip(names, (*values, state(cell)), strict=True))
        return found


def overview(rows: Iterable[Row]) -> Overview:
    """Return the overview of the boards of several tasks; every task weighs the same.

    Scores and mean ranks are those of models that ran on every task, among each other alone: a model that is absent
    from the hard tasks must not lead. Without a trivial predictor on every task there are mean ranks alone. Superseded
    rows are left out.
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
    full = [line for line in lines if line.ran == len(tasks)]
    part = [line for line in lines if line.ran < len(tasks)]
    scored = _scored(full, [trivial.get(place, []) for place in tasks])
    scored.sort(
        key=lambda line: (-line.score.value if line.score else 0.0, line.rank.value if line.rank else 0.0, line.model)
    )
    return Overview(tasks, scored + sorted(part, key=lambda line: (-line.ran, line.model)))


def best_on_validation(rows: Sequence[Row]) -> Row:
    """Return the row of one model and task that is best on validation data; test metrics are not looked at."""
    sign = direction(rows[0].goal)
    return min(rows, key=lambda row: (row.valid is None, -sign * (row.valid or 0.0), row.config))


def state(cell: Row | None) -> str:
    """Return ``ok``, ``diverged``, ``failed``, ``missing`` (asked for, not ended), or ``not run``."""
    return cell.state if cell else "not run"


def _ran(cell: Row | None) -> bool:
    return cell is not None and cell.n + cell.diverged > 0


def _scored(lines: Sequence[ModelLine], trivial: Sequence[Sequence[Row]]) -> list[ModelLine]:
    """Return lines that ran on all tasks with their scores and mean ranks."""
    if not lines:
        return []
    import numpy as np

    scores, signed = [], []
    for column, predictors in zip(zip(*(line.cells for line in lines), strict=True), trivial, strict=True):
        cells = [cell for cell in column if cell is not None]
        goal = cells[0].goal
        sign = direction(goal)
        worst = min((sign * s for cell in cells for s in cell.scores), default=0.0)
        zero = sign * max((sign * (row.mean or 0.0) for row in predictors), default=worst)
        seeds = [[*cell.scores, *[None] * cell.diverged] for cell in cells]
        scores.append(normalised(seeds, goal, zero))
        signed.append(oriented(seeds, goal, zero))
    means = mean_ranks(signed)
    sure = all(trivial)
    ours = [[task[k] for task in scores] for k in range(len(lines))]
    ranks = zip(*(task_ranks(task) for task in signed), strict=True)
    return [
        replace(line, score=overall_score(s, np.random.default_rng(0)) if sure else None, rank=rank, scores=s, ranks=r)
        for line, rank, s, r in zip(lines, means, ours, ranks, strict=True)
    ]
