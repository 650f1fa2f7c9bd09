"""Tests of pairs of rows, all at once: against scipy and the tests of one pair by itself."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from longwave.platform.statistics.laws import studentised_p
from longwave.platform.statistics.ranktest import errors, pair_tests, studentised
from longwave.platform.statistics.scale import Scale, Score
from longwave.platform.statistics.stats import difference, summary

ERROR, ACCURACY, LIKELIHOOD = Scale(), Scale("max", 100.0, 0.5), Scale("max", None)
row = st.lists(st.one_of(st.none(), st.integers(1, 9).map(float)), min_size=2, max_size=5)
rows = st.lists(row, min_size=2, max_size=5)
scales = st.sampled_from([ERROR, ACCURACY, LIKELIHOOD])


NAMES = ("better", "p_rank", "p_log", "gap", "separation")


def message(*values: object) -> SimpleNamespace:
    return SimpleNamespace(**dict(zip(NAMES, values, strict=True)))


def pair(a: list[Score], b: list[Score], scale: Scale) -> SimpleNamespace:
    """Return what is told of one pair of rows by itself."""
    actual = pair_tests(errors([a, b], scale), scale)
    return message(*(float(getattr(actual, name)[0]) for name in NAMES))


def welch(a: list[float], b: list[float]) -> float:
    gap = difference(summary(a), summary(b), cautious=True)
    assert gap is not None
    return gap.p_value


@pytest.mark.integration
@given(rows, scales)
def test_all_pairs_at_once_are_each_pair_by_itself(board: list[list[Score]], scale: Scale) -> None:
    actual = pair_tests(errors(board, scale), scale)
    for k, (i, j) in enumerate(zip(*np.triu_indices(len(board), 1), strict=True)):
        alone = pair(board[i], board[j], scale)
        assert (actual.first[k], actual.second[k]) == (i, j)
        assert alone.better == actual.better[k] and alone.p_rank == actual.p_rank[k]
        assert alone.p_log == pytest.approx(actual.p_log[k], rel=1e-6)
        assert alone.separation == 2 / math.comb(len(board[i]) + len(board[j]), len(board[i]))


@given(row, row, scales)
def test_the_other_way_round_all_is_mirrored(a: list[Score], b: list[Score], scale: Scale) -> None:
    one, other = pair(a, b, scale), pair(b, a, scale)
    assert other.better == pytest.approx(1 - one.better)
    assert (other.p_rank, other.p_log) == pytest.approx((one.p_rank, one.p_log))
    assert other.gap == pytest.approx(-one.gap)


@given(row, row)
def test_the_share_of_better_seeds_is_mann_and_whitneys(a: list[Score], b: list[Score]) -> None:
    x, y = ([math.inf if s is None else s for s in scores] for scores in (a, b))
    wins = sum((p < q) + 0.5 * (p == q) for p in x for q in y)
    assert pair(a, b, ERROR).better == pytest.approx(wins / len(x) / len(y))


def test_without_ties_the_p_values_are_scipys() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.lognormal(0, 0.3, 8), rng.lognormal(0.4, 0.3, 8)
    actual = pair(a.tolist(), b.tolist(), ERROR)
    assert actual.p_rank == pytest.approx(scipy_stats.mannwhitneyu(a, b, method="exact").pvalue)
    assert actual.p_log == pytest.approx(welch(np.log(a).tolist(), np.log(b).tolist()))
    assert actual.gap == pytest.approx(np.log(b).mean() - np.log(a).mean())


def test_brunner_and_munzels_p_looks_at_the_seeds_that_are_there() -> None:
    table = errors([[2.0, None], [1.0, 2.0, None, None]], ERROR)
    assert studentised(table[0], table[1]) == studentised_p(
        np.array([False, True, False, True, False, False]), (1, 2, 3)
    )


def test_a_diverged_seed_is_worse_than_any_and_in_welchs_test_the_worst_of_the_pair() -> None:
    actual = pair([1.0, 2.0, None], [3.0, 4.0, 5.0], ERROR)
    assert actual.better == pytest.approx(2 / 3)
    assert actual.p_log == pytest.approx(welch(np.log([1, 2, 5]).tolist(), np.log([3, 4, 5]).tolist()))
    both = pair([1.0, None, None], [2.0, 3.0, None], ERROR)
    assert both.p_log == pytest.approx(welch(np.log([1, 3, 3]).tolist(), np.log([2, 3, 3]).tolist()))
    assert both.better == pytest.approx((3 + 0.5 * 2) / 9)


def test_rows_that_diverged_wholly_are_equal_to_each_other_and_below_all() -> None:
    lost: list[Score] = [None] * 4
    assert pair(lost, lost, ERROR) == message(0.5, 1.0, 1.0, 0.0, 2 / 70)
    actual = pair([1.0, 2.0, 3.0, 4.0], lost, ERROR)
    assert (actual.better, actual.p_rank) == (1.0, pytest.approx(2 / 70))
    assert actual.gap > 0


def test_where_nothing_spreads_welchs_p_is_that_of_ranks() -> None:
    assert pair([1.0] * 5, [2.0] * 5, ERROR) == message(1.0, 2 / 252, 2 / 252, 25.0, 2 / 252)
    assert pair([1.0] * 5, [1.0] * 5, ERROR).p_log == 1.0
    actual = pair([0.3] * 5, [0.3, 0.3, 0.3, None, None], ERROR)
    assert actual.p_log == actual.p_rank < 1


def test_logs_are_taken_of_errors_that_have_them_and_scores_as_they_are_else() -> None:
    a, b = [1.0, 2.0, 4.0], [3.0, 5.0, 9.0]
    assert pair(a, b, ERROR).p_log == pytest.approx(welch(np.log(a).tolist(), np.log(b).tolist()))
    assert pair(a, b, LIKELIHOOD).p_log == pytest.approx(welch(a, b))
    assert pair([0.0, *a], b, ERROR).p_log == pytest.approx(welch([0.0, *a], b))
    accuracy = pair([100 - x for x in a], [100 - x for x in b], ACCURACY)
    assert accuracy.p_log == pytest.approx(pair(a, b, ERROR).p_log)


def test_a_row_with_an_error_of_zero_costs_other_pairs_no_logs() -> None:
    board = [[1.0, 2.0, 4.0], [3.0, 5.0, 9.0], [0.0, 1.0, 2.0]]
    actual = pair_tests(errors(board, ERROR), ERROR)
    assert actual.p_log[0] == pytest.approx(welch(np.log(board[0]).tolist(), np.log(board[1]).tolist()))
    assert actual.p_log[1] == pytest.approx(welch(board[0], board[2]))


@pytest.mark.integration
@given(rows, st.sampled_from([1e-3, 7.0, 1e6]))
def test_the_unit_of_an_error_does_not_matter(board: list[list[Score]], unit: float) -> None:
    one = pair_tests(errors(board, ERROR), ERROR)
    other = pair_tests(errors([[None if s is None else unit * s for s in r] for r in board], ERROR), ERROR)
    assert other.p_rank.tolist() == one.p_rank.tolist()
    assert other.p_log == pytest.approx(one.p_log, rel=1e-6)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_scores_whose_squares_no_float_holds_are_tested_like_others(unit: float) -> None:
    a, b = [1.0, 2.0, 4.0], [3.0, 5.0, 9.0]
    assert pair([unit * s for s in a], [unit * s for s in b], LIKELIHOOD).p_log == pytest.approx(welch(a, b))
    assert pair([0.0] * 3, [0.0] * 3, ERROR).p_log == 1.0


def test_tests_refuse_what_has_no_answer() -> None:
    with pytest.raises(ValueError, match=r"two seeds of each row, got \[1, 3\]"):
        pair([1.0], [1.0, 2.0, 3.0], ERROR)
    with pytest.raises(ValueError, match=r"Scores are finite, or None where a seed diverged; row 1 has \[1.0, inf\]"):
        pair([1.0, 2.0], [1.0, math.inf], ERROR)
