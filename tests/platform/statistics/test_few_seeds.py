"""What the other rows of a board say of a row of few seeds: by numpy, by scipy and by brute force."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from longwave.platform.statistics.few_seeds import (
    count_wider,
    enough_seeds_for,
    jumps,
    least_variance,
    side_p,
    steady_by_luck,
)

numbers = st.lists(st.integers(0, 6).map(float), min_size=4, max_size=9)


def pairs(m: int) -> tuple[np.ndarray, np.ndarray]:
    i, j = np.triu_indices(m, 1)
    return i, j


@given(numbers)
def test_the_least_variance_of_a_pair_is_the_upper_quartile_of_all_other_rows(variances: list[float]) -> None:
    actual = least_variance(np.array(variances), *pairs(len(variances)))
    for value, pair in zip(actual, combinations(range(len(variances)), 2), strict=True):
        others = [v for k, v in enumerate(variances) if k not in pair]
        assert value == pytest.approx(np.quantile(others, 0.75))


def test_of_three_rows_it_is_one_and_a_half_times_the_third_and_of_two_there_is_none() -> None:
    assert least_variance(np.array([1.0, 2.0, 4.0]), *pairs(3)).tolist() == [6.0, 3.0, 1.5]
    assert least_variance(np.array([1.0, 2.0]), *pairs(2)).tolist() == [0.0]


def test_a_row_jumps_where_two_seeds_and_a_quarter_lie_on_either_side() -> None:
    lost, none = np.inf, np.nan
    rows = np.array([
        [0.0, 9.0, 1.0, 8.0, 9.5],
        [0.0, 9.0, 9.1, 9.3, 9.4],
        [0.0, 1.0, 5.0, 6.0, none],
        [0.0, 1.0, 5.0, none, none],
        [0.0, 1.0, 5.0, 6.0, lost],
        [lost, lost, lost, 1.0, 2.0],
        [lost, lost, lost, lost, lost],
    ])  # fmt: skip
    assert jumps(rows) == pytest.approx([7.0, 0.2, 4.0, 0.0, 4.0, lost, 0.0])


def test_two_of_nine_seeds_are_no_quarter() -> None:
    few, quarter = ([0.0] * (9 - k) + [5.0] * k for k in (2, 3))
    assert jumps(np.array([few, quarter])).tolist() == [0.0, 5.0]
    assert jumps(np.array([[0.0] * 6 + [np.inf] * 3])).tolist() == [np.inf]


@given(numbers, st.integers(0, 6).map(float))
def test_rows_that_jump_as_far_as_a_gap_are_counted_without_the_pair(steps: list[float], gap: float) -> None:
    i, j = pairs(len(steps))
    actual = count_wider(np.array(steps), np.full(len(i), gap), i, j)
    for count, pair in zip(actual, combinations(range(len(steps)), 2), strict=True):
        assert count == (sum(s >= gap for k, s in enumerate(steps) if k not in pair) if gap else 0)


def test_the_luck_of_a_row_is_that_all_its_seeds_fall_on_one_side() -> None:
    drawn = np.random.default_rng(0).random((200_000, 6)) < 0.5
    seen = np.mean(drawn.all(1) | ~drawn.any(1))
    assert steady_by_luck(np.array([0, 1, 4]), np.array([6] * 3)) == pytest.approx([0, 2 * seen, 5 * seen], rel=0.05)
    for parted in range(1, 20):
        n = enough_seeds_for(parted)
        assert (parted + 1) * 2 ** (1 - n) <= 0.05 < (parted + 1) * 2 ** (2 - n)


def test_the_sides_are_scipys_sign_test_where_a_row_lies_in_a_jump_of_the_other() -> None:
    lost, none = np.inf, np.nan
    table = np.array([
        [1.0, 1.1, 1.2, none, none, none],
        [0.0, 0.1, 0.2, 0.3, 0.4, 9.0],
        [0.0, 0.1, 0.2, 0.3, lost, lost],
        [0.0, 0.5, 0.9, 1.15, 1.9, 2.5],
        [0.0, 0.3, 0.6, 0.9, 1.3, 1.6],
    ])  # fmt: skip
    expected = [scipy_stats.binomtest(k, 6).pvalue for k in (1, 2)] + [0.0, 0.0]
    first, others = np.zeros(4, dtype=int), np.arange(1, 5)
    assert side_p(table, first, others) == pytest.approx(expected)
    assert side_p(table, others, first) == pytest.approx(expected)
