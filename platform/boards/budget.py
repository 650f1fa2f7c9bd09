"""What a search of k trials is expected to find, for each model: how much of a result is budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from longwave.platform.boards.board import Row
from longwave.platform.boards.overview import best_on_validation
from longwave.platform.statistics.stats import Estimate
from longwave.platform.statistics.trajectory import expected_best
from longwave.platform.storage.store import Store

ADAPTIVE = ("tpe",)
"""Samplers that learn from earlier trials; their searches have no such curve."""


@dataclass(frozen=True)
class SearchCurve:
    """The search behind one row.

    Attributes:
        row: The row of a model that is best on validation.
        curve: Expected best validation metric of k = 1 … n trials, with the band that 80 % of such searches end in.
        seconds: Mean time of a trial.
        why: Why there is no curve; empty where there is one.
    """

    row: Row
    curve: Sequence[Estimate] = ()
    seconds: float = 0.0
    why: str = ""

    def to_dict(self) -> list[dict[str, Any]]:
        """Return one record for each k."""
        facts = {name: getattr(self.row, name) for name in ("task", "variant", "model", "config", "metric", "goal")}
        return [
            {**facts, "trials": k, "seconds": k * self.seconds, "valid": e.value, "low": e.low, "high": e.high}
            for k, e in enumerate(self.curve, 1)
        ]


def budgets(store: Store, rows: Iterable[Row]) -> list[SearchCurve]:
    """Return the budget of each model's best row on each task of ``rows``, in their order."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if row.kind == "reproduced":
            groups.setdefault((row.task, row.variant, row.model), []).append(row)
    return [_budget(store, best_on_validation(theirs)) for theirs in groups.values()]


def _budget(store: Store, row: Row) -> SearchCurve:
    samplers = {str(store.sweep(name).get("sampler", "random")) for name in row.sweeps}
    if samplers & {*ADAPTIVE}:
        return SearchCurve(row, why="its search learned from earlier trials")
    ended = [t for t in store.searched(row.sweeps, row.task, row.model) if t.status in ("ok", "stopped", "diverged")]
    scores = [trial.valid if trial.status != "diverged" else None for trial in ended]
    if all(score is None for score in scores):
        return SearchCurve(row, why="no search trial has a score")
    seconds = sum(trial.seconds for trial in ended) / len(ended)
    return SearchCurve(row, expected_best(scores, row.goal), seconds)
