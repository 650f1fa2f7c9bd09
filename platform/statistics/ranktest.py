"""Tests of pairs of rows by their seeds: Mann and Whitney's, Brunner and Munzel's, and Welch's on logs of errors.

They test whether a seed of one row is better than one of the other in more than half of all cases. A diverged seed is
worse than any other; two diverged seeds are equal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from longwave.platform.statistics.few_seeds import count_wider, jumps, least_variance, side_p
from longwave.platform.statistics.laws import Ties, rank_tail, studentised_p
from longwave.platform.statistics.scale import LEAST

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

    from longwave.platform.statistics.scale import Scale, Score

STEADIER = 4
"""Further degrees of freedom of a board's minimal variance, because it is estimated from many rows."""


@dataclass(frozen=True)
class PairTests:
    """Test results of each pair of rows i < j, as arrays, (pairs,), in the order of ``numpy.triu_indices``.

    Attributes:
        first, second: Rows i and j.
        better: Share of pairs of seeds in which that of i is better, ties half.
        p_rank: Mann and Whitney's exact two-sided p-value.
        p_log: Welch's on logs of errors; ``p_rank`` if there is no variance, or a row has no seed that ended.
        p_few: The same for few seeds: variances are at least ``few_seeds.least_variance``, with ``STEADIER`` more
            degrees of freedom. If a row has no seed that ended, at least the smallest p-value of ranks for n against
            n seeds.
        gap: How much better the mean log error of i is: the direction of ``p_log`` and of ``p_few``.
        separation: Smallest possible p-value of ranks for these numbers of seeds: 2 / C(n₁ + n₂, n₁).
        fewest: Seeds of the smaller row.
        parted: Number of other rows whose seeds jump at least as far as the two rows differ: ``few_seeds.jumps``.
        p_side: Sign test of one row's seeds against the other row; see ``few_seeds.side_p``.
    """

    first: NDArray[Any]
    second: NDArray[Any]
    better: NDArray[float64]
    p_rank: NDArray[float64]
    p_log: NDArray[float64]
    p_few: NDArray[float64]
    gap: NDArray[float64]
    separation: NDArray[float64]
    fewest: NDArray[Any]
    parted: NDArray[Any]
    p_side: NDArray[float64]


def errors(rows: Sequence[Sequence[Score]], scale: Scale) -> NDArray[float64]:
    """Return the errors of each row's seeds, (rows, seeds): infinite if diverged, padded with nan.

    Raises:
        ValueError: A score is not finite; the message names its row.
    """
    import numpy as np

    table = np.full((len(rows), max(map(len, rows), default=0)), np.nan)
    for k, row in enumerate(rows):
        table[k, : len(row)] = scale.errors(row)
        if not all(map(math.isfinite, (score for score in row if score is not None))):
            raise ValueError(f"Scores are finite, or None where a seed diverged; row {k} has {list(row)}.")
    return table


def pair_tests(table: NDArray[float64], scale: Scale) -> PairTests:
    """Return the tests of all pairs of rows of ``errors``, each of at least two seeds.

    Raises:
        ValueError: A row of fewer than two seeds.
    """
    import numpy as np

    n = np.sum(~np.isnan(table), axis=1)
    if (n < 2).any():
        raise ValueError(f"A test needs two seeds of each row, got {n.tolist()}.")
    i, j = np.triu_indices(len(table), 1)
    doubled_losses, tied = _compared(table)
    doubled, pairs = doubled_losses[i, j], n[i] * n[j]
    p_rank, separation = np.empty(len(i)), np.empty(len(i))
    # There are few sizes of rows, and pairs without ties have one pattern per size, so tables are shared.
    for a, b in sorted(set(zip(n[i].tolist(), n[j].tolist(), strict=True))):
        of_size = (n[i] == a) & (n[j] == b)
        separation[of_size] = 2 / math.comb(a + b, a)
        clear, with_ties = of_size & ~tied[i, j], np.flatnonzero(of_size & tied[i, j])
        p_rank[clear] = rank_tail(a, (1,) * (a + b))[doubled[clear]]
        for ties, matching in _patterns(np.concatenate([table[i[with_ties], :a], table[j[with_ties], :b]], axis=1)):
            p_rank[with_ties[matching]] = rank_tail(a, ties)[doubled[with_ties[matching]]]
    p_log, p_few, gap, parted = _welch(table, n, scale, i, j)
    fewest = np.minimum(n[i], n[j])
    # Without variance, or without finite seeds in a row, only ranks give a p-value.
    lost_all = np.isfinite(table).sum(1) == 0
    undefined = np.isnan(p_log) | lost_all[i] | lost_all[j]
    p_log[undefined], gap[undefined] = p_rank[undefined], (pairs - doubled)[undefined]
    smallest_p = {q: 2 / math.comb(2 * q, q) for q in set(fewest.tolist())}
    undefined = np.isnan(p_few) | lost_all[i] | lost_all[j]
    p_few[undefined] = np.maximum(p_rank, [smallest_p[q] for q in fewest.tolist()])[undefined]
    better = 1 - doubled / (2 * pairs)
    return PairTests(i, j, better, p_rank, p_log, p_few, gap, separation, fewest, parted, side_p(table, i, j))


def studentised(a: NDArray[float64], b: NDArray[float64]) -> float:
    """Return Brunner and Munzel's two-sided p-value of two rows of ``errors`` by its permutation distribution."""
    import numpy as np

    pooled = np.concatenate([a, b])
    order = np.argsort(pooled)
    split, ordered = order < len(a), pooled[order]
    present = ~np.isnan(ordered)
    return studentised_p(split[present], _ties(ordered[present]))


def _ties(ordered: NDArray[float64]) -> Ties:
    """Return the multiplicity of each value in ``ordered``."""
    import numpy as np

    ends = np.flatnonzero(np.append(ordered[1:] > ordered[:-1], True)) + 1
    return tuple(np.diff(ends, prepend=0).tolist())


def _compared(table: NDArray[float64]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return twice the number of seed pairs in which row i's is worse than row j's, ties half, and which pairs of rows
    have ties, (m, m)."""
    import numpy as np

    present, m = ~np.isnan(table), len(table)
    pooled, owner = table[present], np.nonzero(present)[0]
    order = np.argsort(pooled)
    ordered = pooled[order]
    counts = np.zeros((len(pooled) + 1, m), dtype=int)
    np.cumsum(owner[order][:, None] == np.arange(m), axis=0, out=counts[1:])
    # Numbers of seeds of each row that are better than each seed, and no worse.
    better = counts[np.searchsorted(ordered, pooled)]
    no_worse = counts[np.searchsorted(ordered, pooled, side="right")]
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    equal = np.add.reduceat(no_worse - better, starts, axis=0)
    has_ties = np.diag(equal) > present.sum(1)
    tied = (equal > 0) | has_ties | has_ties[:, None]
    return np.add.reduceat(better + no_worse, starts, axis=0), tied


def _patterns(pooled: NDArray[float64]) -> Iterator[tuple[Ties, NDArray[Any]]]:
    """Yield each pattern of ties among pairs' seeds, (pairs, n₁ + n₂), with the indices of the pairs that have it."""
    import numpy as np

    if not len(pooled):
        return
    ordered = np.sort(pooled, axis=1)
    steps = np.packbits(ordered[:, 1:] > ordered[:, :-1], axis=1)
    _, first, inverse = np.unique(steps.view(f"V{steps.shape[1]}")[:, 0], return_index=True, return_inverse=True)
    for k, example in enumerate(first.tolist()):
        yield _ties(ordered[example]), np.flatnonzero(inverse == k)


def _welch(
    table: NDArray[float64], n: NDArray[Any], scale: Scale, i: NDArray[Any], j: NDArray[Any]
) -> tuple[NDArray[float64], ...]:
    """Return ``p_log``, ``p_few``, ``gap`` and ``parted`` of each pair, on errors if a row has no logs."""
    import numpy as np

    logs = np.full(len(table), scale.perfect is not None) & ~(table <= 0).any(1)
    with_logs = logs[i] & logs[j]
    # A row with a zero error has logs only where it bounds the variance of other rows.
    values = np.log(np.maximum(table, LEAST))
    results = _welch_of(values, n, i, j)
    if not with_logs.all():
        size = np.abs(table[np.isfinite(table)]).max(initial=0) or 1.0
        plain = _welch_of(table / size, n, i, j)
        results = tuple(np.where(with_logs, *choice) for choice in zip(results, plain, strict=True))
    return results


def _welch_of(
    values: NDArray[float64], n: NDArray[Any], i: NDArray[Any], j: NDArray[Any]
) -> tuple[NDArray[float64], ...]:
    """Return ``stats.difference(…, cautious=True).p_value`` of all pairs at once, ``p_few``, ``gap`` and ``parted``.

    A diverged seed counts as the worst finite value of its pair. A p-value is nan without variance.
    """
    import numpy as np

    finite = np.isfinite(values)
    ended, top = finite.sum(1), np.where(finite, values, -np.inf).max(1, initial=-np.inf)
    # Relative to one value, so that equal values have exactly that mean and zero variance.
    base = np.where(ended, top, 0.0)
    deviations = np.where(finite, values - base[:, None], 0.0)
    shift = deviations.sum(1) / np.maximum(ended, 1)
    squares = np.where(finite, deviations - shift[:, None], 0.0) ** 2
    mean, total = base + shift, squares.sum(1)
    worst = np.maximum(top[i], top[j])
    worst[np.isinf(worst)] = 0.0
    sides = []
    for k in (i, j):
        diverged_share = np.where(ended[k], 1 - ended[k] / n[k], 1.0)
        gap = np.where(ended[k], worst - mean[k], 0.0)
        middle = np.where(ended[k], mean[k] + diverged_share * gap, worst)
        sides.append((middle, (total[k] + ended[k] * diverged_share * gap**2) / (n[k] - 1)))
    (left, a), (right, b) = sides
    gap = right - left
    minimum = least_variance(total / np.maximum(ended - 1, 1), i, j)
    p_log = _tail(gap, (a, n[i], n[i] - 1), (b, n[j], n[j] - 1))
    further_freedom = STEADIER * (len(values) > 2)
    p_few = _tail(
        gap,
        (np.maximum(a, minimum), n[i], n[i] - 1 + further_freedom),
        (np.maximum(b, minimum), n[j], n[j] - 1 + further_freedom),
    )
    distance = np.where((ended[i] > 0) & (ended[j] > 0), np.abs(gap), np.inf)
    return p_log, p_few, gap, count_wider(jumps(values), distance, i, j)


def _tail(gap: NDArray[float64], *sides: tuple[NDArray[float64], NDArray[Any], NDArray[Any]]) -> NDArray[float64]:
    """Return Student's two-sided tail of gaps; each side is its variance, seeds and degrees of freedom."""
    import numpy as np
    from scipy.special import stdtr

    (a, a_freedom), (b, b_freedom) = ((variance / n, freedom) for variance, n, freedom in sides)
    total = np.where(a + b > 0, a + b, np.nan)
    freedom = total / np.maximum(a / a_freedom, b / b_freedom, where=total > 0, out=np.ones_like(total))
    return np.asarray(2 * stdtr(freedom, -np.abs(gap) / np.sqrt(total)))
