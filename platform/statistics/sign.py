"""Rows against one fixed score, as of a predictor that has no seeds: which of them are surely better."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import count

from longwave.platform.statistics.scale import Scale, Score
from longwave.platform.statistics.stats import check_level

EQUAL = 1e-6
"""Relative difference of errors that rounding to float32 can make."""


def surely_better(rows: Sequence[Sequence[Score]], fixed: float, scale: Scale, alpha: float = 0.05) -> list[bool]:
    """Return which rows are surely better than a fixed score: a seed of theirs is, more often than not.

    The exact sign test of a row's seeds, adjusted over all rows by Hochberg's rule (Biometrika 1988). It asks nothing
    of the laws of the seeds but independence, so that the chance of any false claim is ``alpha`` at most whatever they
    are.
    A seed that equals the score counts against the row, and so does one that diverged.

    Args:
        rows: Test metrics of each row's seeds; None where a seed diverged.
        fixed: The score, in the same metric.

    Raises:
        ValueError: A row without seeds, or a level outside (0, 1).
    """
    check_level(alpha)
    tails = [sign_tail(seeds_better(seeds, fixed, scale), len(seeds)) for seeds in rows]
    # Hochberg: the largest p-value that passes at its step carries all smaller ones.
    steps = [p for k, p in enumerate(sorted(tails)) if p <= alpha / (len(tails) - k)]
    return [bool(steps) and p <= steps[-1] for p in tails]


def seeds_better(seeds: Sequence[Score], fixed: float, scale: Scale) -> int:
    """Return how many seeds are better than a fixed score; equal ones are not."""
    return sum(beats(score, fixed, scale) for score in seeds)


def beats(score: Score, other: Score, scale: Scale) -> bool:
    """Return whether a score is better than another by more than rounding.

    The least step of a median of accuracies is half a test item, ``scale.floor``; half of that is no step.
    """
    ours, theirs = scale.errors([score, other])
    return ours < theirs and not math.isclose(ours, theirs, rel_tol=EQUAL, abs_tol=scale.floor / 2)


def sign_tail(better: int, n: int) -> float:
    """Return the chance that ``better`` or more of ``n`` seeds are better, if each is as often better as not.

    Raises:
        ValueError: No seeds.
    """
    if n < 1:
        raise ValueError("A sign test needs at least one seed.")
    ways: int = sum(math.comb(n, k) for k in range(better, n + 1))
    return float(ways / 2**n)


def fewest_seeds(rows: int, alpha: float = 0.05) -> int:
    """Return the fewest seeds of each of ``rows`` with which one alone can be surely better: all of its own must be."""
    return next(n for n in count(1) if rows * sign_tail(n, n) <= alpha)
