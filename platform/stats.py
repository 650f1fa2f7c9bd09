"""Pure statistics on plain numbers. No storage, no torch, no clock."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence


def mean_std(scores: Sequence[float]) -> tuple[float, float | None]:
    """Return the mean and the sample standard deviation (n − 1) of ``scores``, (n,); the latter is None for n = 1.

    Raises:
        ValueError: No scores, or one that is not finite; the message names its place.
    """
    if not scores:
        raise ValueError("mean_std needs at least one score.")
    bad = [i for i, s in enumerate(scores) if not math.isfinite(s)]
    if bad:
        raise ValueError(f"Scores must be finite; not finite at positions {bad}.")
    return statistics.fmean(scores), statistics.stdev(scores) if len(scores) > 1 else None


def mean_interval(scores: Sequence[float], level: float = 0.95) -> tuple[float, float] | None:
    """Return Student's t-interval for the mean of ``scores`` at ``level``; None for n = 1.

    Raises:
        ValueError: As ``mean_std``, or a level outside (0, 1).
    """
    if not 0 < level < 1:
        raise ValueError(f"A level lies between 0 and 1, got {level}.")
    mean, std = mean_std(scores)
    if std is None:
        return None
    from scipy.stats import t

    half = float(t.ppf((1 + level) / 2, len(scores) - 1)) * std / math.sqrt(len(scores))
    return mean - half, mean + half


def rank_ranges(intervals: Sequence[tuple[float, float] | None], best_is_high: bool) -> list[tuple[int, int]]:
    """Return the lowest and highest rank each row can claim, from 1, given the intervals of their means.

    A row is surely before another only where their intervals do not touch; a row without an interval (n = 1) is
    before and behind nobody for sure.
    """

    def surely_before(a: tuple[float, float] | None, b: tuple[float, float] | None) -> bool:
        if a is None or b is None:
            return False
        return a[0] > b[1] if best_is_high else a[1] < b[0]

    n = len(intervals)
    return [
        (
            1 + sum(surely_before(other, mine) for other in intervals),
            n - sum(surely_before(mine, other) for other in intervals),
        )
        for mine in intervals
    ]
