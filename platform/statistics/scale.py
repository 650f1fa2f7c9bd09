"""Conversion of a board's scores to errors: smaller is better, diverged is worst, with logs if the metric has them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from longwave.platform.statistics.stats import direction

LEAST = 1e-12
"""Error of a perfect score in logs, for a metric without a floor."""
Score = float | None
"""The test metric of one seed; None if it diverged."""


@dataclass(frozen=True)
class Scale:
    """Conversion of the scores of one board to errors, so that their ratios are comparable between boards.

    Attributes:
        goal: ``"max"`` or ``"min"``.
        perfect: Score of zero error; None if a metric has no such score. See ``scale_of``.
        floor: Smallest error that counts, in the metric's unit: half a test item for an accuracy; 0 if unknown.

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
        smallest = -math.inf if self.perfect is None else self.floor
        return [math.inf if score is None else max(smallest, sign * (score - zero)) for score in scores]

    def log_errors(self, scores: Sequence[Score]) -> list[float]:
        """Return the logs of ``errors``, at least that of ``LEAST``; without a perfect score the errors themselves."""
        errors = self.errors(scores)
        return errors if self.perfect is None else [math.log(max(error, LEAST)) for error in errors]

    def mean_log_error(self, scores: Sequence[Score]) -> float:
        """Return the mean of ``log_errors``; infinite for no score."""
        logs = self.log_errors(scores)
        return math.fsum(logs) / len(logs) if logs else math.inf

    def geometric_mean(self, scores: Sequence[Score]) -> Score:
        """Return the score whose error is the geometric mean of errors, their mean if the metric has no perfect score.

        None if a seed diverged, or for no score.
        """
        mean = self.mean_log_error(scores)
        return self.score(mean if self.perfect is None else math.exp(mean))

    def score(self, error: float) -> Score:
        """Return the score with this error, None if infinite; the floor is not undone."""
        if math.isinf(error):
            return None
        return (self.perfect or 0.0) - direction(self.goal) * error


@cache
def scale_of(metric: str, goal: str, unit: str, floor: float = 0.0) -> Scale:
    """Return the scale of a metric by its name. Its perfect score is 1 for a perplexity, 0 for any other minimised
    metric, 100 for an accuracy in %, else None. Stored rows and editions have no other facts about their metrics.
    """
    least = 1.0 if metric == "perplexity" else 0.0
    perfect = least if direction(goal) < 0 else 100.0 if unit == "%" else None
    return Scale(goal, perfect, floor)
