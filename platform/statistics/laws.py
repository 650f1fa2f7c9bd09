"""What rank statistics of two rows do by chance alone: their laws over all ways to split the pooled seeds in two.

They depend on the numbers of seeds and on which ranks are tied, on no score: each is computed once and kept.
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
"""Numbers of equal values among two rows' pooled seeds, best first: (1, 1, …, 1) where all differ."""
EXACT = 100
"""Pooled seeds up to which Mann and Whitney's law is counted out; the normal law is as good beyond."""
SPLITS = 200_000
"""Ways to split the pooled seeds up to which all are enumerated: 10 against 10 are 184 756."""
DRAWS = 100_000
"""Ways drawn where there are more."""


@lru_cache(4096)
def rank_tail(first: int, ties: Ties) -> NDArray[float64]:
    """Return Mann and Whitney's exact two-sided p-value for each doubled U from 0 on, (2 n₁ n₂ + 1,).

    U counts the pairs of seeds of which the first row's is worse, ties half; n₁ is ``first``. It is the chance of a U
    at least as far from n₁ n₂ / 2, given the ties: Mann and Whitney, Annals of Mathematical Statistics 1947.
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
    """Return the two-sided p-value of Brunner and Munzel's statistic by its permutation law.

    Source: Neubert and Brunner, Computational Statistics and Data Analysis 2007.

    Args:
        split: Which of the pooled seeds, best first, are the first row's, (n₁ + n₂,).
        ties: Their ties.
    """
    import numpy as np

    first = int(split.sum())
    tail = studentised_tail(first, ties)
    seen = abs(float(studentised(split[None], ties)[0]))
    # Values that are equal as fractions may differ in the last digit.
    beyond = len(tail) - int(np.searchsorted(tail, seen * (1 - 1e-9)))
    drawn = math.comb(len(split), first) > SPLITS
    return (beyond + drawn) / (len(tail) + drawn)


def studentised(splits: NDArray[bool_], ties: Ties) -> NDArray[float64]:
    """Return Brunner and Munzel's statistic of each split, (splits,); infinite where rows are wholly apart.

    It is (θ − ½) over its standard error from the placements, the numbers of the other row's seeds that each seed is
    worse than: Brunner and Munzel, Biometrical Journal 2000. All is in doubled placements, which are whole numbers.
    """
    import numpy as np

    # The sums of squares of more than EXACT seeds need more than 32 bits.
    whole: Any = np.int32 if sum(ties) <= EXACT else np.int64
    ends = np.cumsum(ties)
    sums = np.cumsum(splits, axis=1, dtype=whole)[:, ends - 1]
    inside: NDArray[Any] = np.diff(sums, axis=1, prepend=whole(0))
    lower: NDArray[Any] = 2 * sums - inside
    upper: NDArray[Any] = midranks(ties).astype(whole) - 1 - lower
    n1, n = int(splits[0].sum()), splits.shape[1]
    n2 = n - n1
    total = np.einsum("ij,ij->i", inside, upper)
    spread = np.einsum("ij,ij,ij->i", inside, upper, upper) * n1 - total**2
    rest = np.array(ties, dtype=whole) - inside
    others = np.einsum("ij,ij->i", rest, lower)
    scatter = np.einsum("ij,ij,ij->i", rest, lower, lower) * n2 - others**2
    variance = spread / (n1 - 1) + scatter / (n2 - 1)
    gap = (total - n1 * n2).astype(float)
    apart = np.where(gap == 0, 0.0, np.copysign(np.inf, gap))
    return np.asarray(np.divide(gap, np.sqrt(variance), out=apart, where=variance > 0))


@lru_cache(8)
def _splits(first: int, n: int) -> NDArray[bool_]:
    """Return which seeds go to the first row, (splits, n): all ways, or ``DRAWS`` of them, always the same."""
    import numpy as np

    if math.comb(n, first) <= SPLITS:
        combined = chain.from_iterable(combinations(range(n), first))
        chosen = np.fromiter(combined, np.int64, first * math.comb(n, first)).reshape(-1, first)
    else:
        rng: np.random.Generator = np.random.default_rng(0)
        chosen = np.argpartition(rng.random((DRAWS, n), dtype=np.float32), first, axis=1)[:, :first]
    splits = np.zeros((len(chosen), n), dtype=bool)
    np.put_along_axis(splits, chosen, True, axis=1)
    return splits
