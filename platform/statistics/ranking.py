"""Ranks on one task: who is surely better than whom, which ranks a row can have, which rows are tied."""

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
"""How far below Holm's first step complete separation must lie for ranks alone to decide."""
GUARD = 0.01
"""Where it does not, Mann and Whitney's p-value up to which Welch's is believed: complete separation of 5 and 5."""
FEW = 8
"""Seeds of the smaller row below which ranks alone never decide: five alike have chance 1 / 16, beside however many."""


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


def standings(rows: Sequence[Sequence[Score]], scale: Scale, alpha: float = 0.05) -> list[Standing]:
    """Return the standing of each row of one task, from the scores of its seeds.

    Its ranks run from 1 + the number of rows surely better (``apart``) to the number of rows less those surely worse.
    All ranges together hold the true ranks with probability 1 − alpha, so a board of equal models shows any strict
    order with probability alpha at most. Source of the ranges: Mogstad, Romano, Shaikh and Wilhelm, Review of Economic
    Studies 2024.

    A tie group is as many consecutive rows, in ``order``, as hold no two rows told apart. Rows that share one are not
    told apart; two rows that share none may yet not be, where a row between them differs from either.

    Raises:
        ValueError: As ``apart`` and ``order``.
    """
    import numpy as np

    decisions, places = apart(rows, scale, alpha), order(rows, scale)
    lows, highs = 1 + (decisions < 0).sum(1), len(rows) - (decisions > 0).sum(1)
    before = np.tril(decisions[places][:, places] != 0, -1)
    # A group reaches back to behind the last row told apart from any of its rows; it is kept if none holds it whole.
    starts = np.maximum.accumulate((before * np.arange(1, len(rows) + 1)).max(1, initial=0))
    groups = [(int(start), k) for k, start in enumerate(starts) if k + 1 == len(starts) or starts[k + 1] > start]
    by_row = {}
    for k, row in enumerate(places):
        first, last = bisect_left(groups, k, key=lambda g: g[1]), bisect_right(groups, k, key=lambda g: g[0])
        by_row[row] = Standing(int(lows[row]), int(highs[row]), tuple(range(first, last)))
    return [by_row[i] for i in range(len(rows))]


def order(rows: Sequence[Sequence[Score]], scale: Scale) -> list[int]:
    """Return the places of the rows, best median over all seeds first, then by the share that diverged, then as given.

    Raises:
        ValueError: A row without seeds.
    """
    keys = [(typical(row, scale), sum(score is None for score in row) / len(row)) for row in rows]
    return sorted(range(len(rows)), key=keys.__getitem__)


def decide(
    a: Sequence[Score], b: Sequence[Score], scale: Scale, alpha: float = 0.05
) -> Literal["better", "worse", "undecided"]:
    """Return whether the first of two rows is surely better than the other, by the test of ``apart``."""
    decision = int(apart([a, b], scale, alpha)[0, 1])
    return "better" if decision > 0 else "worse" if decision < 0 else "undecided"


def apart(rows: Sequence[Sequence[Score]], scale: Scale, alpha: float = 0.05) -> NDArray[Any]:
    """Return who is surely better than whom, (rows, rows): +1 where row i is than row j, −1 where worse, else 0.

    Better means that a seed of the one beats a seed of the other in more than half of all cases. The guarded rank test,
    with Holm's adjustment over all pairs: simulated, a board shows a false claim with probability ``alpha`` at most
    (``make honesty``). Where many rows learn or do not, few seeds claim nothing (``lucky``). A row with fewer than two
    seeds is distinguished from nobody and affects nobody.

    Raises:
        ValueError: A score that is not finite, or an alpha outside (0, 1).
    """
    import numpy as np

    check_level(alpha)
    known = np.array([k for k, row in enumerate(rows) if len(row) > 1], dtype=int)
    decisions = np.zeros((len(rows), len(rows)), dtype=int)
    if len(known) > 1:
        table = errors([rows[k] for k in known.tolist()], scale)
        tests = pair_tests(table, scale)
        told = guarded(tests, table, alpha) & ~lucky(tests, alpha)
        sign = np.where(told, np.sign(tests.better - 0.5), 0).astype(int)
        i, j = known[tests.first], known[tests.second]
        decisions[i, j], decisions[j, i] = sign, -sign
    return decisions


def guarded(tests: PairTests, table: NDArray[float64], alpha: float = 0.05) -> NDArray[bool_]:
    """Return which pairs the guarded rank test tells apart, (pairs,).

    Where the pair has seeds enough, ranks decide: Welch's test or Brunner and Munzel's must agree with Mann and
    Whitney's, the latter two alone where Welch's points the other way. With few seeds no exact p-value passes Holm's
    first step, and Welch's decides, but only where ranks say the same, and with the spread that the other rows of the
    board have at least.

    Nothing is claimed where one row lies in a jump of the other and the sides alone do not pass ``alpha`` over the
    rows: the luck of a row is drawn once, however many pairs it stands in. What ``lucky`` says comes on top.

    Args:
        tests: Of all pairs of ``table``, the errors (rows, seeds): the family.
    """
    import numpy as np

    pairs = len(tests.p_rank)
    few = (ROOM * pairs * tests.separation > alpha) | (tests.fewest < FEW)
    agree = np.sign(tests.gap) == np.sign(tests.better - 0.5)
    least = np.where(few, tests.p_few, tests.p_rank)
    most = np.where(few, tests.p_few, np.where(agree, np.maximum(tests.p_rank, tests.p_log), 1.0))
    # Brunner and Munzel's p-value lies between, and takes long: only where it decides.
    sure = holm(most) <= alpha
    for k in np.flatnonzero((holm(least) <= alpha) & ~sure & (most > least)).tolist():
        p = studentised(table[tests.first[k]], table[tests.second[k]])
        most[k] = max(tests.p_rank[k], min(p, most[k]))
    guard = agree & (tests.p_rank <= max(GUARD, alpha / pairs))
    return np.asarray((holm(most) <= alpha) & (~few | guard) & (tests.p_side <= alpha / len(table)))


def lucky(tests: PairTests, alpha: float = 0.05) -> NDArray[bool_]:
    """Return where so many other rows jump as far as two differ that one more may look steady by luck, (pairs,).

    Nothing is claimed there, whatever the guarded rank test says.
    """
    import numpy as np

    return np.asarray(steady_by_luck(tests.parted, tests.fewest) > alpha)


def hidden_by_luck(rows: Sequence[Sequence[Score]], scale: Scale, alpha: float = 0.05) -> tuple[int, int]:
    """Return how many pairs of rows only ``lucky`` keeps from being told apart, and with how many seeds it would not.

    Raises:
        ValueError: As ``apart``.
    """
    known = [row for row in rows if len(row) > 1]
    if len(known) < 3:
        return 0, 0
    table = errors(known, scale)
    tests = pair_tests(table, scale)
    hidden = guarded(tests, table, check_level(alpha)) & lucky(tests, alpha)
    return int(hidden.sum()), max((enough_seeds_for(k, alpha) for k in tests.parted[hidden].tolist()), default=0)


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
