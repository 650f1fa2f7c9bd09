"""All boards at a glance: models by tasks, one score and one mean rank a model."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, TypeVar

from longwave.platform.boards.row import Row, distinct_boards, named
from longwave.platform.boards.separation import WORDS, Separation, TaskWord, separation
from longwave.platform.statistics.overall import OverallScores, TaskScores, mean_ranks, overall_scores, task_ranks
from longwave.platform.statistics.stats import Estimate, direction
from longwave.platform.statistics.verdict import ENOUGH

OF_CELL = ("median", "median_best", "median_worst", "median_level", "mean", "std", "n", "diverged")
"""What a record of the overview has of each task, by the keys of ``columns.py``; beside it ``row``, ``state`` and
``separation``, the task's word.
"""

Where = TypeVar("Where")


@dataclass(frozen=True)
class ModelLine:
    """One model over all tasks.

    Attributes:
        model, title: Registry key and name in print.
        cells: Its row best on validation for each of the overview's tasks; None where it was never run.
        score: Mean over separating tasks of its gain, with its 95 % interval from ``FEWEST_TASKS`` on; None where
            ``why`` says so, and where no task measures a gain.
        rank: Mean rank over separating tasks of its median among the models with a rank, with the lowest and highest
            that the tests allow.
        medians: Its median on each separating task as a gain (``TaskScores.gains``), 0 where that diverged.
        ranks: Rank of its median on each separating task.
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
    """Models by tasks.

    Attributes:
        tasks: (task, variant) for each cell of a line: separating ones first, then open ones, then saturated ones.
        lines: Models by mean rank, best first; then those without one, by tasks with a result.
        separations: Of each task, whether it tells networks from trivial predictors.
        left_out: Separating tasks that count in no score, by name, each with the reason.
        tops: What counts 1 on tasks in the score that have no perfect score, by name: the best median.
    """

    tasks: Sequence[tuple[str, str]]
    lines: Sequence[ModelLine]
    separations: Sequence[Separation] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    tops: Mapping[str, float] = field(default_factory=dict)

    def of_word(self, *words: TaskWord) -> list[tuple[str, str]]:
        """Return the tasks that have one of some words, in order."""
        return [place for place, each in zip(self.tasks, self.separations, strict=True) if each.word in words]

    @property
    def titles(self) -> list[str]:
        """Names of the boards in print; where two have the same, their tasks' keys."""
        return distinct_boards(
            [next(cell for line in self.lines if (cell := line.cells[k])) for k in range(len(self.tasks))]
        )

    @property
    def to_retire(self) -> list[tuple[str, str]]:
        """Tasks that are saturated for every model: each one with a result anywhere has ``ENOUGH`` seeds there.

        A model that ran on saturated tasks alone is not asked for: it was trained for its paper's tasks.
        """
        known = [line for line in self.lines if not line.why] or list(self.lines)
        return [
            place
            for k, (place, each) in enumerate(zip(self.tasks, self.separations, strict=True))
            if each.word == "saturated"
            and all((cell := line.cells[k]) is not None and cell.seed_count >= ENOUGH for line in known)
        ]

    def to_dict(self) -> list[dict[str, Any]]:
        """Return one record a model: see ``ModelLine.to_dict``; a task's keys begin with its name."""
        return [{**line.to_dict(), **self._cells(line)} for line in self.lines]

    def _cells(self, line: ModelLine) -> dict[str, Any]:
        cells: dict[str, Any] = {}
        for place, cell, told in zip(self.tasks, line.cells, self.separations, strict=True):
            for name in OF_CELL:
                cells[f"{named(place)} {name}"] = getattr(cell, name) if cell else None
            cells[f"{named(place)} row"] = cell.config if cell else ""
            cells[f"{named(place)} state"] = state(cell)
            cells[f"{named(place)} separation"] = told.word
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
    """Return the overview of the boards of several tasks.

    Scores and mean ranks are over the tasks that separate (``separation``), each with the same weight: on the others
    the order of networks says who comes nearest to a trivial predictor. They are those of models with ``ENOUGH`` seeds
    on every such task, among each other alone, and there must be two: a model that is absent from the hard tasks must
    not lead. Superseded rows are left out; of a model with no other row, untrusted ones are shown.
    """
    ours: dict[str, dict[tuple[str, str], list[Row]]] = {}
    boards: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        boards.setdefault((row.task, row.variant), []).append(row)
        if row.current:
            ours.setdefault(row.model, {}).setdefault((row.task, row.variant), []).append(row)
    words = {place: separation(boards[place]) for place in sorted({p for theirs in ours.values() for p in theirs})}
    tasks = sorted(words, key=lambda place: (WORDS.index(words[place].word), place))
    lines = []
    for model, theirs in ours.items():
        cells = [best_on_validation(theirs[place]) if place in theirs else None for place in tasks]
        title = next(cell.title for cell in cells if cell).partition(" (")[0]
        lines.append(ModelLine(model, title, cells))
    separating = [place for place in tasks if words[place].word == "separates"]
    lines = [replace(line, why=_lacks(line, separating)) for line in lines]
    full = [line for line in lines if not line.why]
    part = [line for line in lines if line.why]
    if len(full) == 1:
        full, part = [], [*part, replace(full[0], why="no other model has")]
    full, scores = _scored(full, [words[place].predictor for place in separating])
    full.sort(key=_standing)
    part.sort(key=lambda line: (-line.ran, line.model))
    told = [words[place] for place in tasks]
    return Overview(tasks, full + part, told, scores.left_out, scores.tops)


def _standing(line: ModelLine) -> tuple[float, float, str]:
    """Return what lines with a mean rank are ordered by."""
    return line.rank.value if line.rank else 0.0, -line.score.value if line.score else 0.0, line.model


def _lacks(line: ModelLine, tasks: Sequence[tuple[str, str]]) -> str:
    """Return why a line has no score and no rank by itself: not every task, untrusted on one, or too few seeds.

    Args:
        line: A model.
        tasks: Those that separate, which are the first of its cells.
    """
    if not tasks:
        return "no task separates"
    cells = line.cells[: len(tasks)]
    ran = sum(cell is not None and cell.seed_count > 0 for cell in cells)
    if ran < len(tasks):
        return f"{ran} of {len(tasks)} separating task{'s' * (len(tasks) > 1)}"
    if untrusted := [named(place) for cell, place in zip(cells, tasks, strict=True) if cell and cell.untrusted]:
        return f"untrusted on {untrusted[0]}"
    seeds, place = min((cell.seed_count, place) for cell, place in zip(cells, tasks, strict=True) if cell)
    return f"{seeds} of {ENOUGH} seeds on {named(place)}" if seeds < ENOUGH else ""


def best_on_validation(rows: Sequence[Row]) -> Row:
    """Return a model's row that is best on validation, the cheaper one where two are equal: of fewer parameters.

    Untrusted rows come last; tests are not looked at.
    """
    sign = direction(rows[0].goal)

    def standing(row: Row) -> tuple[bool, bool, float, float, str]:
        size = math.inf if row.parameters is None else row.parameters
        return row.untrusted, row.valid is None, -sign * (row.valid or 0.0), size, row.config

    return min(rows, key=standing)


def state(cell: Row | None) -> str:
    """Return ``ok``, ``diverged``, ``failed``, ``missing`` (asked for, not ended), or ``not run``."""
    return cell.state if cell else "not run"


def _scored(lines: Sequence[ModelLine], predictors: Sequence[Row | None]) -> tuple[list[ModelLine], OverallScores]:
    """Return lines with enough seeds on all separating tasks with their scores and mean ranks, and the scores.

    Args:
        lines: Models.
        predictors: The best trivial predictor of each separating task, of which the first cells of a line are.
    """
    if not lines:
        return [], overall_scores([])
    columns = [*zip(*(line.cells for line in lines), strict=True)][: len(predictors)]
    boards = [[cell for cell in column if cell] for column in columns]
    tasks = [
        TaskScores(cells[0].place, [cell.seeds for cell in cells], cells[0].scale, best.mean or 0.0)
        for cells, best in zip(boards, predictors, strict=True)
        if best
    ]
    medians = [task.gains([cell.median for cell in cells]) for task, cells in zip(tasks, boards, strict=True)]
    ranks = [task_ranks(task.rows, task.scale) for task in tasks]
    means = mean_ranks([task.rows for task in tasks], [task.scale for task in tasks])
    overall = overall_scores(tasks)
    scored = [
        replace(
            line,
            score=overall.scores[k] if overall.scores else None,
            rank=means[k],
            medians=[gains[k] for gains in medians],
            ranks=[rank[k] for rank in ranks],
        )
        for k, line in enumerate(lines)
    ]
    return scored, overall
