"""From the scores of a board to errors: smaller is better, diverged is worst, logs where the metric has them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from longwave.platform.statistics.stats import direction

LEAST = 1e-12
"""Error that a perfect score counts as where logs are taken, on a metric without a floor."""
Score = float | None
"""The test metric of one seed; None where it diverged."""


@dataclass(frozen=True)
class Scale:
    """How the scores of one board become errors, so that ratios of them mean the same on every board.

    Attributes:
        goal: ``"max"`` or ``"min"``.
        perfect: Score of no error: 0 for errors, 100 for an accuracy in %; None where a metric has no such score.
        floor: Least error that counts, in the metric's unit: half a test item for an accuracy; 0 where not known.

    Raises:
        ValueError: Another goal.
    """

    goal: str = "min"
    perfect: float | None = 0.0
    floor: float = 0.0

    def __post_init__(self) -> None:
        direction(self.goal)

    def error(self, score: Score) -> float:
        """Return the error of one score: smaller is better, infinite for a diverged seed."""
        return self.errors([score])[0]

    def errors(self, scores: Sequence[Score]) -> list[float]:
        """Return the error of each score, in order."""
        sign, zero = -direction(self.goal), self.perfect or 0.0
        least = -math.inf if self.perfect is None else self.floor
        return [math.inf if score is None else max(least, sign * (score - zero)) for score in scores]

    def log_errors(self, scores: Sequence[Score]) -> list[float]:
        """Return the logs of ``errors``, of a perfect score that of ``LEAST``; of a metric that has none the errors."""
        errors = self.errors(scores)
        return errors if self.perfect is None else [math.log(max(error, LEAST)) for error in errors]

    def score(self, error: float) -> Score:
        """Return the score whose error this is, None for an infinite one; the floor is not undone."""
        if math.isinf(error):
            return None
        return (self.perfect or 0.0) - direction(self.goal) * error


@cache
def scale_of(goal: str, unit: str, floor: float = 0.0) -> Scale:
    """Return the scale of a metric: an accuracy in % is perfect at 100, a metric to be small at 0, others have none."""
    perfect = 0.0 if direction(goal) < 0 else 100.0 if unit == "%" else None
    return Scale(goal, perfect, floor)
