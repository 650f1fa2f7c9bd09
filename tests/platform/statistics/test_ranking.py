"""Rank ranges and tie groups: by hand, by definition, and how often a board of equal models is put in order."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from longwave.platform.statistics.ranking import Standing, holm, letters, p_values, standings
from longwave.platform.statistics.stats import Summary, summary

boards = st.lists(
    st.builds(Summary, st.integers(-20, 20).map(float), st.one_of(st.none(), st.floats(0, 5)), st.integers(2, 8)),
    min_size=1,
    max_size=8,
)
probabilities = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def drawn(scores: np.ndarray[Any, Any]) -> list[Summary]:
    """Return a summary of each row of scores, (rows, n)."""
    moments = zip(scores.mean(1).tolist(), scores.std(1, ddof=1).tolist(), strict=True)
    return [Summary(mean, std, scores.shape[1]) for mean, std in moments]


def ordered(places: list[Standing]) -> bool:
    return any((place.low, place.high) != (1, len(places)) for place in places)


def test_holms_adjustment_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0]
    assert holm([]).tolist() == []


@given(probabilities, st.floats(0.001, 0.999))
def test_holm_rejects_as_his_step_down_procedure_does(p: list[float], alpha: float) -> None:
    rejected: set[int] = set()
    for k, i in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        if p[i] > alpha / (len(p) - k) * (1 + 1e-9):
            break
        rejected.add(i)
    adjusted = holm(p)
    assert {i for i, a in enumerate(adjusted) if a <= alpha * (1 + 1e-9)} == rejected
    assert all(a >= raw for a, raw in zip(adjusted, p, strict=True))


@given(probabilities, st.randoms())
def test_holms_adjustment_does_not_depend_on_the_order(p: list[float], random: Any) -> None:
    shuffled = random.sample(range(len(p)), len(p))
    assert holm([p[i] for i in shuffled]) == pytest.approx(holm(p)[shuffled])


def test_pairs_have_the_p_values_of_scipys_welch_test_where_its_degrees_of_freedom_are_the_cautious_ones() -> None:
    groups = [[1.0, 2.0, 3.0], [2.0, 3.0, 4.0], [9.0, 10.0, 11.0]]  # equal n and std: ν = 2 (n − 1) for both
    raw = {(i, j): scipy_stats.ttest_ind(groups[i], groups[j]).pvalue for i, j in combinations(range(3), 2)}
    table = p_values([summary(g) for g in groups])
    for pair, expected in zip(raw, holm(list(raw.values())), strict=True):
        assert table[pair[0]][pair[1]] == table[pair[1]][pair[0]] == pytest.approx(expected)
    assert [table[i][i] for i in range(3)] == [1, 1, 1]


def test_standings_by_hand() -> None:
    far = [summary([0.0, 0.1, 0.2]), summary([0.05, 0.1, 0.2]), summary([9.0, 9.1, 9.2])]
    assert standings(far, "min") == [Standing(1, 2, (0,)), Standing(1, 2, (0,)), Standing(3, 3, (1,))]
    assert standings(far, "max") == [Standing(2, 3, (1,)), Standing(2, 3, (1,)), Standing(1, 1, (0,))]


def test_a_row_between_two_can_be_tied_with_both() -> None:
    rows = [summary([0.0, 1.0, 2.0, 3.0]), summary([2.0, 3.0, 4.0, 5.0]), summary([6.0, 7.0, 8.0, 9.0])]
    rows[1] = Summary(4.5, 4.0, 4)
    assert standings(rows, "min") == [Standing(1, 2, (0,)), Standing(1, 3, (0, 1)), Standing(2, 3, (1,))]


def test_a_row_with_one_seed_is_told_from_nobody_and_burdens_nobody() -> None:
    pair = [summary([0.0, 0.1, 0.2]), summary([0.4, 0.5, 0.6])]
    alone = p_values(pair)[0][1]
    crowd = [*pair, *(summary([x]) for x in (-100.0, 0.3, 100.0))]
    assert p_values(crowd)[0][1] == alone <= 0.05
    places = standings(crowd, "min")
    assert [(place.low, place.high) for place in places] == [(1, 4), (2, 5), (1, 5), (1, 5), (1, 5)]


def test_rows_without_spread_are_told_apart_from_four_seeds_on() -> None:
    for n, told in ((2, False), (3, False), (4, True)):
        assert ordered(standings([summary([1.0] * n), summary([0.5] * n)], "max")) is told
        assert not ordered(standings([summary([1.0] * n), summary([1.0] * n)], "max"))


@given(boards, st.sampled_from(["max", "min"]))
def test_a_standing_follows_from_who_is_told_from_whom(rows: list[Summary], goal: str) -> None:
    places, p = standings(rows, goal), p_values(rows)
    sign = 1 if goal == "max" else -1
    for i, (row, place) in enumerate(zip(rows, places, strict=True)):
        told = [other for j, other in enumerate(rows) if p[i][j] <= 0.05]
        assert place.low == 1 + sum(sign * other.mean > sign * row.mean for other in told)
        assert place.high == len(rows) - sum(sign * other.mean < sign * row.mean for other in told)
        ahead = sum(sign * other.mean > sign * row.mean for other in rows)
        assert place.low <= 1 + ahead <= place.high
    for i, j in combinations(range(len(rows)), 2):
        if set(places[i].ties) & set(places[j].ties):
            assert p[i][j] > 0.05


@given(boards, st.sampled_from(["max", "min"]))
def test_tie_groups_are_the_largest_runs_of_rows_not_told_apart(rows: list[Summary], goal: str) -> None:
    places, p = standings(rows, goal), p_values(rows)
    order = sorted(range(len(rows)), key=lambda i: -rows[i].mean if goal == "max" else rows[i].mean)
    runs = [
        set(order[a:b])
        for a, b in combinations(range(len(rows) + 1), 2)
        if all(p[i][j] > 0.05 for i, j in combinations(order[a:b], 2))
    ]
    largest = [run for run in runs if not any(run < other for other in runs)]
    count = 1 + max(k for place in places for k in place.ties)
    assert [{i for i, place in enumerate(places) if k in place.ties} for k in range(count)] == largest


@given(boards, st.randoms())
def test_standings_do_not_depend_on_the_order_of_rows_with_different_means(rows: list[Summary], random: Any) -> None:
    rows = list({row.mean: row for row in rows}.values())
    shuffled = random.sample(range(len(rows)), len(rows))
    assert standings([rows[i] for i in shuffled], "max") == [standings(rows, "max")[i] for i in shuffled]


@given(boards)
def test_the_other_goal_turns_the_board_over(rows: list[Summary]) -> None:
    n = len(rows)
    for up, down in zip(standings(rows, "max"), standings(rows, "min"), strict=True):
        assert (up.low, up.high) == (n + 1 - down.high, n + 1 - down.low)


@pytest.mark.parametrize("n", [3, 5, 10])
@pytest.mark.parametrize(("rows", "samples"), [(2, 8000), (5, 3000), (10, 2000)])
def test_a_board_of_equal_models_shows_any_order_in_5_cases_of_100_at_most(rows: int, samples: int, n: int) -> None:
    rng = np.random.default_rng(rows)
    share = sum(ordered(standings(drawn(rng.standard_normal((rows, n))), "max")) for _ in range(samples)) / samples
    assert 0.002 < share < 0.05
    assert share + 3 * math.sqrt(share * (1 - share) / samples) < 0.054


def test_unequal_spreads_and_unequal_numbers_of_seeds_break_no_more_ties() -> None:
    rng, samples, told = np.random.default_rng(0), 2500, 0
    kinds = list(zip((1.0, 2.0, 0.5, 4.0, 1.0, 0.25), (3, 5, 10, 3, 5, 10), strict=True))
    for _ in range(samples):
        rows = [drawn(std * rng.standard_normal((1, n)))[0] for std, n in kinds]
        told += ordered(standings(rows, "max"))
    assert told / samples < 0.05


@pytest.mark.parametrize(("trials", "n"), [(1, 5), (40, 3)])
def test_coarse_metrics_break_no_more_ties(trials: int, n: int) -> None:
    rng = np.random.default_rng(trials)
    draws = rng.binomial(trials, 0.5 if trials == 1 else 0.9, (2000, 10, n)) / trials
    assert sum(ordered(standings(drawn(scores), "max")) for scores in draws) / 2000 < 0.05


@pytest.mark.parametrize("n", [3, 5, 10])
def test_all_rank_ranges_together_hold_the_true_ranks_in_95_cases_of_100(n: int) -> None:
    rng, samples = np.random.default_rng(n), 2000
    truth, stds = np.arange(6.0) * 1.5, np.array([1.0, 0.5, 2.0, 1.0, 0.5, 1.0])
    held = seen = 0
    for _ in range(samples):
        places = standings(drawn(truth[:, None] + stds[:, None] * rng.standard_normal((6, n))), "min")
        held += all(place.low <= k + 1 <= place.high for k, place in enumerate(places))
        seen += ordered(places)
    assert held / samples > 0.95
    assert seen / samples > 0.5, "The ranges hold the truth because they say nothing."


def test_tie_groups_are_written_as_letters() -> None:
    assert letters((0,)) == "a"
    assert letters((0, 1)) == "ab"
    assert letters((25, 26)) == "za1"


def test_standings_refuse_what_has_no_answer() -> None:
    assert standings([], "max") == []
    with pytest.raises(ValueError, match='A goal is "max" or "min"'):
        standings([summary([1.0, 2.0])], "best")
    with pytest.raises(ValueError, match="between 0 and 1, got 1"):
        standings([summary([1.0, 2.0])], "max", 1)
