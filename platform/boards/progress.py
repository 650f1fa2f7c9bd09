"""Progress of a search: the best trial so far, and the median best of a search of this length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from longwave.platform.records.stored import Trial
from longwave.platform.statistics.stats import Estimate, direction
from longwave.platform.statistics.trajectory import median_best

EARLY = datetime.min.replace(tzinfo=UTC)
TOLD = ("ok", "stopped", "diverged")
"""Outcomes of a search trial that depend on its settings; failures do not."""


@dataclass(frozen=True)
class SearchProgress:
    """Progress of the search of one model, from its trials in the order in which they ended.

    Attributes:
        ended: Trials that ended, failed ones left out.
        best: Best validation metric of the first 1, 2, … of them; None until there is one.
        winner: The best trial; None without a metric.
        curve: Median best of 1, 2, … trials, with the central 80 % of such searches; empty if the search learns
            from earlier trials, or no trial has a metric.
    """

    ended: Sequence[Trial]
    best: Sequence[float | None]
    winner: Trial | None
    curve: Sequence[Estimate]

    @property
    def halved(self) -> bool:
        """Whether successive halving stopped trials: the worse ones then ended first, in no random order."""
        return any(trial.status == "stopped" for trial in self.ended)

    @property
    def half(self) -> Estimate | None:
        """Median best of half as many trials, with its band; None without such a curve."""
        return self.curve[(len(self.curve) + 1) // 2 - 1] if self.curve else None


def scored(trial: Trial) -> float | None:
    """Return a search trial's best validation metric; None if it has none, or diverged."""
    return trial.run.valid if trial.run and trial.status != "diverged" else None


def progress(trials: Sequence[Trial], goal: str, learns: bool) -> SearchProgress:
    """Return the progress of a search.

    Args:
        trials: Search trials of one model and task, ended or not.
        goal: ``"max"`` or ``"min"``.
        learns: Whether they are not independent draws of one distribution.
    """
    sign = direction(goal)
    ended = sorted((t for t in trials if t.status in TOLD), key=lambda t: (t.ended or EARLY, t.config.id))
    best: list[float | None] = []
    winner: Trial | None = None
    for trial in ended:
        value, best_score = scored(trial), scored(winner) if winner else None
        if value is not None and (best_score is None or sign * value > sign * best_score):
            winner = trial
        best.append(scored(winner) if winner else None)
    scores = [scored(trial) for trial in ended]
    return SearchProgress(ended, best, winner, median_best(scores, goal) if winner and not learns else ())
