"""The median best result of a search of k trials, for each model: how much of a result is due to budget."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from longwave.platform.boards.overview import best_on_validation
from longwave.platform.boards.row import Row
from longwave.platform.records.group import RunSummary
from longwave.platform.statistics.stats import Estimate, diverged_share
from longwave.platform.statistics.trajectory import all_diverged, median_best


@dataclass(frozen=True)
class SearchCurve:
    """The search behind one row.

    Attributes:
        row: The model's row with the best validation score.
        curve: Median best validation metric of k = 1 … n trials, given that one has a score, with the central 80 % of
            such searches.
        lost: Probability that all of k = 1 … n trials diverge.
        diverged: Share of the trials that diverged, with its interval; None without trials, or if these are not
            independent draws of one distribution.
        seconds: Mean time of a trial.
        why: Why there is no curve; empty if there is one.
    """

    row: Row
    curve: Sequence[Estimate] = ()
    lost: Sequence[float] = ()
    diverged: Estimate | None = None
    seconds: float = 0.0
    why: str = ""

    def to_dict(self) -> list[dict[str, Any]]:
        """Return one record for each k."""
        facts = {name: getattr(self.row, name) for name in ("task", "variant", "model", "config", "metric", "goal")}
        share = self.diverged or Estimate(0.0)
        facts |= {"diverged": share.value, "diverged_low": share.low, "diverged_high": share.high}
        return [
            {
                **facts,
                "trials": k,
                "seconds": k * self.seconds,
                "valid": e.value,
                "low": e.low,
                "high": e.high,
                "all_diverged": lost,
            }
            for k, (e, lost) in enumerate(zip(self.curve, self.lost, strict=True), 1)
        ]


def budgets(
    rows: Iterable[Row], searched: Callable[[Row], Sequence[RunSummary]], adaptive: Collection[str] = ()
) -> list[SearchCurve]:
    """Return the budget of each model's best row on each task of ``rows``, in their order.

    Args:
        rows: Rows of any boards; superseded ones are left out.
        searched: Returns the search trials of a row's model in the sweeps with that row.
        adaptive: Names of the sweeps whose sampler learns from earlier trials, that are warm-started, or that widen
            their ranges; such a search has no curve.
    """
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if row.current:
            groups.setdefault((row.task, row.variant, row.model), []).append(row)
    return [_budget(best_on_validation(group_rows), searched, adaptive) for group_rows in groups.values()]


def _budget(row: Row, searched: Callable[[Row], Sequence[RunSummary]], adaptive: Collection[str]) -> SearchCurve:
    if any(name in adaptive for name in row.sweeps):
        return SearchCurve(row, why="trials are not independent draws (TPE, warm start or widened ranges)")
    ended = [trial for trial in searched(row) if trial.status in ("ok", "stopped", "diverged")]
    scores = [trial.valid if trial.status != "diverged" else None for trial in ended]
    n, diverged = len(scores), scores.count(None)
    share = diverged_share(diverged, n) if n else None
    if diverged == n:
        return SearchCurve(row, diverged=share, why="no search trial has a score")
    return SearchCurve(
        row,
        median_best(scores, row.goal),
        all_diverged(diverged, n),
        share,
        sum(trial.seconds for trial in ended) / n,
    )
