"""What few seeds hide: a row that looks steady by luck. The other rows of its board say how likely that is.

Five equal seeds show no spread, and nothing in them tells a row that learns always from one that learns every other
time and was lucky five times: chance does that once in 16 rows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

QUARTILE = 0.75
"""Of the variances of the other rows: what a row's own variance is taken to be at least."""
ALONE = 1.5
"""By which the variance of a single other row is multiplied, in place of a quartile."""
PARTED = 0.25
"""Share of a row's seeds that lie on either side of a jump."""
JUMP = 0.5
"""Share of a row's range from which on the distance of two neighbouring seeds parts it in two."""


def least_variance(variances: NDArray[float64], i: NDArray[Any], j: NDArray[Any]) -> NDArray[float64]:
    """Return the upper quartile of the variances, (rows,), of all rows but i and j, (pairs,); 0 without other rows."""
    import numpy as np

    others = len(variances) - 2
    if others < 2:
        spare = variances.sum() - variances[i] - variances[j]
        return np.asarray(ALONE * others * np.maximum(0.0, spare))
    order = np.argsort(variances, kind="stable")
    ordered = variances[order]
    place = np.empty(len(variances), dtype=int)
    place[order] = np.arange(len(variances))
    first, second = np.minimum(place[i], place[j]), np.maximum(place[i], place[j])

    def value(k: int) -> NDArray[float64]:
        """Return the k-th smallest of the others: those behind a row left out move up by one."""
        at = k + (k >= first)
        return np.asarray(ordered[at + (at >= second)])

    whole, part = divmod(QUARTILE * (others - 1), 1)
    low, high = value(int(whole)), value(min(int(whole) + 1, others - 1))
    return low + part * (high - low)


def jumps(values: NDArray[float64]) -> NDArray[float64]:
    """Return the largest distance of two neighbouring seeds that parts each row in two kinds, (rows,).

    Two seeds at least and a quarter of all lie on either side, else it is no sign that both come about as often. It is
    infinite where those of one side diverged, and 0 where nothing parts the row.

    Args:
        values: Of seeds, (rows, seeds): infinite where diverged, nan where there is none.
    """
    import numpy as np

    with np.errstate(invalid="ignore"):
        steps = np.diff(np.sort(values, axis=1), axis=1)
    below, n = np.arange(1, steps.shape[1] + 1), np.sum(~np.isnan(values), axis=1)[:, None]
    inner = np.minimum(below, n - below) >= np.maximum(2, np.ceil(PARTED * n))
    return np.asarray(np.where(inner & ~np.isnan(steps), steps, 0.0).max(1, initial=0.0))


def count_wider(steps: NDArray[float64], gaps: NDArray[float64], i: NDArray[Any], j: NDArray[Any]) -> NDArray[Any]:
    """Return how many rows but i and j jump at least as far as the gap of each pair, (pairs,)."""
    import numpy as np

    wide = len(steps) - np.searchsorted(np.sort(steps), gaps)
    own = (steps[i] >= gaps).astype(int) + (steps[j] >= gaps)
    return np.asarray(np.where(gaps > 0, wide - own, 0))


def steady_by_luck(parted: NDArray[Any], fewest: NDArray[Any]) -> NDArray[float64]:
    """Return how many rows like ``parted`` others, and of the pair one, are expected to show all seeds on one side.

    A row that falls on either side in half of all cases does so with probability 2¹⁻ⁿ. It is 0 where no other is
    parted.
    """
    import numpy as np

    return np.asarray(np.where(parted > 0, (parted + 1) * 2.0 ** (1 - fewest), 0.0))


def enough_seeds_for(parted: int, alpha: float = 0.05) -> int:
    """Return the least number of seeds with which so many ``parted`` rows leave a luck of ``alpha`` at most."""
    return math.ceil(1 + math.log2((parted + 1) / alpha))


def side_p(table: NDArray[float64], i: NDArray[Any], j: NDArray[Any]) -> NDArray[float64]:
    """Return the p-value of the sides on which one row's seeds lie of the other row, (pairs,); 0 for most pairs.

    Where a row lies wholly between two neighbouring seeds of the other, and these part the other in two (``JUMP``, or
    all on one side diverged), only the number of seeds on either side speaks: the sign test. Mann and Whitney's takes
    the pairs of seeds for as many witnesses, and a row that does not spread multiplies them.

    Args:
        table: Errors of seeds or a rising function of them, (rows, seeds): infinite where diverged, nan where none.
    """
    import numpy as np

    return np.maximum(_side_of(table, i, j), _side_of(table, j, i))


def _side_of(table: NDArray[float64], parted: NDArray[Any], whole: NDArray[Any]) -> NDArray[float64]:
    """Return ``side_p`` where ``whole`` lies between seeds of ``parted``."""
    import numpy as np
    from scipy.special import bdtr

    there = ~np.isnan(table)
    best = np.where(there, table, np.inf).min(1)[whole, None]
    worst = np.where(there, table, -np.inf).max(1)[whole, None]
    seeds = table[parted]
    with np.errstate(invalid="ignore"):
        below, above = seeds < best, seeds > worst
    n, low, high = there.sum(1)[parted], below.sum(1), above.sum(1)
    top = np.where(below, seeds, -np.inf).max(1)
    bottom = np.where(above, seeds, np.inf).min(1)
    finite = np.isfinite(table)
    width = np.where(finite, table, -np.inf).max(1) - np.where(finite, table, np.inf).min(1)
    between = (low + high == n) & (low > 0) & (high > 0) & (bottom - top >= JUMP * width[parted])
    return np.asarray(np.where(between, np.minimum(1.0, 2 * bdtr(np.minimum(low, high), n, 0.5)), 0.0))
