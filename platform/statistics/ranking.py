"""Ranks on one task: who is surely better than whom, which ranks a row can have, which rows are tied."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations

from longwave.platform.statistics.stats import Summary, check_level, direction


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
    check_level(alpha)
    sign, p = direction(goal), p_values(rows)
    order = sorted(range(len(rows)), key=lambda i: -sign * rows[i].mean)
    place = {row: k for k, row in enumerate(order)}
    better = [[j for j in order[: place[i]] if p[i][j] <= alpha] for i in range(len(rows))]
    worse = [[j for j in order[place[i] :] if p[i][j] <= alpha] for i in range(len(rows))]
    starts = list(accumulate((max((place[j] + 1 for j in better[i]), default=0) for i in order), max))
    groups = [range(start, k + 1) for k, start in enumerate(starts) if k + 1 == len(starts) or starts[k + 1] > start]
    return [
        Standing(
            low=1 + len(better[i]),
            high=len(rows) - len(worse[i]),
            ties=tuple(k for k, group in enumerate(groups) if place[i] in group),
        )
        for i in range(len(rows))
    ]


def p_values(rows: Sequence[Summary]) -> list[list[float]]:
    """Return Holm's adjusted p-value of each pair of rows being equal, (rows, rows), 1 on the diagonal.

    The tests are Welch's with cautious degrees of freedom; two rows without any spread are compared by the exact
    permutation test (``stats.Difference``). A row without a std (n = 1) is told from nobody and burdens nobody: its
    pairs are 1 and no part of the family, which what was measured cannot change.
    """
    table = [[1.0] * len(rows) for _ in rows]
    known = [k for k, row in enumerate(rows) if row.std is not None]
    pairs = list(combinations(known, 2))
    for (i, j), p in zip(pairs, holm(_welch([rows[k] for k in known])), strict=True):
        table[i][j] = table[j][i] = p
    return table


def _welch(rows: Sequence[Summary]) -> list[float]:
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
    for k in np.flatnonzero(~spread):
        p[k] = (2 / math.comb(rows[a[k]].n + rows[b[k]].n, rows[a[k]].n)) if gap[k] else 1.0
    return [float(value) for value in p]


def holm(p: Sequence[float]) -> list[float]:
    """Return p-values adjusted so that the chance of any false rejection in the family, (m,), is kept.

    Source: Holm, Scandinavian Journal of Statistics 1979.
    """
    import numpy as np

    values, m = np.array(p, dtype=float), len(p)
    order = np.argsort(values)
    adjusted = np.empty(m)
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, (m - np.arange(m)) * values[order]))
    return [float(value) for value in adjusted]


def letters(ties: Sequence[int]) -> str:
    """Return tie groups as letters: ``(0, 1)`` is "ab", ``(26,)`` is "a1"."""
    return "".join(chr(ord("a") + k % 26) + (str(k // 26) if k > 25 else "") for k in ties)
