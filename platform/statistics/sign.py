"""Sign tests of rows against a fixed score, such as that of a predictor without seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import count

from longwave.platform.statistics.scale import Scale, Score
from longwave.platform.statistics.stats import check_level

EQUAL = 1e-6
"""Relative difference of errors due to float32 rounding."""


def surely_better(rows: Sequence[Sequence[Score]], fixed: float, scale: Scale, alpha: float = 0.05) -> list[bool]:
    """Return which rows are significantly better than a fixed score, in that most of their seeds are. The exact sign
    test of a row's seeds, adjusted over all rows by Hochberg's rule (Biometrika 1988). It assumes only independent
    seeds, so the probability of any false claim is at most ``alpha`` for all distributions. Seeds that equal the score,
    or diverged, count against the row.

    Args:
        rows: Test metrics of each row's seeds; None for a diverged one.
        fixed: The score, in the same metric.

    Raises:
        ValueError: A row without seeds, or a level outside (0, 1).
    """
    check_level(alpha)
    tails = [sign_tail(seeds_better(seeds, fixed, scale), len(seeds)) for seeds in rows]
    # Hochberg: all p-values up to the largest that passes at its step are significant.
    steps = [p for k, p in enumerate(sorted(tails)) if p <= alpha / (len(tails) - k)]
    return [bool(steps) and p <= steps[-1] for p in tails]


def seeds_better(seeds: Sequence[Score], fixed: float, scale: Scale) -> int:
    """Return the number of seeds that are better than a fixed score."""
    return sum(beats(score, fixed, scale) for score in seeds)


def beats(score: Score, other: Score, scale: Scale) -> bool:
    """Return whether a score is better than another by more than rounding.

    Medians of accuracies differ by at least half a test item, ``scale.floor``; half of that is tolerated.
    """
    ours, theirs = scale.errors([score, other])
    return ours < theirs and not math.isclose(ours, theirs, rel_tol=EQUAL, abs_tol=scale.floor / 2)


def sign_tail(better: int, n: int) -> float:
    """Return the probability that ``better`` or more of ``n`` seeds are better, if each is with probability ½.

    Raises:
        ValueError: No seeds.
    """
    if n < 1:
        raise ValueError("A sign test needs at least one seed.")
    ways: int = sum(math.comb(n, k) for k in range(better, n + 1))
    return float(ways / 2**n)


def fewest_seeds(rows: int, alpha: float = 0.05) -> int:
    """Return the fewest seeds with which one of ``rows`` can be significantly better, if all its seeds are."""
    return next(n for n in count(1) if rows * sign_tail(n, n) <= alpha)
