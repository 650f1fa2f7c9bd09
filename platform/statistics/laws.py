"""Null distributions of rank statistics of two rows, over all ways to split the pooled seeds in two.

They depend only on the numbers of seeds and on ties, not on scores, so each is computed once and cached.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy import bool_, float64
    from numpy.typing import NDArray

Ties = tuple[int, ...]
"""Numbers of equal values among two rows' pooled seeds, best first: (1, 1, …, 1) if all differ."""
EXACT = 100
"""Most pooled seeds for the exact distribution of Mann and Whitney's U; beyond, the normal one is as good."""
SPLITS = 200_000
"""Most splits of the pooled seeds that are enumerated: 10 against 10 have 184 756."""
DRAWS = 100_000
"""Number of random splits if there are more."""


@lru_cache(4096)
def rank_tail(first: int, ties: Ties) -> NDArray[float64]:
    """Return Mann and Whitney's exact two-sided p-value for each doubled U from 0 on, (2 n₁ n₂ + 1,).

    U counts the pairs of seeds in which the first row's is worse, ties half; n₁ is ``first``. The p-value is the
    probability of a U at least as far from n₁ n₂ / 2, given the ties: Mann and Whitney, Annals of Mathematical
    Statistics 1947.
    """
    import numpy as np

    n = sum(ties)
    pairs = first * (n - first)
    away = np.abs(np.arange(2 * pairs + 1) - pairs)
    if n > EXACT:
        from scipy.special import ndtr

        variance = pairs * (n + 1 - sum(t**3 - t for t in ties) / (n * (n - 1))) / 3
        return np.asarray(np.minimum(1.0, 2 * ndtr(-np.maximum(0, away - 1) / math.sqrt(variance or 1.0))))
    # Rows: seeds taken for the first row; columns: their doubled midranks' sum, which is 2U + n₁ (n₁ + 1).
    law = np.zeros((first + 1, first * (2 * n - first + 1) + 1))
    law[0, 0] = 1
    for rank in np.repeat(midranks(ties), ties).tolist():
        law[1:, rank:] += law[:-1, :-rank]
    ways = np.bincount(away, law[first, first * (first + 1) :])
    return np.asarray((np.cumsum(ways[::-1])[::-1] / math.comb(n, first))[away])


def midranks(ties: Ties) -> NDArray[Any]:
    """Return the doubled rank that equal values share, (len(ties),), from 2 for a single best one."""
    import numpy as np

    return np.asarray(2 * np.cumsum(ties) - np.array(ties) + 1)


@lru_cache(64)
def studentised_tail(first: int, ties: Ties) -> NDArray[float64]:
    """Return all absolute values of ``studentised`` over the splits, or over ``DRAWS`` of them, ascending."""
    import numpy as np

    return np.sort(np.abs(studentised(_splits(first, sum(ties)), ties)))


def studentised_p(split: NDArray[bool_], ties: Ties) -> float:
    """Return the two-sided p-value of Brunner and Munzel's statistic by its permutation distribution.

    Source: Neubert and Brunner, Computational Statistics and Data Analysis 2007.

    Args:
        split: Which of the pooled seeds, best first, are the first row's, (n₁ + n₂,).
        ties: Their ties.
    """
    import numpy as np

    first = int(split.sum())
    tail = studentised_tail(first, ties)
    observed = abs(float(studentised(split[None], ties)[0]))
    # Equal fractions may differ in the last digit as floats.
    beyond = len(tail) - int(np.searchsorted(tail, observed * (1 - 1e-9)))
    drawn = math.comb(len(split), first) > SPLITS
    return (beyond + drawn) / (len(tail) + drawn)


def studentised(splits: NDArray[bool_], ties: Ties) -> NDArray[float64]:
    """Return Brunner and Munzel's statistic of each split, (splits,); infinite if rows are completely separated. It is
    (θ − ½) over its standard error from the placements, the number of the other row's seeds that each seed is worse
    than: Brunner and Munzel, Biometrical Journal 2000. Placements are doubled to be integers.
    """
    import numpy as np

    # The sums of squares of more than EXACT seeds need more than 32 bits.
    integer: Any = np.int32 if sum(ties) <= EXACT else np.int64
    ends = np.cumsum(ties)
    sums = np.cumsum(splits, axis=1, dtype=integer)[:, ends - 1]
    inside: NDArray[Any] = np.diff(sums, axis=1, prepend=integer(0))
    lower: NDArray[Any] = 2 * sums - inside
    upper: NDArray[Any] = midranks(ties).astype(integer) - 1 - lower
    n1, n = int(splits[0].sum()), splits.shape[1]
    n2 = n - n1
    total = np.einsum("ij,ij->i", inside, upper)
    spread = np.einsum("ij,ij,ij->i", inside, upper, upper) * n1 - total**2
    of_second = np.array(ties, dtype=integer) - inside
    others = np.einsum("ij,ij->i", of_second, lower)
    scatter = np.einsum("ij,ij,ij->i", of_second, lower, lower) * n2 - others**2
    variance = spread / (n1 - 1) + scatter / (n2 - 1)
    gap = (total - n1 * n2).astype(float)
    fallback = np.where(gap == 0, 0.0, np.copysign(np.inf, gap))
    return np.asarray(np.divide(gap, np.sqrt(variance), out=fallback, where=variance > 0))


@lru_cache(8)
def _splits(first: int, n: int) -> NDArray[bool_]:
    """Return which seeds belong to the first row, (splits, n): all splits, or the same ``DRAWS`` random ones."""
    import numpy as np

    if math.comb(n, first) <= SPLITS:
        combined = chain.from_iterable(combinations(range(n), first))
        indices = np.fromiter(combined, np.int64, first * math.comb(n, first)).reshape(-1, first)
    else:
        rng: np.random.Generator = np.random.default_rng(0)
        indices = np.argpartition(rng.random((DRAWS, n), dtype=np.float32), first, axis=1)[:, :first]
    splits = np.zeros((len(indices), n), dtype=bool)
    np.put_along_axis(splits, indices, True, axis=1)
    return splits
