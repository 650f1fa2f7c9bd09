"""How a search goes: the best trial so far, and what a search of as many trials was expected to find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from longwave.platform.records.stored import Trial
from longwave.platform.statistics.stats import Estimate, direction
from longwave.platform.statistics.trajectory import expected_best

EARLY = datetime.min.replace(tzinfo=UTC)
TOLD = ("ok", "stopped", "diverged")
"""Ends of a search trial that say something of its settings; a failed one does not."""


@dataclass(frozen=True)
class SearchProgress:
    """How the search of one model goes, from its trials in the order in which they ended.

    Attributes:
        ended: Trials that ended, failed ones left out.
        best: Best validation metric of the first 1, 2, … of them; None until one has one.
        winner: The best one; None where none has a metric.
        expected: Expected best of as many trials, with the band that 80 % of such searches end in; empty where the
            search learns from earlier trials, or none has a metric.
    """

    ended: Sequence[Trial]
    best: Sequence[float | None]
    winner: Trial | None
    expected: Sequence[Estimate]

    @property
    def half(self) -> Estimate | None:
        """What half as many trials are expected to find, with its band; None without an expected curve."""
        return self.expected[(len(self.expected) + 1) // 2 - 1] if self.expected else None


def scored(trial: Trial) -> float | None:
    """Return a search trial's best validation metric; None where it has none, or diverged."""
    return trial.run.valid if trial.run and trial.status != "diverged" else None


def progress(trials: Sequence[Trial], goal: str, learns: bool) -> SearchProgress:
    """Return how a search goes.

    Args:
        trials: Search trials of one model and task, ended or not.
        goal: ``"max"`` or ``"min"``.
        learns: Whether they are no draws of one law.
    """
    sign = direction(goal)
    ended = sorted((t for t in trials if t.status in TOLD), key=lambda t: (t.ended or EARLY, t.config.id))
    best: list[float | None] = []
    winner: Trial | None = None
    for trial in ended:
        value, before = scored(trial), scored(winner) if winner else None
        if value is not None and (before is None or sign * value > sign * before):
            winner = trial
        best.append(scored(winner) if winner else None)
    scores = [scored(trial) for trial in ended]
    return SearchProgress(ended, best, winner, expected_best(scores, goal) if winner and not learns else ())
