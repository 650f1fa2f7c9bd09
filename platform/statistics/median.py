"""The median over all seeds of a row, a diverged one counted as worst, with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import median as middle

from longwave.platform.statistics.scale import Scale, Score
from longwave.platform.statistics.stats import direction

LEVEL = 0.95
"""Coverage of an interval from six seeds on; fewer cannot reach it."""


@dataclass(frozen=True)
class Median:
    """The median of a row's scores over all its seeds; None is "diverged", which is worse than any score.

    Attributes:
        value: The median.
        best, worst: The ends of its interval.
        level: Coverage of the interval; None for a single seed, which has no interval.
    """

    value: Score
    best: Score
    worst: Score
    level: float | None


def median(scores: Sequence[Score], scale: Scale) -> Median:
    """Return the median of ``scores``, (n,), with its distribution-free interval from order statistics. Up to five
    seeds it is the full range, with level 1 − 2¹⁻ⁿ. From six on the ends are interpolated between two order statistics
    for ``LEVEL``: Hettmansperger and Sheather, Statistics & Probability Letters 1986.

    Raises:
        ValueError: No scores, or one that is not finite.
    """
    ordered, n, sign = _ordered(scores, scale), len(scores), -direction(scale.goal)
    k, share, reached = _ends(n)
    best, worst = (_between(line[k - 1], line[min(k, n - 1)], share) for line in (ordered, ordered[::-1]))
    value, low, high = (None if x == math.inf else sign * x for x in (middle(ordered), best, worst))
    return Median(value, low, high, reached if n > 1 else None)


def typical(scores: Sequence[Score], scale: Scale) -> float:
    """Return the sort key of a row: the median of ``scores``, signed so that smaller is better; infinite if diverged.

    Raises:
        ValueError: No scores, or one that is not finite.
    """
    return middle(_ordered(scores, scale))


def _ordered(scores: Sequence[Score], scale: Scale) -> list[float]:
    """Return the scores from best to worst, signed so that smaller is better, infinite if diverged."""
    if not scores:
        raise ValueError("A median needs at least one seed.")
    sign = -direction(scale.goal)
    ended = [sign * score for score in scores if score is not None]
    if not all(map(math.isfinite, ended)):
        raise ValueError(f"Scores are finite, or None where a seed diverged; got {list(scores)}.")
    return sorted(ended) + [math.inf] * (len(scores) - len(ended))


@lru_cache(256)
def _ends(n: int) -> tuple[int, float, float]:
    """Return the order statistic that bounds the interval, the interpolation weight of the next one, and the level."""
    covered = [1 - 2 * sum(math.comb(n, i) for i in range(k)) / 2**n for k in range(n // 2 + 2)]
    k = max((k for k in range(1, n // 2 + 1) if covered[k] > LEVEL), default=0)
    if not k:
        return 1, 0.0, covered[1]
    excess = (covered[k] - LEVEL) / (covered[k] - covered[k + 1])
    return k, (n - k) * excess / (k + (n - 2 * k) * excess), LEVEL


def _between(outer: float, inner: float, share: float) -> float:
    """Interpolate from the outer score to the inner one; return the outer one if either diverged."""
    return outer if math.inf in (outer, inner) else outer + share * (inner - outer)
