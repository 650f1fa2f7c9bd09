"""Guards against rows of few seeds that look stable by luck, estimated from the other rows of the board.

Five equal seeds have no spread, and do not show whether a row always learns, or learns every other time and was lucky
five times, which happens by chance to one row in 16.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

QUARTILE = 0.75
"""Quantile of the variances of the other rows that is the lower bound on a row's variance."""
ALONE = 1.5
"""Factor of the variance of a single other row, instead of a quartile."""
PARTED = 0.25
"""Least share of a row's seeds on either side of a jump."""
JUMP = 0.5
"""Share of a row's range from which on the distance of two neighbouring seeds splits the row in two."""


def least_variance(variances: NDArray[float64], i: NDArray[Any], j: NDArray[Any]) -> NDArray[float64]:
    """Return the upper quartile of the variances, (rows,), of all rows except i and j, (pairs,); 0 without other
    rows."""
    import numpy as np

    others = len(variances) - 2
    if others < 2:
        spare = variances.sum() - variances[i] - variances[j]
        return np.asarray(ALONE * others * np.maximum(0.0, spare))
    order = np.argsort(variances, kind="stable")
    ordered = variances[order]
    position = np.empty(len(variances), dtype=int)
    position[order] = np.arange(len(variances))
    first, second = np.minimum(position[i], position[j]), np.maximum(position[i], position[j])

    def value(k: int) -> NDArray[float64]:
        """Return the k-th smallest variance of the others, skipping both rows of the pair."""
        at = k + (k >= first)
        return np.asarray(ordered[at + (at >= second)])

    whole, part = divmod(QUARTILE * (others - 1), 1)
    low, high = value(int(whole)), value(min(int(whole) + 1, others - 1))
    return low + part * (high - low)


def jumps(values: NDArray[float64]) -> NDArray[float64]:
    """Return the largest distance of two neighbouring seeds that splits each row in two groups, (rows,). Each group
    must have at least two seeds and a quarter of all, else it is not evidence that both outcomes are frequent. The
    distance is infinite if one group diverged, and 0 if nothing splits the row.

    Args:
        values: Values of seeds, (rows, seeds): infinite if diverged, nan for missing ones.
    """
    import numpy as np

    with np.errstate(invalid="ignore"):
        steps = np.diff(np.sort(values, axis=1), axis=1)
    below, n = np.arange(1, steps.shape[1] + 1), np.sum(~np.isnan(values), axis=1)[:, None]
    inner = np.minimum(below, n - below) >= np.maximum(2, np.ceil(PARTED * n))
    return np.asarray(np.where(inner & ~np.isnan(steps), steps, 0.0).max(1, initial=0.0))


def count_wider(steps: NDArray[float64], gaps: NDArray[float64], i: NDArray[Any], j: NDArray[Any]) -> NDArray[Any]:
    """Return the number of rows except i and j with a jump of at least the gap of each pair, (pairs,)."""
    import numpy as np

    wide = len(steps) - np.searchsorted(np.sort(steps), gaps)
    of_pair = (steps[i] >= gaps).astype(int) + (steps[j] >= gaps)
    return np.asarray(np.where(gaps > 0, wide - of_pair, 0))


def steady_by_luck(parted: NDArray[Any], fewest: NDArray[Any]) -> NDArray[float64]:
    """Return the expected number of rows, among ``parted`` others and one of the pair, with all seeds on one side by
    luck. A row whose seeds fall on either side in half of all cases does so with probability 2¹⁻ⁿ. It is 0 if no other
    row is split.
    """
    import numpy as np

    return np.asarray(np.where(parted > 0, (parted + 1) * 2.0 ** (1 - fewest), 0.0))


def enough_seeds_for(parted: int, alpha: float = 0.05) -> int:
    """Return the smallest number of seeds for which ``steady_by_luck`` of ``parted`` rows is at most ``alpha``."""
    return math.ceil(1 + math.log2((parted + 1) / alpha))


def side_p(table: NDArray[float64], i: NDArray[Any], j: NDArray[Any]) -> NDArray[float64]:
    """Return the p-value of a sign test of one row's seeds against the other row as a point, (pairs,); 0 for most
    pairs. It applies if a row lies entirely between two neighbouring seeds of the other, and these split the other in
    two (``JUMP``, or all on one side diverged): then only the number of seeds on either side is evidence. Mann and
    Whitney's test would count all pairs of seeds as independent evidence, although a row without spread only repeats
    it.

    Args:
        table: Errors of seeds or an increasing function of them, (rows, seeds): infinite if diverged, nan if missing.
    """
    import numpy as np

    return np.maximum(_side_of(table, i, j), _side_of(table, j, i))


def _side_of(table: NDArray[float64], parted: NDArray[Any], whole: NDArray[Any]) -> NDArray[float64]:
    """Return ``side_p`` for rows ``whole`` that lie between seeds of ``parted``."""
    import numpy as np
    from scipy.special import bdtr

    present = ~np.isnan(table)
    best = np.where(present, table, np.inf).min(1)[whole, None]
    worst = np.where(present, table, -np.inf).max(1)[whole, None]
    seeds = table[parted]
    with np.errstate(invalid="ignore"):
        below, above = seeds < best, seeds > worst
    n, low, high = present.sum(1)[parted], below.sum(1), above.sum(1)
    top = np.where(below, seeds, -np.inf).max(1)
    bottom = np.where(above, seeds, np.inf).min(1)
    finite = np.isfinite(table)
    width = np.where(finite, table, -np.inf).max(1) - np.where(finite, table, np.inf).min(1)
    between = (low + high == n) & (low > 0) & (high > 0) & (bottom - top >= JUMP * width[parted])
    return np.asarray(np.where(between, np.minimum(1.0, 2 * bdtr(np.minimum(low, high), n, 0.5)), 0.0))
