"""Laws of rank statistics: against all splits, counted one by one, and against scipy."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from longwave.platform.statistics import laws
from longwave.platform.statistics.laws import Ties, rank_tail, studentised, studentised_p

patterns = st.lists(st.integers(1, 4), min_size=2, max_size=6).filter(lambda ties: 4 <= sum(ties) <= 8)


def doubled(first: tuple[int, ...], ties: Ties) -> int:
    """Return twice U of a split: pairs of seeds of which the first row's is worse, ties half."""
    values = np.repeat(range(len(ties)), ties).tolist()
    others = [value for k, value in enumerate(values) if k not in first]
    return sum(2 * (values[k] > other) + (values[k] == other) for k in first for other in others)


def mask(first: tuple[int, ...], n: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.isin(np.arange(n), first)


@given(patterns, st.data())
@settings(max_examples=40)
def test_mann_and_whitneys_law_is_that_of_all_splits_counted_one_by_one(ties: list[int], data: st.DataObject) -> None:
    n = sum(ties)
    first = data.draw(st.integers(1, n - 1))
    centre = first * (n - first)
    seen = [abs(doubled(split, tuple(ties)) - centre) for split in combinations(range(n), first)]
    p = rank_tail(first, tuple(ties))
    assert len(p) == 2 * centre + 1
    for u, value in enumerate(p.tolist()):
        assert value == pytest.approx(np.mean([other >= abs(u - centre) for other in seen]))


@pytest.mark.parametrize(("a", "b"), [(2, 3), (5, 5), (4, 9), (20, 20)])
def test_without_ties_it_is_scipys_exact_law(a: int, b: int) -> None:
    rng = np.random.default_rng(a)
    for shift in (0.0, 1.0):
        x, y = rng.standard_normal(a) + shift, rng.standard_normal(b)
        actual = scipy_stats.mannwhitneyu(x, y, method="exact")
        assert rank_tail(a, (1,) * (a + b))[round(2 * actual.statistic)] == pytest.approx(actual.pvalue)


def test_beyond_a_hundred_seeds_the_normal_law_goes_on_where_the_exact_one_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ties = (3, *(1,) * 60, 4, *(1,) * 10, 20)
    exact = rank_tail(40, ties)
    rank_tail.cache_clear()
    monkeypatch.setattr(laws, "EXACT", 10)
    normal = rank_tail(40, ties)
    rank_tail.cache_clear()
    assert normal == pytest.approx(exact, abs=0.004)
    deep = (exact > 1e-4) & (exact < 0.05)
    assert (normal[deep] > 0.97 * exact[deep]).all() and (normal[deep] < 1.4 * exact[deep]).all()


def test_seeds_that_are_all_equal_are_not_apart_however_many_there_are() -> None:
    assert rank_tail(60, (120,))[60 * 60] == rank_tail(3, (6,))[3 * 3] == 1


@given(patterns, st.data())
@settings(max_examples=60)
def test_the_studentised_statistic_is_scipys(ties: list[int], data: st.DataObject) -> None:
    n = sum(ties)
    first = data.draw(st.integers(2, n - 2))
    split = tuple(data.draw(st.permutations(range(n)))[:first])
    values = np.repeat(np.arange(float(len(ties))), ties)
    actual = float(studentised(mask(split, n)[None], tuple(ties))[0])
    if math.isfinite(actual) and actual:
        other = scipy_stats.brunnermunzel(values[~mask(split, n)], values[mask(split, n)], distribution="normal")
        assert actual == pytest.approx(other.statistic)
    else:
        u = doubled(split, tuple(ties)) - first * (n - first)
        assert actual == (math.copysign(math.inf, u) if u and abs(u) == first * (n - first) else 0.0)


def test_its_law_counts_the_splits_that_are_as_far_apart() -> None:
    ties, first = (1, 2, 1, 1, 3), 3
    splits = list(combinations(range(8), first))
    values = {split: float(studentised(mask(split, 8)[None], ties)[0]) for split in splits}
    for split in splits:
        further = sum(abs(value) >= abs(values[split]) - 1e-9 for value in values.values())
        assert studentised_p(mask(split, 8), ties) == pytest.approx(further / len(splits))


def test_wholly_separate_rows_have_the_least_p_that_there_is() -> None:
    assert studentised_p(mask((0, 1, 2, 3, 4), 10), (1,) * 10) == pytest.approx(2 / 252)
    assert studentised_p(mask((5, 6, 7, 8, 9), 10), (5, 5)) == pytest.approx(2 / 252)


def test_where_splits_are_too_many_a_hundred_thousand_of_them_are_drawn_always_the_same() -> None:
    split, ties = mask(tuple(range(2, 13)), 22), (1,) * 22
    first = studentised_p(split, ties)
    assert studentised_p(mask(tuple(range(11)), 22), ties) == pytest.approx(1 / 100_001, rel=2)
    laws.studentised_tail.cache_clear()
    assert studentised_p(split, ties) == first
    assert first * 100_001 == pytest.approx(round(first * 100_001))
