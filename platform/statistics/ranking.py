"""Ranks on one task: who is surely better than whom, which ranks a row can have, which rows are tied."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from longwave.platform.statistics.stats import Summary, check_level, direction

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Standing:
    """Where a row stands in its pool.

    Attributes:
        low, high: Best and worst rank it can have, from 1.
        ties: Numbers of the tie groups it belongs to, from 0 at the best row; never empty.
    """

    low: int
    high: int
    ties: tuple[int, ...]


def standings(rows: Sequence[Summary], goal: str, alpha: float = 0.05) -> list[Standing]:
    """Return the standing of each row of one task.

    A row is surely better than another where ``p_values`` tells them apart at ``alpha``; its ranks run from 1 + the
    number of rows surely better to the number of rows less those surely worse. All ranges together hold the true
    ranks with probability 1 − alpha, so a board of equal models shows any strict order with probability alpha at most.
    Source of the ranges: Mogstad, Romano, Shaikh and Wilhelm, Review of Economic Studies 2024.

    A tie group is as many consecutive rows, in order of the mean, as hold no two rows told apart. Rows that share one
    are not told apart; two rows that share none may yet not be, where a row between them differs from either.
    """
    import numpy as np

    check_level(alpha)
    order = np.argsort([-direction(goal) * row.mean for row in rows], kind="stable")
    apart = p_values(rows)[order][:, order] <= alpha
    before = np.tril(apart, -1)
    lows, highs = 1 + before.sum(1), len(rows) - np.triu(apart, 1).sum(1)
    # A group reaches back to behind the last row told apart from any of its rows; it is kept if none holds it whole.
    starts = np.maximum.accumulate((before * np.arange(1, len(rows) + 1)).max(1, initial=0))
    groups = [(int(start), k) for k, start in enumerate(starts) if k + 1 == len(starts) or starts[k + 1] > start]
    found = {}
    for k, row in enumerate(order):
        first, last = bisect_left(groups, k, key=lambda g: g[1]), bisect_right(groups, k, key=lambda g: g[0])
        found[int(row)] = Standing(int(lows[k]), int(highs[k]), tuple(range(first, last)))
    return [found[i] for i in range(len(rows))]


def p_values(rows: Sequence[Summary]) -> NDArray[float64]:
    """Return Holm's adjusted p-value of each pair of rows being equal, (rows, rows), 1 on the diagonal.

    The tests are Welch's with cautious degrees of freedom; two rows without any spread are compared by the exact
    permutation test (``stats.Difference``). A row without a std (n = 1) is told from nobody and burdens nobody: its
    pairs are 1 and no part of the family, which what was measured cannot change.
    """
    import numpy as np

    table = raw_p_values(rows)
    known = np.array([k for k, row in enumerate(rows) if row.std is not None], dtype=int)
    i, j = (known[side] for side in np.triu_indices(len(known), 1))
    table[i, j] = table[j, i] = holm(table[i, j])
    return table


def raw_p_values(rows: Sequence[Summary]) -> NDArray[float64]:
    """Return the p-value of each pair of rows being equal by itself, not adjusted, (rows, rows); see ``p_values``.

    It is 1 on the diagonal and for a row without a std.
    """
    import numpy as np

    table = np.ones((len(rows), len(rows)))
    known = np.array([k for k, row in enumerate(rows) if row.std is not None], dtype=int)
    i, j = (known[side] for side in np.triu_indices(len(known), 1))
    table[i, j] = table[j, i] = _welch([rows[k] for k in known])
    return table


def _welch(rows: Sequence[Summary]) -> NDArray[float64]:
    """Return ``difference(a, b, cautious=True).p_value`` of each pair, for all pairs at once: boards are large."""
    import numpy as np
    from scipy.special import stdtr

    a, b = np.triu_indices(len(rows), 1)
    mean, std, n = np.array([(row.mean, row.std, row.n) for row in rows]).reshape(-1, 3).T
    errors, gap = std / np.sqrt(n), np.abs(mean[a] - mean[b])
    error = np.hypot(errors[a], errors[b])
    spread = error > 0
    scale = np.where(spread, error, 1.0)
    inverse = np.maximum((errors[a] / scale) ** 2 / (n[a] - 1), (errors[b] / scale) ** 2 / (n[b] - 1))
    with np.errstate(over="ignore"):
        p = 2 * stdtr(1 / np.where(spread, inverse, 1.0), -gap / scale)
    # Pairs without spread had a scale of 1 put in, not to divide by 0.
    for k in np.flatnonzero(~spread):
        p[k] = (2 / math.comb(rows[a[k]].n + rows[b[k]].n, rows[a[k]].n)) if gap[k] else 1.0
    return np.asarray(p)


def holm(p: Sequence[float] | NDArray[float64]) -> NDArray[float64]:
    """Return p-values adjusted so that the chance of any false rejection in the family, (m,), is kept.

    Source: Holm, Scandinavian Journal of Statistics 1979.
    """
    import numpy as np

    values, m = np.asarray(p, dtype=float), len(p)
    order = np.argsort(values)
    adjusted = np.empty(m)
    # The running maximum: a larger p-value is never adjusted to a smaller one.
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, (m - np.arange(m)) * values[order]))
    return adjusted


def letters(ties: Sequence[int]) -> str:
    """Return tie groups as letters: ``(0, 1)`` is "ab", ``(26,)`` is "a1"."""
    return "".join(chr(ord("a") + k % 26) + (str(k // 26) if k > 25 else "") for k in ties)
