"""Pairs of rows by their seeds: Mann and Whitney's test, Brunner and Munzel's, and Welch's on logs of errors.

What they test is whether a seed of one row is better than one of the other in more than half of all cases. A diverged
seed is worse than any other; two of them are equal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from longwave.platform.statistics.few_seeds import count_wider, jumps, least_variance, side_p
from longwave.platform.statistics.laws import Ties, rank_tail, studentised_p

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

    from longwave.platform.statistics.scale import Scale, Score

STEADIER = 4
"""Degrees of freedom that the least variance of a board has more than that of one row: it is of many rows."""


@dataclass(frozen=True)
class PairTests:
    """What tests say of each pair of rows i < j, as arrays, (pairs,), in the order of ``numpy.triu_indices``.

    Attributes:
        first, second: Rows i and j.
        better: Share of pairs of seeds in which that of i is better, ties half.
        p_rank: Mann and Whitney's exact two-sided p-value.
        p_log: Welch's on logs of errors, ``p_rank`` where nothing spreads or a row has no seed that ended.
        p_few: The same for few seeds: no row spreads less than ``few_seeds.least_variance``, which has ``STEADIER``
            degrees of freedom more. Where a row has no seed that ended, no less than ranks give n against as many.
        gap: How much better the mean log error of i is: the direction of ``p_log`` and of ``p_few``.
        separation: Least p-value that ranks can give these numbers of seeds: 2 / C(n₁ + n₂, n₁).
        fewest: Seeds of the row that has fewer.
        parted: Number of other rows whose seeds jump at least as far as the two rows differ: ``few_seeds.jumps``.
        p_side: Of the sides on which seeds of one row lie of the other; see ``few_seeds.side_p``.
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
    """Return the errors of each row's seeds, (rows, seeds): infinite where diverged, filled up with nan.

    Raises:
        ValueError: A score is not finite; the message names its row and place.
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
    lost, tied = _compared(table)
    doubled, pairs = lost[i, j], n[i] * n[j]
    p_rank, separation = np.empty(len(i)), np.empty(len(i))
    # Rows come in few sizes, and pairs without ties in one pattern a size: one table serves them all.
    for a, b in sorted(set(zip(n[i].tolist(), n[j].tolist(), strict=True))):
        here = (n[i] == a) & (n[j] == b)
        separation[here] = 2 / math.comb(a + b, a)
        clear, rest = here & ~tied[i, j], np.flatnonzero(here & tied[i, j])
        p_rank[clear] = rank_tail(a, (1,) * (a + b))[doubled[clear]]
        for ties, which in _patterns(np.concatenate([table[i[rest], :a], table[j[rest], :b]], axis=1)):
            p_rank[rest[which]] = rank_tail(a, ties)[doubled[rest[which]]]
    p_log, p_few, gap, parted = _welch(table, n, scale, i, j)
    fewest = np.minimum(n[i], n[j])
    # Where nothing spreads, or a row has no finite seed to spread, there is no tail but that of ranks.
    lost_all = np.isfinite(table).sum(1) == 0
    still = np.isnan(p_log) | lost_all[i] | lost_all[j]
    p_log[still], gap[still] = p_rank[still], (pairs - doubled)[still]
    alike = {q: 2 / math.comb(2 * q, q) for q in set(fewest.tolist())}
    still = np.isnan(p_few) | lost_all[i] | lost_all[j]
    p_few[still] = np.maximum(p_rank, [alike[q] for q in fewest.tolist()])[still]
    better = 1 - doubled / (2 * pairs)
    return PairTests(i, j, better, p_rank, p_log, p_few, gap, separation, fewest, parted, side_p(table, i, j))


def studentised(a: NDArray[float64], b: NDArray[float64]) -> float:
    """Return Brunner and Munzel's two-sided p-value of two rows of ``errors`` by its permutation law."""
    import numpy as np

    pooled = np.concatenate([a, b])
    order = np.argsort(pooled)
    split, ordered = order < len(a), pooled[order]
    there = ~np.isnan(ordered)
    return studentised_p(split[there], _ties(ordered[there]))


def _ties(ordered: NDArray[float64]) -> Ties:
    """Return how often each value occurs among ``ordered`` ones."""
    import numpy as np

    ends = np.flatnonzero(np.append(ordered[1:] > ordered[:-1], True)) + 1
    return tuple(np.diff(ends, prepend=0).tolist())


def _compared(table: NDArray[float64]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return twice the pairs of seeds in which row i's is worse than row j's, ties half, and who has ties, (m, m)."""
    import numpy as np

    there, m = ~np.isnan(table), len(table)
    pooled, owner = table[there], np.nonzero(there)[0]
    order = np.argsort(pooled)
    ordered = pooled[order]
    counts = np.zeros((len(pooled) + 1, m), dtype=int)
    np.cumsum(owner[order][:, None] == np.arange(m), axis=0, out=counts[1:])
    # How many seeds of each row are better than each seed, and how many no worse.
    better = counts[np.searchsorted(ordered, pooled)]
    no_worse = counts[np.searchsorted(ordered, pooled, side="right")]
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    equal = np.add.reduceat(no_worse - better, starts, axis=0)
    own = np.diag(equal) > there.sum(1)
    tied = (equal > 0) | own | own[:, None]
    return np.add.reduceat(better + no_worse, starts, axis=0), tied


def _patterns(pooled: NDArray[float64]) -> Iterator[tuple[Ties, NDArray[Any]]]:
    """Yield each pattern of ties among pairs' seeds, (pairs, n₁ + n₂), with the places of the pairs that have it."""
    import numpy as np

    if not len(pooled):
        return
    ordered = np.sort(pooled, axis=1)
    steps = np.packbits(ordered[:, 1:] > ordered[:, :-1], axis=1)
    _, first, which = np.unique(steps.view(f"V{steps.shape[1]}")[:, 0], return_index=True, return_inverse=True)
    for k, example in enumerate(first.tolist()):
        yield _ties(ordered[example]), np.flatnonzero(which == k)


def _welch(
    table: NDArray[float64], n: NDArray[Any], scale: Scale, i: NDArray[Any], j: NDArray[Any]
) -> tuple[NDArray[float64], ...]:
    """Return ``p_log``, ``p_few``, ``gap`` and ``parted`` of each pair: on errors where a row has no logs."""
    import numpy as np

    logs = np.full(len(table), scale.perfect is not None) & ~(table <= 0).any(1)
    both = logs[i] & logs[j]
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.log(table)
    results = _welch_of(np.where(logs[:, None] | np.isinf(table), values, np.nan), n, i, j)
    if not both.all():
        size = np.abs(table[np.isfinite(table)]).max(initial=0) or 1.0
        plain = _welch_of(table / size, n, i, j)
        results = tuple(np.where(both, *choice) for choice in zip(results, plain, strict=True))
    return results


def _welch_of(
    values: NDArray[float64], n: NDArray[Any], i: NDArray[Any], j: NDArray[Any]
) -> tuple[NDArray[float64], ...]:
    """Return ``stats.difference(…, cautious=True).p_value`` of all pairs at once, ``p_few``, ``gap`` and ``parted``.

    A diverged seed counts as the worst finite value of its pair. A p-value is nan where nothing spreads.
    """
    import numpy as np

    finite = np.isfinite(values)
    ended, top = finite.sum(1), np.where(finite, values, -np.inf).max(1, initial=-np.inf)
    # From one value on: equal ones have exactly that mean and no deviation.
    base = np.where(ended, top, 0.0)
    away = np.where(finite, values - base[:, None], 0.0)
    shift = away.sum(1) / np.maximum(ended, 1)
    squares = np.where(finite, away - shift[:, None], 0.0) ** 2
    mean, total = base + shift, squares.sum(1)
    worst = np.maximum(top[i], top[j])
    worst[np.isinf(worst)] = 0.0
    sides = []
    for k in (i, j):
        lost = np.where(ended[k], 1 - ended[k] / n[k], 1.0)
        gap = np.where(ended[k], worst - mean[k], 0.0)
        middle = np.where(ended[k], mean[k] + lost * gap, worst)
        sides.append((middle, (total[k] + ended[k] * lost * gap**2) / (n[k] - 1)))
    (left, a), (right, b) = sides
    gap = right - left
    least = least_variance(total / np.maximum(ended - 1, 1), i, j)
    p_log = _tail(gap, (a, n[i], n[i] - 1), (b, n[j], n[j] - 1))
    more = STEADIER * (len(values) > 2)
    p_few = _tail(gap, (np.maximum(a, least), n[i], n[i] - 1 + more), (np.maximum(b, least), n[j], n[j] - 1 + more))
    apart = np.where((ended[i] > 0) & (ended[j] > 0), np.abs(gap), np.inf)
    return p_log, p_few, gap, count_wider(jumps(values), apart, i, j)


def _tail(gap: NDArray[float64], *sides: tuple[NDArray[float64], NDArray[Any], NDArray[Any]]) -> NDArray[float64]:
    """Return Student's two-sided tail of gaps; of each side come the variance, the seeds and degrees of freedom."""
    import numpy as np
    from scipy.special import stdtr

    (a, a_freedom), (b, b_freedom) = ((variance / n, freedom) for variance, n, freedom in sides)
    whole = np.where(a + b > 0, a + b, np.nan)
    freedom = whole / np.maximum(a / a_freedom, b / b_freedom, where=whole > 0, out=np.ones_like(whole))
    return np.asarray(2 * stdtr(freedom, -np.abs(gap) / np.sqrt(whole)))
