"""What a search of k trials is expected to find, from one search of n: an exact curve, no resampling."""

from __future__ import annotations

from collections.abc import Sequence

from longwave.platform.statistics.stats import Estimate, check_level, check_scores, direction


def expected_best(
    scores: Sequence[float | None], goal: str, level: float = 0.8, diverged: float | None = None
) -> list[Estimate]:
    """Return the expected best of k scores for k = 1 … n, and the band that ``level`` of such searches end in.

    The value is the mean of the best over all C(n, k) subsets of k scores: in order from the worst, score i is the
    best of C(i − 1, k − 1) of them. That is unbiased; drawing with replacement, as is often done, is not.
    Source: Tang et al., Showing Your Work Doesn't Always Work, ACL 2020.

    The trials must be drawn independently from one law: a search that learns from earlier trials has no such curve.
    The band narrows towards k = n because all large subsets hold much the same trials; it is no error of the curve.

    Args:
        scores: Validation scores in any order; None where a trial diverged.
        goal: ``"max"`` or ``"min"``.
        diverged: Score a diverged trial counts with; by default the worst of the others.

    Raises:
        ValueError: A score is not finite, or no trial has one and ``diverged`` is not given.
    """
    check_level(level)
    sign, ended = direction(goal), [s for s in scores if s is not None]
    if diverged is None:
        if not ended:
            raise ValueError("No trial has a score; say with which score a diverged one counts.")
        diverged = sign * min(sign * s for s in ended)
    counted = sorted(check_scores([diverged if s is None else s for s in scores]), key=lambda s: sign * s)
    import numpy as np

    values, n = np.array(counted), len(counted)
    place, weights = np.arange(1, n + 1), np.full(n, 1 / n)
    curve = []
    for k in range(1, n + 1):
        chance = np.cumsum(weights)
        # min: rounding may leave the last cumulative chance below p.
        ends = [counted[min(n - 1, int(np.searchsorted(chance, p)))] for p in ((1 - level) / 2, (1 + level) / 2)]
        curve.append(Estimate(float(weights @ values), min(ends), max(ends)))
        # C(i − 1, k) / C(n, k + 1) from C(i − 1, k − 1) / C(n, k): the binomials themselves would overflow.
        weights = weights * (np.maximum(place - k, 0) / k * (k + 1) / max(1, n - k))
    return curve
