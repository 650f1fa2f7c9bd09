"""Who is surely better, rank ranges and tie groups: by hand, by definition, and by the guarded rank test pair by pair.

How often they are wrong is simulated in ``test_honesty.py``.
"""

from __future__ import annotations

import math
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from longwave.platform.statistics.median import typical
from longwave.platform.statistics.ranking import (
    Standing,
    apart,
    chain_length,
    decide,
    holm,
    letters,
    order,
    standings,
)
from longwave.platform.statistics.ranktest import errors, pair_tests, studentised
from longwave.platform.statistics.scale import Scale, Score

ERROR, ACCURACY = Scale(), Scale("max", 100.0, 0.5)
row = st.builds(
    lambda middle, seeds: [None if s is None else middle + s for s in seeds],
    st.sampled_from([10.0, 20.0, 40.0]),
    st.lists(st.one_of(st.none(), st.integers(0, 4).map(float)), min_size=1, max_size=8),
)
boards = st.lists(row, min_size=1, max_size=6)
probabilities = st.lists(st.floats(0, 1), min_size=1, max_size=12)
STEPS = [[10.0 + k + 0.1 * seed for seed in range(5)] for k in range(3)]


def ones(*rows: tuple[float, int]) -> list[list[Score]]:
    """Return rows of n seeds about a middle, close to each other and all different."""
    return [[middle * (1 + 0.001 * k + 0.0001 * r) for k in range(n)] for r, (middle, n) in enumerate(rows)]


def test_a_zero_error_makes_the_other_rows_no_surer_than_a_tiny_one() -> None:
    steady: list[list[Score]] = [[low + k / 1000 for k in range(5)] for low in (0.1, 0.11)]
    for error in (1e-12, 0.0):
        assert not apart([*steady, [error, 50.0, error, 50.0, 1.0]], Scale()).any()


def few_seeds_by_hand(values: list[np.ndarray[Any, Any]], i: int, j: int) -> tuple[float, float]:
    """Return Welch's p-value with the spread that the other rows have at least, and the gap of the means."""
    ended = [row[np.isfinite(row)] for row in values]
    spreads = [float(np.var(row, ddof=1)) if len(row) > 1 else 0.0 for k, row in enumerate(ended) if k not in (i, j)]
    least = 0.0 if not spreads else 1.5 * spreads[0] if len(spreads) == 1 else float(np.quantile(spreads, 0.75))
    if not len(ended[i]) or not len(ended[j]):
        return math.nan, 0.0
    worst = max(ended[i].max(), ended[j].max())
    sides = [np.where(np.isfinite(values[k]), values[k], worst) for k in (i, j)]
    a, b = (max(float(np.var(side, ddof=1)), least) / len(side) for side in sides)
    gap = float(sides[1].mean() - sides[0].mean())
    if not a + b:
        return math.nan, gap
    more = 4 if spreads else 0
    freedom = (a + b) / max(a / (len(sides[0]) - 1 + more), b / (len(sides[1]) - 1 + more))
    return 2 * float(scipy_stats.t.sf(abs(gap) / math.sqrt(a + b), freedom)), gap


def rows_that_jump(values: list[np.ndarray[Any, Any]], i: int, j: int, gap: float) -> int:
    """Return how many other rows have two seeds on either side of a jump as far as the gap."""
    found = 0
    for k, row in enumerate(values):
        seeds = [] if np.isnan(row).any() else sorted(row.tolist())
        side = max(2, math.ceil(len(seeds) / 4))
        jumps = [seeds[k] - seeds[k - 1] for k in range(side, len(seeds) - side + 1) if math.isfinite(seeds[k - 1])]
        found += k not in (i, j) and max(jumps, default=0.0) >= abs(gap) > 0
    return found


def sides_by_hand(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> float:
    """Return the sign test of the seeds of one row on either side of the other, where that lies in their jump."""
    p = 0.0
    for ours, theirs in ((a, b), (b, a)):
        below, above = ours[ours < theirs.min()], ours[ours > theirs.max()]
        ended = ours[np.isfinite(ours)]
        between = len(below) and len(above) and len(below) + len(above) == len(ours)
        if between and above.min() - below.max() >= 0.5 * (ended.max() - ended.min()):
            p = max(p, float(scipy_stats.binomtest(len(below), len(ours)).pvalue))
    return p


def guarded_by_hand(rows: list[list[Score]], scale: Scale, alpha: float = 0.05) -> np.ndarray[Any, Any]:
    """Return who is surely better by section 1 of few_seeds.md and the two guards on luck, written out pair by pair."""
    actual = np.zeros((len(rows), len(rows)), dtype=int)
    places = [k for k, row in enumerate(rows) if len(row) > 1]
    family = [np.array(scale.errors(rows[k])) for k in places]
    pairs = list(combinations(range(len(family)), 2))
    p, stands = [], []
    for i, j in pairs:
        one, two = family[i], family[j]
        table = errors([rows[places[i]], rows[places[j]]], scale)
        test, positive = pair_tests(table, scale), scale.perfect is not None and min(one.min(), two.min()) > 0
        values = [np.log(np.maximum(row, 1e-12)) for row in family] if positive else family
        fewest, least = min(len(one), len(two)), 2 / math.comb(len(one) + len(two), len(one))
        few_p, gap = few_seeds_by_hand(values, i, j)
        agree = (test.better[0] - 0.5) * test.gap[0] > 0
        wholly = math.isinf(one.min()) or math.isinf(two.min())
        jumping = 0 if wholly else rows_that_jump(values, i, j, gap)
        lucky = (jumping + 1) * 2 ** (1 - fewest) if jumping else 0
        stand = lucky <= alpha and sides_by_hand(one, two) <= alpha / len(family)
        if 10 * len(pairs) * least <= alpha and fewest >= 8:
            munzel = studentised(table[0], table[1])
            p.append(max(test.p_rank[0], min(munzel, test.p_log[0]) if agree else munzel))
        else:
            if wholly or math.isnan(few_p):
                p.append(max(test.p_rank[0], 2 / math.comb(2 * fewest, fewest)))
            else:
                p.append(few_p)
            stand = stand and agree and test.p_rank[0] <= max(0.01, alpha / len(pairs))
        stands.append(stand)
    for (i, j), adjusted, stand in zip(pairs, holm(p), stands, strict=True):
        if adjusted <= alpha and stand:
            first, second = places[i], places[j]
            better = pair_tests(errors([rows[first], rows[second]], scale), scale).better[0] > 0.5
            actual[first, second] = 1 if better else -1
            actual[second, first] = -actual[first, second]
    return actual


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


@pytest.mark.integration
@given(boards, st.sampled_from([ERROR, ACCURACY, Scale("min", None)]), st.sampled_from([0.05, 0.3]))
@settings(max_examples=60)
def test_who_is_better_is_decided_by_the_guarded_rank_test(rows: list[list[Score]], scale: Scale, alpha: float) -> None:
    assert apart(rows, scale, alpha).tolist() == guarded_by_hand(rows, scale, alpha).tolist()


@pytest.mark.parametrize(
    ("m", "n", "spread"),
    [
        *[(3, 8, 0.6), (4, 8, 0.4)],
        *(
            pytest.param(*case, marks=pytest.mark.integration)
            for case in [(6, 10, 0.5), (8, 5, 0.3), (8, 7, 0.5), (8, 9, 0.5)]
        ),
    ],
)
def test_so_it_is_on_boards_whose_rows_overlap_where_brunner_and_munzel_decide(m: int, n: int, spread: float) -> None:
    rng, message = np.random.default_rng(m * n), 0
    for _ in range(15):
        scores = np.exp(0.5 * np.arange(m)[:, None] + spread * rng.standard_exponential((m, n)))
        rows: list[list[Score]] = [[None if rng.random() < 0.1 else s for s in seeds] for seeds in scores.tolist()]
        actual = apart(rows, ERROR)
        assert actual.tolist() == guarded_by_hand(rows, ERROR).tolist()
        message += np.count_nonzero(actual)
    assert message > 0


def test_where_welchs_test_points_the_other_way_few_seeds_decide_nothing_and_many_by_their_ranks() -> None:
    # Nine of ten seeds are better; the tenth is so much worse that the mean log error is too.
    mostly = [1.0 + 0.001 * k for k in range(29)] + [1e30]
    steady = [2.0 + 0.001 * k for k in range(30)]
    assert pair_tests(errors([mostly, steady], ERROR), ERROR).gap[0] < 0
    assert decide(mostly, steady, ERROR) == "better"
    assert decide(mostly[-5:], steady[:5], ERROR) == "undecided"


def test_five_seeds_are_told_apart_among_eight_rows_only_where_none_overlap() -> None:
    rows = ones(*((2.0**k, 5) for k in range(8)))
    assert np.count_nonzero(apart(rows, ERROR)) == 56
    rows[1][0] = 0.999
    assert apart(rows, ERROR)[0, 1] == 0


def test_the_more_pairs_there_are_the_more_it_takes() -> None:
    pair = [[1.0, 1.1, 1.2, 1.3, 1.45], [1.5, 1.6, 1.7, 1.8, 1.9]]
    assert decide(*pair, ERROR) == "better"
    crowd = [*pair, *ones(*((1.4, 5) for _ in range(18)))]
    assert apart(crowd, ERROR)[0, 1] == 0


def test_standings_by_hand() -> None:
    far = ones((1.0, 5), (1.0, 5), (9.0, 5))
    assert standings(far, ERROR) == [Standing(1, 2, (0,)), Standing(1, 2, (0,)), Standing(3, 3, (1,))]
    assert standings(far, ACCURACY) == [Standing(2, 3, (1,)), Standing(2, 3, (1,)), Standing(1, 1, (0,))]


def test_a_row_between_two_can_be_tied_with_both() -> None:
    rows = [[1.0, 1.01, 1.02, 1.03, 1.04], [0.99, 1.4, 1.42, 1.45, 2.1], [2.0, 2.01, 2.02, 2.03, 2.04]]
    assert standings(rows, ERROR) == [Standing(1, 2, (0,)), Standing(1, 3, (0, 1)), Standing(2, 3, (1,))]


def test_a_row_with_one_seed_is_told_from_nobody_and_burdens_nobody() -> None:
    pair = ones((1.0, 4), (2.0, 4))
    crowd = [*pair, [0.1], [1.5], [None], [100.0]]
    assert apart(crowd, ERROR)[0, 1] == apart(pair, ERROR)[0, 1] == 1
    places = standings(crowd, ERROR)
    assert [(place.low, place.high) for place in places] == [(1, 5), (2, 6), (1, 6), (1, 6), (1, 6), (1, 6)]


def test_five_that_ended_of_fifty_do_not_lead() -> None:
    few: list[Score] = [0.001 * k for k in range(1, 6)]
    for seeds, word in ((5, "undecided"), (8, "better")):
        rows = [[*few, *[None] * 45], ones((1.0, seeds))[0]]
        assert order(rows, ERROR) == [1, 0]
        assert decide(rows[1], rows[0], ERROR) == word, "five beside fifty are no more than five beside five"


def test_a_gap_that_seeds_of_another_row_jump_needs_more_seeds_the_more_rows_jump_it() -> None:
    def told(jumping: int, seeds: int) -> bool:
        learning: list[Score] = [(0.01 if k % 2 else 5.0) * (1 + 0.01 * k) for k in range(seeds)]
        steady = ones(*((1.0 + 0.1 * k, seeds) for k in range(12)), (4.0, seeds))
        return bool(apart([*steady, *[learning] * jumping], ERROR)[0, 12])

    # A row that learns every other time looks steady in 2 of 2 to the n cases, and the lucky one is one of them.
    assert [told(0, 5), told(1, 6), told(1, 7), told(2, 7), told(3, 7), told(3, 8)] == [
        True, False, True, True, False, True,
    ]  # fmt: skip


def test_one_seed_on_the_other_side_of_a_jump_is_none_that_other_rows_are_judged_by() -> None:
    steady = ones(*((1.0 + 0.1 * k, 5) for k in range(12)), (4.0, 5))
    assert apart([*steady, [5.0, 0.01, 0.011, 0.012, 0.013]], ERROR)[0, 12] == 1


def test_between_two_kinds_of_seeds_only_the_sides_speak() -> None:
    steady = ones(*((1.0, 10) for _ in range(3)))
    for learned, word in ((10, 1), (9, 0)):
        parted: list[Score] = [0.1 + 0.001 * k for k in range(learned)] + [5.0 + k for k in range(10 - learned)]
        # Nine of ten are on one side in 22 of 1024 cases: more than 5 % over 4 rows.
        assert pair_tests(errors([parted, steady[0]], ERROR), ERROR).p_rank[0] < 0.05 / 6
        assert apart([parted, *steady], ERROR)[0, 1] == word
    spread: list[Score] = [0.1 + 0.08 * k for k in range(9)] + [1.1]
    assert apart([spread, *steady], ERROR)[0, 1] == 1, "its seeds are of one kind"


def test_rows_are_ordered_by_their_medians_then_by_the_share_that_diverged_then_as_given() -> None:
    lost: list[Score] = [None, None, None]
    rows = [lost, [1.0, None, None], [2.0, 2.0, 2.0], [1.0, 2.0, 9.0], [0.0, 2.0, None], [1.0, 1.0, None]]
    assert order(rows, ERROR) == [5, 2, 3, 4, 1, 0]
    assert order(rows[:4], ACCURACY) == [2, 3, 1, 0]


def test_rows_that_diverged_wholly_tie_with_each_other_and_are_below_what_ended() -> None:
    for n in (5, 10):
        lost: list[Score] = [None] * n
        actual = apart([lost, np.random.default_rng(n).normal(1, 0.2, n).tolist(), lost], ERROR)
        assert actual.tolist() == [[0, -1, 0], [1, 0, 1], [0, -1, 0]]


def test_rows_without_spread_are_told_apart_from_four_seeds_on() -> None:
    for n, message in ((2, 0), (3, 0), (4, 1)):
        assert apart([[0.5] * n, [1.0] * n], ERROR)[0, 1] == message
        assert not apart([[1.0] * n, [1.0] * n], ERROR).any()


@pytest.mark.integration
@given(boards, st.sampled_from([ERROR, ACCURACY]))
def test_a_standing_follows_from_who_is_told_from_whom(rows: list[list[Score]], scale: Scale) -> None:
    places, message = standings(rows, scale), apart(rows, scale)
    assert (message == -message.T).all()
    for i, place in enumerate(places):
        assert place.low == 1 + sum(message[j, i] > 0 for j in range(len(rows)))
        assert place.high == len(rows) - sum(message[i, j] > 0 for j in range(len(rows)))
    for i, j in combinations(range(len(rows)), 2):
        if set(places[i].ties) & set(places[j].ties):
            assert message[i, j] == 0


@pytest.mark.integration
@given(boards, st.sampled_from([ERROR, ACCURACY]))
def test_tie_groups_are_the_largest_runs_of_rows_not_told_apart(rows: list[list[Score]], scale: Scale) -> None:
    places, message, line = standings(rows, scale), apart(rows, scale), order(rows, scale)
    runs = [
        set(line[a:b])
        for a, b in combinations(range(len(rows) + 1), 2)
        if not any(message[i, j] for i, j in combinations(line[a:b], 2))
    ]
    largest = [run for run in runs if not any(run < other for other in runs)]
    count = 1 + max(k for place in places for k in place.ties)
    assert [{i for i, place in enumerate(places) if k in place.ties} for k in range(count)] == largest


@pytest.mark.integration
@given(boards, st.sampled_from([ERROR, ACCURACY]))
def test_a_chain_is_the_longest_run_of_rows_each_better_than_the_next(rows: list[list[Score]], scale: Scale) -> None:
    decisions, line = apart(rows, scale), order(rows, scale)
    chains = [
        chain
        for count in range(1, len(rows) + 1)
        for chain in combinations(line, count)
        if all(decisions[i, j] > 0 for i, j in pairwise(chain))
    ]
    assert chain_length(rows, scale) == max(map(len, chains))


def test_groups_that_overlap_make_no_chain() -> None:
    apart_by_steps: list[list[Score]] = [[10.0**k * (1 + j / 100) for j in range(10)] for k in range(4)]
    assert chain_length(apart_by_steps, ERROR) == 4
    assert chain_length([[1.0 + j / 10 for j in range(10)]] * 3, ERROR) == 1 and chain_length([], ERROR) == 0


@pytest.mark.integration
@given(boards, st.randoms())
def test_standings_do_not_depend_on_the_order_of_rows_with_different_medians(rows: list[Any], random: Any) -> None:
    rows = list({typical(seeds, ERROR): seeds for seeds in rows}.values())
    shuffled = random.sample(range(len(rows)), len(rows))
    assert standings([rows[i] for i in shuffled], ERROR) == [standings(rows, ERROR)[i] for i in shuffled]


@pytest.mark.integration
@given(boards)
def test_the_other_goal_turns_the_board_over_where_no_seed_diverged(rows: list[list[Score]]) -> None:
    whole: list[list[Score]] = [[s or 99.0 for s in seeds] for seeds in rows]
    for up, down in zip(standings(whole, Scale("max", None)), standings(whole, Scale("min", None)), strict=True):
        assert (up.low, up.high) == (len(rows) + 1 - down.high, len(rows) + 1 - down.low)


def test_tie_groups_are_written_as_letters() -> None:
    assert letters((0,)) == "a"
    assert letters((0, 1)) == "ab"
    assert letters((25, 26)) == "za1"


def test_standings_refuse_what_has_no_answer() -> None:
    assert standings([], ERROR) == []
    with pytest.raises(ValueError, match="at least one seed"):
        standings([[1.0], []], ERROR)
    with pytest.raises(ValueError, match="between 0 and 1, got 1"):
        standings([[1.0, 2.0]], ERROR, 1)
    with pytest.raises(ValueError, match="Scores are finite, or None"):
        apart([[1.0, 2.0], [math.nan, 1.0]], ERROR)
