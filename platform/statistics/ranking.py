"""Ranks on one task: significant differences of rows, possible ranks of a row, and tie groups."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from longwave.platform.statistics.few_seeds import enough_seeds_for, steady_by_luck
from longwave.platform.statistics.median import typical
from longwave.platform.statistics.ranktest import PairTests, errors, pair_tests, studentised
from longwave.platform.statistics.stats import check_level

if TYPE_CHECKING:
    from numpy import bool_, float64
    from numpy.typing import NDArray

    from longwave.platform.statistics.scale import Scale, Score

ROOM = 10
"""Factor by which complete separation must be below Holm's first step for ranks alone to decide."""
GUARD = 0.01
"""If it is not, Mann and Whitney's p-value up to which Welch's test counts: complete separation of 5 and 5."""
FEW = 8
"""Seeds of the smaller row below which ranks alone never decide: five equal outcomes have probability 1 / 16."""


@dataclass(frozen=True)
class Standing:
    """Rank range and tie groups of a row in its pool.

    Attributes:
        low, high: Best and worst possible rank, from 1.
        ties: Numbers of its tie groups, from 0 at the best row; never empty.
    """

    low: int
    high: int
    ties: tuple[int, ...]


def standings(rows: Sequence[Sequence[Score]], scale: Scale, alpha: float = 0.05) -> list[Standing]:
    """Return the standing of each row of one task, from the scores of its seeds.

    Its ranks run from 1 + the number of significantly better rows (``apart``) to the number of rows minus the
    significantly worse ones. All ranges together contain the true ranks with probability 1 − alpha, so a board of equal
    models shows any strict order with probability at most alpha. Source of the ranges: Mogstad, Romano, Shaikh and
    Wilhelm, Review of Economic Studies 2024.

    A tie group is a maximal run of consecutive rows, in ``order``, without two significantly different ones. Rows that
    share a group are not significantly different; neither need two rows without a common group be, if a row between
    them differs from either.

    Raises:
        ValueError: As ``apart`` and ``order``.
    """
    import numpy as np

    decisions, ordered = apart(rows, scale, alpha), order(rows, scale)
    lows, highs = 1 + (decisions < 0).sum(1), len(rows) - (decisions > 0).sum(1)
    differs_from_earlier = np.tril(decisions[ordered][:, ordered] != 0, -1)
    # A group begins after the last row that differs from any of its rows; it is kept unless another contains it.
    starts = np.maximum.accumulate((differs_from_earlier * np.arange(1, len(rows) + 1)).max(1, initial=0))
    groups = [(int(start), k) for k, start in enumerate(starts) if k + 1 == len(starts) or starts[k + 1] > start]
    by_row = {}
    for k, row in enumerate(ordered):
        first, last = bisect_left(groups, k, key=lambda g: g[1]), bisect_right(groups, k, key=lambda g: g[0])
        by_row[row] = Standing(int(lows[row]), int(highs[row]), tuple(range(first, last)))
    return [by_row[i] for i in range(len(rows))]


def order(rows: Sequence[Sequence[Score]], scale: Scale) -> list[int]:
    """Return the indices of the rows sorted by median over all seeds, then by the share that diverged, then as given.

    Raises:
        ValueError: A row without seeds.
    """
    keys = [(typical(row, scale), sum(score is None for score in row) / len(row)) for row in rows]
    return sorted(range(len(rows)), key=keys.__getitem__)


def chain_length(rows: Sequence[Sequence[Score]], scale: Scale) -> int:
    """Return the largest number of rows, in ``order``, of which each is significantly better than the next (``apart``).

    Raises:
        ValueError: As ``apart`` and ``order``.
    """
    decisions, lengths = apart(rows, scale), list[int]()
    for k in (ordered := order(rows, scale)):
        before = zip(ordered, lengths, strict=False)
        lengths.append(1 + max((length for i, length in before if decisions[i, k] > 0), default=0))
    return max(lengths, default=0)


def decide(
    a: Sequence[Score], b: Sequence[Score], scale: Scale, alpha: float = 0.05
) -> Literal["better", "worse", "undecided"]:
    """Return whether the first of two rows is significantly better than the other, by the test of ``apart``."""
    decision = int(apart([a, b], scale, alpha)[0, 1])
    return "better" if decision > 0 else "worse" if decision < 0 else "undecided"


def apart(rows: Sequence[Sequence[Score]], scale: Scale, alpha: float = 0.05) -> NDArray[Any]:
    """Return significant differences of rows, (rows, rows): +1 if row i is better than row j, −1 if worse, else 0.
    Better means that a seed of one row beats a seed of the other in more than half of all cases. The guarded rank test
    is adjusted over all pairs by Holm: in simulations a board makes a false claim with probability at most ``alpha``
    (``make honesty``). If many rows only sometimes learn, few seeds claim nothing (``lucky``). A row with fewer than
    two seeds differs from no row and does not affect others.

    Raises:
        ValueError: A score is not finite, or alpha is outside (0, 1).
    """
    import numpy as np

    check_level(alpha)
    tested = np.array([k for k, row in enumerate(rows) if len(row) > 1], dtype=int)
    decisions = np.zeros((len(rows), len(rows)), dtype=int)
    if len(tested) > 1:
        table = errors([rows[k] for k in tested.tolist()], scale)
        tests = pair_tests(table, scale)
        significant = guarded(tests, table, alpha) & ~lucky(tests, alpha)
        sign = np.where(significant, np.sign(tests.better - 0.5), 0).astype(int)
        i, j = tested[tests.first], tested[tests.second]
        decisions[i, j], decisions[j, i] = sign, -sign
    return decisions


def guarded(tests: PairTests, table: NDArray[float64], alpha: float = 0.05) -> NDArray[bool_]:
    """Return which pairs are significantly different by the guarded rank test, (pairs,). If the pair has enough seeds,
    ranks decide: Welch's test or Brunner and Munzel's must agree with Mann and Whitney's, and only the latter two count
    if Welch's points the other way. With few seeds no exact p-value passes Holm's first step; then Welch's test
    decides, but only if ranks agree, and with a variance no smaller than that of the other rows.

    Nothing is claimed if one row is inside a jump of the other and the sign test does not pass ``alpha`` over the
    number of rows: a row is lucky only once, however many pairs it is in. ``lucky`` is applied in addition.

    Args:
        tests: Tests of all pairs of ``table``, the errors (rows, seeds), which are the family.
    """
    import numpy as np

    pairs = len(tests.p_rank)
    few_seeds = (ROOM * pairs * tests.separation > alpha) | (tests.fewest < FEW)
    agree = np.sign(tests.gap) == np.sign(tests.better - 0.5)
    smallest = np.where(few_seeds, tests.p_few, tests.p_rank)
    largest = np.where(few_seeds, tests.p_few, np.where(agree, np.maximum(tests.p_rank, tests.p_log), 1.0))
    # Brunner and Munzel's p-value is between these and slow, so it is computed only where it decides.
    significant = holm(largest) <= alpha
    for k in np.flatnonzero((holm(smallest) <= alpha) & ~significant & (largest > smallest)).tolist():
        p = studentised(table[tests.first[k]], table[tests.second[k]])
        largest[k] = max(tests.p_rank[k], min(p, largest[k]))
    guard = agree & (tests.p_rank <= max(GUARD, alpha / pairs))
    return np.asarray((holm(largest) <= alpha) & (~few_seeds | guard) & (tests.p_side <= alpha / len(table)))


def lucky(tests: PairTests, alpha: float = 0.05) -> NDArray[bool_]:
    """Return pairs for which so many other rows jump as far as the two differ that a row may look stable by luck,
    (pairs,). Nothing is claimed of these, whatever the guarded rank test says.
    """
    import numpy as np

    return np.asarray(steady_by_luck(tests.parted, tests.fewest) > alpha)


def hidden_by_luck(rows: Sequence[Sequence[Score]], scale: Scale) -> tuple[int, int]:
    """Return how many pairs would differ significantly but for ``lucky``, and how many seeds would suffice.

    Raises:
        ValueError: As ``apart``.
    """
    tested = [row for row in rows if len(row) > 1]
    if len(tested) < 3:
        return 0, 0
    table = errors(tested, scale)
    tests = pair_tests(table, scale)
    hidden = guarded(tests, table) & lucky(tests)
    return int(hidden.sum()), max((enough_seeds_for(k) for k in tests.parted[hidden].tolist()), default=0)


def holm(p: Sequence[float] | NDArray[float64]) -> NDArray[float64]:
    """Return p-values adjusted to control the family-wise error rate, (m,).

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
