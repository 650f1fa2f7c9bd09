"""A test of pairs: whether two models differ over tasks, each of which is one pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

EXACT = 13
"""Most pairs for which the sums of all signs are counted: 8192 sums."""


def signed_rank(differences: NDArray[float64]) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test of ``differences``, (pairs,).

    Equal differences share their ranks, and a difference of zero has one, too, which speaks for neither side: Demšar,
    Journal of Machine Learning Research 2006. Exact up to ``EXACT`` pairs; of more, scipy's, which is exact where no
    two are equal and none is zero, and a normal approximation elsewhere.

    Raises:
        ValueError: Fewer than two pairs.
    """
    import numpy as np
    from scipy.stats import permutation_test, rankdata, wilcoxon

    if len(differences) > EXACT:
        return float(wilcoxon(differences, zero_method="zsplit").pvalue)

    # The same as scipy's wilcoxon, which ranks under one choice of signs after the other: a second for 13 tasks.
    def gained(d: NDArray[float64], axis: int) -> NDArray[float64]:
        """Sum the ranks of gains, less those of losses."""
        total: NDArray[float64] = np.sum(np.sign(d) * rankdata(abs(d), axis=axis), axis=axis)
        return total

    return float(permutation_test((differences,), gained, permutation_type="samples", vectorized=True).pvalue)
