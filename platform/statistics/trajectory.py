"""The median best of a search of k trials, from one search of n: an exact curve without resampling."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from longwave.platform.statistics.stats import Estimate, check_level, check_scores, direction

ROUNDING = 1e-9
"""Error allowed in a cumulative probability: between two scores this close to ½ from both sides lies the median."""


def median_best(scores: Sequence[float | None], goal: str, level: float = 0.8) -> list[Estimate]:
    """Return the median best of k scores for k = 1 … n, with the central ``level`` of such searches.

    The value is the median of the best over the C(n, k) subsets of k scores: in order from the worst, score i is the
    best of C(i − 1, k − 1) of them. Source of these weights: Tang et al., Showing Your Work Doesn't Always Work, ACL
    2020; their mean of the best would be that of one trial that nearly diverged.

    A diverged trial is worse than any score: value and band are over the subsets in which a trial ended, and
    ``all_diverged`` gives the share of the others. Trials must be independent draws from one distribution: a search
    that learns from earlier trials has no such curve. The band narrows towards k = n because large subsets share most
    trials; it is not the error of the curve.

    Args:
        scores: Validation scores in any order; None for a diverged trial.
        goal: ``"max"`` or ``"min"``.

    Raises:
        ValueError: No trial has a score, or one is not finite.
    """
    check_level(level)
    sign = direction(goal)
    ended = sorted(check_scores([s for s in scores if s is not None]), key=lambda s: sign * s)
    import numpy as np

    n = len(scores)
    rank, weights = np.arange(n - len(ended) + 1, n + 1), np.full(len(ended), 1 / n)
    curve = []
    for k in range(1, n + 1):
        chance = np.cumsum(weights / weights.sum())
        shares = (0.5 - ROUNDING, 0.5 + ROUNDING, (1 - level) / 2, (1 + level) / 2)
        # min: rounding may leave the last cumulative probability below a share.
        lower, upper, *ends = (ended[min(len(ended) - 1, int(np.searchsorted(chance, p)))] for p in shares)
        curve.append(Estimate(fmean((lower, upper)), min(ends), max(ends)))
        # C(i − 1, k) / C(n, k + 1) from C(i − 1, k − 1) / C(n, k), because binomials would overflow.
        weights = weights * (np.maximum(rank - k, 0) / k * (k + 1) / max(1, n - k))
    return curve


def all_diverged(diverged: int, n: int) -> list[float]:
    """Return the probability that all of k = 1 … n trials out of ``n`` diverged."""
    shares, share = [], 1.0
    for k in range(n):
        share *= max(0, diverged - k) / (n - k)
        shares.append(share)
    return shares
