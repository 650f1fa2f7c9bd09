"""All boards at a glance: models by tasks, with one score and one mean rank per model."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, TypeVar

from longwave.platform.boards.row import Row, distinct_boards, named
from longwave.platform.boards.separation import WORDS, Separation, TaskWord, separation
from longwave.platform.boards.verification import UNTRUSTED
from longwave.platform.statistics.overall import OverallScores, TaskScores, mean_ranks, overall_scores, task_ranks
from longwave.platform.statistics.stats import Estimate, direction
from longwave.platform.statistics.verdict import ENOUGH
from longwave.platform.wording import describe_count

OF_CELL = ("median", "median_best", "median_worst", "median_level", "mean", "std", "n", "diverged")
"""Columns of each task in a record of the overview, by key of ``columns.py``, besides ``row``, ``state`` and
``separation``.
"""

Where = TypeVar("Where")


@dataclass(frozen=True)
class ModelLine:
    """One model over all tasks.

    Attributes:
        model, title: Registry key and name in print.
        cells: Its best row on validation for each of the overview's tasks; None if it was never run there.
        score: Mean gain over the tasks that count, with its 95 % interval from ``FEWEST_TASKS`` tasks on; None if
            ``why`` is not empty, or no task measures a gain.
        rank: Mean rank of its median over these tasks among the models with a rank, with the lowest and highest
            that the tests allow.
        medians: Its median on each task that counts as a gain (``TaskScores.unbounded_gains``).
        ranks: Rank of its median on each of these tasks.
        why: Why it has neither score nor rank, such as ``1 of 2 tasks``; empty if it has.
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
        """Number of tasks on which a seed ended, ok or diverged."""
        return sum(cell is not None and cell.seed_count > 0 for cell in self.cells)

    def to_dict(self) -> dict[str, Any]:
        """Return one record: score and mean rank with their intervals, or why there are none."""
        fields: dict[str, Any] = {"model": self.model, "title": self.title, "why": self.why}
        for name, value in (("score", self.score), ("mean_rank", self.rank)):
            ends = (value.value, value.low, value.high) if value else (None, None, None)
            fields |= dict(zip((name, f"{name}_low", f"{name}_high"), ends, strict=True))
        return fields


@dataclass(frozen=True)
class Overview:
    """Models by tasks.

    Attributes:
        tasks: (task, variant) for each cell of a line: separating ones first, with those of ``too_few_models`` last;
            then open ones, then saturated ones.
        lines: Models by mean rank, best first; then those without one, by tasks with a result.
        separations: For each task, whether it separates networks from trivial predictors.
        left_out: Reasons why separating boards do not count in scores, by board.
        too_few_models: Separating tasks that count neither in scores nor in ranks: fewer than half of the models ran
            there.
        tops: Best median on tasks without a perfect score, by task: it counts as a gain of 1.
    """

    tasks: Sequence[tuple[str, str]]
    lines: Sequence[ModelLine]
    separations: Sequence[Separation] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    tops: Mapping[str, float] = field(default_factory=dict)
    too_few_models: Sequence[tuple[str, str]] = ()

    def of_word(self, *words: TaskWord) -> list[tuple[str, str]]:
        """Return the tasks with one of these words, in order."""
        return [task for task, separated in zip(self.tasks, self.separations, strict=True) if separated.word in words]

    @property
    def counted_tasks(self) -> list[tuple[str, str]]:
        """Return the tasks that scores and ranks are over."""
        return [task for task in self.of_word("separates") if task not in self.too_few_models]

    @property
    def titles(self) -> list[str]:
        """Names of the boards in print, or the tasks' keys if two names are equal."""
        return distinct_boards(
            [next(cell for line in self.lines if (cell := line.cells[k])) for k in range(len(self.tasks))]
        )

    @property
    def to_retire(self) -> list[tuple[str, str]]:
        """Saturated tasks on which every model has ``ENOUGH`` seeds. Models that ran only on saturated tasks need not:
        they were trained for their papers' tasks.
        """
        main_lines = [line for line in self.lines if not line.why] or list(self.lines)
        return [
            task
            for k, (task, separated) in enumerate(zip(self.tasks, self.separations, strict=True))
            if separated.word == "saturated"
            and all((cell := line.cells[k]) is not None and cell.seed_count >= ENOUGH for line in main_lines)
        ]

    def to_dict(self) -> list[dict[str, Any]]:
        """Return one record per model: see ``ModelLine.to_dict``; keys of a task begin with its name."""
        return [{**line.to_dict(), **self._cells(line)} for line in self.lines]

    def _cells(self, line: ModelLine) -> dict[str, Any]:
        cells: dict[str, Any] = {}
        for task, cell, separated in zip(self.tasks, line.cells, self.separations, strict=True):
            for name in OF_CELL:
                cells[f"{named(task)} {name}"] = getattr(cell, name) if cell else None
            cells[f"{named(task)} row"] = cell.config if cell else ""
            cells[f"{named(task)} state"] = state(cell)
            cells[f"{named(task)} separation"] = separated.word
        return cells


def overviews(rows: Sequence[Row]) -> list[Overview]:
    """Return one overview for each set of boards that share models, the largest first; at least one. Sequence models do
    not run on graphs, so over boards of both kinds no model would have a score or a rank.
    """
    models: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        if row.kind != "trivial" and row.current:
            models.setdefault((row.task, row.variant), set()).add(row.model)
    return [overview(row for row in rows if (row.task, row.variant) in group) for group in sharing(models) or [[]]]


def sharing(models: Mapping[Where, Collection[str]]) -> list[list[Where]]:
    """Return the connected components of places that have a model in common, the largest first.

    Args:
        models: The models of each place. Places keep its order.
    """
    groups: list[list[Where]] = []
    for board, names in models.items():
        connected = [group for group in groups if any(not {*names}.isdisjoint(models[other]) for other in group)]
        groups = [*(group for group in groups if group not in connected), [*chain(*connected), board]]
    return sorted(([board for board in models if board in group] for group in groups), key=len, reverse=True)


def overview(rows: Iterable[Row]) -> Overview:
    """Return the overview of the boards of several tasks.

    Scores and mean ranks are over the tasks that separate (``separation``), each with the same weight: on the others
    the order of networks only says which comes nearest to a trivial predictor. Tasks that fewer than half of the models
    ran on do not count either, since few models would be left. Only models with ``ENOUGH`` seeds on every task that
    counts have scores, and there must be two of these: a model that is absent from the hard tasks must not lead.
    Superseded rows are left out, and untrusted ones too if the model has another row.
    """
    rows_by_model: dict[str, dict[tuple[str, str], list[Row]]] = {}
    boards: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        boards.setdefault((row.task, row.variant), []).append(row)
        if row.current:
            rows_by_model.setdefault(row.model, {}).setdefault((row.task, row.variant), []).append(row)
    separations = {
        board: separation(boards[board])
        for board in sorted({p for model_rows in rows_by_model.values() for p in model_rows})
    }
    separating = [board for board in separations if separations[board].word == "separates"]
    too_few_models = _with_too_few_models(rows_by_model, separating)
    tasks = sorted(
        separations, key=lambda board: (WORDS.index(separations[board].word), board in too_few_models, board)
    )
    counted = [board for board in tasks if board in separating and board not in too_few_models]
    lines = []
    for model, model_rows in rows_by_model.items():
        cells = [best_on_validation(model_rows[board]) if board in model_rows else None for board in tasks]
        title = next(cell.title for cell in cells if cell).partition(" (")[0]
        lines.append(ModelLine(model, title, cells))
    lines = [replace(line, why=_lacks(line, counted)) for line in lines]
    complete = [line for line in lines if not line.why]
    incomplete = [line for line in lines if line.why]
    if len(complete) == 1:
        complete, incomplete = [], [*incomplete, replace(complete[0], why="no other model has")]
    complete, scores = _scored(complete, [separations[board].predictor for board in counted])
    complete.sort(key=_standing)
    incomplete.sort(key=lambda line: (-line.ran, line.model))
    of_tasks = [separations[board] for board in tasks]
    return Overview(tasks, complete + incomplete, of_tasks, scores.left_out, scores.tops, too_few_models)


def _with_too_few_models(
    rows_by_model: Mapping[str, Mapping[tuple[str, str], Sequence[Row]]], separating: Sequence[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Return the separating boards that fewer than half of the models ran on; none if all are such."""
    ran = {
        board: {
            m for m, model_rows in rows_by_model.items() if any(row.seed_count for row in model_rows.get(board, ()))
        }
        for board in separating
    }
    count = len({*chain(*ran.values())})
    few = [board for board, models in ran.items() if 2 * len(models) < count]
    return few if len(few) < len(separating) else []


def _standing(line: ModelLine) -> tuple[float, float, str]:
    """Return the sort key of lines with a mean rank."""
    return line.rank.value if line.rank else 0.0, -line.score.value if line.score else 0.0, line.model


def _lacks(line: ModelLine, tasks: Sequence[tuple[str, str]]) -> str:
    """Return why a line has neither score nor rank: tasks missing, untrusted on one, or too few seeds; empty if it has.

    Args:
        line: A model.
        tasks: The tasks that count, which come first in its cells.
    """
    if not tasks:
        return "no task separates"
    cells = line.cells[: len(tasks)]
    ran = sum(cell is not None and cell.seed_count > 0 for cell in cells)
    if ran < len(tasks):
        return f"{ran} of {describe_count(len(tasks), 'separating board')}"
    if untrusted := [named(task) for cell, task in zip(cells, tasks, strict=True) if cell and cell.untrusted]:
        return f"untrusted on {untrusted[0]}"
    seeds, task = min((cell.seed_count, task) for cell, task in zip(cells, tasks, strict=True) if cell)
    return f"{seeds} of {ENOUGH} seeds on {named(task)}" if seeds < ENOUGH else ""


def best_on_validation(rows: Sequence[Row]) -> Row:
    """Return a model's best row on validation; among equal ones, that with the fewest parameters. Rows of few seeds
    come after others, and untrusted rows last. Test scores are not used.
    """
    sign = direction(rows[0].goal)

    def standing(row: Row) -> tuple[bool, bool, bool, float, float, str]:
        size = math.inf if row.parameters is None else row.parameters
        return row.untrusted, row.provisional, row.valid is None, -sign * (row.valid or 0.0), size, row.config

    return min(rows, key=standing)


def state(cell: Row | None) -> str:
    """Return ``ok``, ``untrusted``, ``diverged``, ``failed``, ``missing`` (planned, not ended) or ``not run``."""
    return "not run" if not cell else UNTRUSTED if cell.untrusted and cell.state == "ok" else cell.state


def _scored(lines: Sequence[ModelLine], predictors: Sequence[Row | None]) -> tuple[list[ModelLine], OverallScores]:
    """Return the lines with scores and mean ranks, and the overall scores.

    Args:
        lines: Models with enough seeds on all tasks that count.
        predictors: Best trivial predictor of each of these tasks, which come first in the cells of a line.
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
    medians = [task.unbounded_gains([cell.median for cell in cells]) for task, cells in zip(tasks, boards, strict=True)]
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
