"""Paired comparisons: two rows over equal seeds, and two models over tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from longwave.platform.statistics.contrast import factor, logs
from longwave.platform.statistics.scale import Scale, Score
from longwave.platform.statistics.stats import Estimate, check_level, diverged_share, summary

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

EXACT = 13
"""Most pairs for which all combinations of signs are enumerated: 8192."""


@dataclass(frozen=True)
class PairedContrast:
    """The first of two rows compared with the second, seed by seed, so that common effects of a seed cancel.

    Attributes:
        pairs: Number of equal seeds.
        better: Share of them in which the first is better, ties half, with its exact interval.
        ratio: Its error over the other's, of pairs in which both ended; see ``paired_ratio``.
        decision: ``better`` or ``worse`` by the sign test, else ``undecided``.
    """

    pairs: int
    better: Estimate
    ratio: Estimate | None
    decision: Literal["better", "worse", "undecided"]


def paired_contrast(a: Sequence[Score], b: Sequence[Score], scale: Scale, level: float = 0.95) -> PairedContrast:
    """Compare rows whose scores, (n,) each, have the same seeds and data order; a diverged seed is worst.

    The claim is that the first is better in more than half of all pairs. The sign test keeps its level for any
    distribution of the differences; ties count against a decision. Fewer than six pairs cannot decide at 95 %: five of
    five occur by chance in one case of 16.

    Raises:
        ValueError: No pairs, different numbers of scores, or a level outside (0, 1).
    """
    from scipy.special import bdtr

    check_level(level)
    pairs = list(zip(scale.errors(a), scale.errors(b), strict=True))
    if not pairs:
        raise ValueError("Paired rows need one seed in common at least.")
    n, wins, losses = len(pairs), sum(x < y for x, y in pairs), sum(x > y for x, y in pairs)
    ties = n - wins - losses
    low, high = diverged_share(wins, n, level).low, diverged_share(n - losses, n, level).high
    # Ties count for the other side of the test.
    significant = 2 * float(bdtr(n - max(wins, losses), n, 0.5)) <= 1 - level
    decision: Literal["better", "worse", "undecided"] = "undecided"
    if significant and wins != losses:
        decision = "better" if wins > losses else "worse"
    return PairedContrast(n, Estimate((wins + ties / 2) / n, low, high), paired_ratio(a, b, scale, level), decision)


def paired_ratio(a: Sequence[Score], b: Sequence[Score], scale: Scale, level: float = 0.95) -> Estimate | None:
    """Return the ratio of errors of rows whose scores, (n,) each, have the same seeds in order, by Student's t of logs.
    Pairs with a diverged seed are left out.
    """
    ended = [pair for pair in zip(a, b, strict=True) if None not in pair]
    ours, theirs = (logs([pair[side] for pair in ended], scale) for side in (0, 1))
    if not ours or not theirs:
        return None
    gap = summary([x - y for x, y in zip(ours, theirs, strict=True)])
    return factor(gap.mean, gap.interval(level))


def signed_rank(differences: NDArray[float64]) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test of ``differences``, (pairs,).

    Equal differences share their ranks, and ranks of zero differences are split between both sides: Demšar, Journal of
    Machine Learning Research 2006. Exact up to ``EXACT`` pairs; for more, scipy's test, which is exact if no two
    differences are equal and none is zero, and a normal approximation otherwise.

    Raises:
        ValueError: Fewer than two pairs.
    """
    import numpy as np
    from scipy.stats import permutation_test, rankdata, wilcoxon

    if len(differences) > EXACT:
        return float(wilcoxon(differences, zero_method="zsplit").pvalue)

    # Equals scipy's wilcoxon, which ranks separately for each choice of signs: a second for 13 tasks.
    def gained(d: NDArray[float64], axis: int) -> NDArray[float64]:
        """Sum the ranks of gains minus those of losses."""
        total: NDArray[float64] = np.sum(np.sign(d) * rankdata(abs(d), axis=axis), axis=axis)
        return total

    return float(permutation_test((differences,), gained, permutation_type="samples", vectorized=True).pvalue)
