"""Rows against a fixed score: the exact sign test, Hochberg's rule, and how often both are wrong."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from statsmodels.stats.multitest import multipletests

from longwave.platform.statistics.scale import Scale, Score
from longwave.platform.statistics.sign import beats, fewest_seeds, seeds_better, sign_tail, surely_better

DOWN, RATE = Scale(), Scale("max", 100.0, 0.25)
SCORES = st.one_of(st.none(), st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0]))


@given(st.integers(1, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_tail_is_that_of_scipys_binomial_test(case: tuple[int, int]) -> None:
    assert sign_tail(*case) == pytest.approx(binomtest(*case, alternative="greater").pvalue, rel=1e-12)


def test_a_row_without_seeds_has_no_sign_test() -> None:
    with pytest.raises(ValueError, match="A sign test needs at least one seed"):
        surely_better([[]], 1.0, DOWN)
    with pytest.raises(ValueError, match="level lies between 0 and 1"):
        surely_better([[1.0]], 1.0, DOWN, alpha=0.0)


@given(st.lists(st.lists(SCORES, min_size=1, max_size=12), min_size=1, max_size=8))
def test_rows_are_told_apart_as_hochbergs_rule_of_statsmodels_has_it(rows: list[list[Score]]) -> None:
    tails = [binomtest(seeds_better(row, 1.0, DOWN), len(row), alternative="greater").pvalue for row in rows]
    expected = multipletests(tails, 0.05, method="simes-hochberg")[0].tolist()
    assert surely_better(rows, 1.0, DOWN) == expected


def test_equal_seeds_and_diverged_ones_count_against_a_row() -> None:
    assert seeds_better([0.9, 1.0, 1.1, None], 1.0, DOWN) == 1
    assert seeds_better([51.0, 50.0, 49.0, None], 50.0, RATE) == 1
    assert surely_better([[0.9] * 5], 1.0, DOWN) == [True]
    assert surely_better([[0.9] * 4 + [None]], 1.0, DOWN) == [False]


def test_what_rounding_to_float32_makes_is_no_difference_and_one_test_item_is_one() -> None:
    third = 100 * 14 / 15
    for score in (np.float32(third), np.nextafter(np.float32(third), np.float32(100))):
        assert float(score) != third and not beats(float(score), third, RATE) and not beats(third, float(score), RATE)
    assert beats(third + RATE.floor, third, RATE), "a median between two items"
    rounded = float(np.nextafter(np.float32(0.1), np.float32(0)))
    assert rounded < 0.1 and not beats(rounded, 0.1, DOWN) and beats(0.1 * (1 - 1e-5), 0.1, DOWN)


@pytest.mark.parametrize("share", [0.3, 0.5])
@pytest.mark.parametrize("seeds", [5, 10])
def test_no_law_makes_false_claims_in_more_than_five_boards_of_a_hundred(seeds: int, share: float) -> None:
    """Seeds that beat the score in ``share`` of all cases are all that a law can be to a sign test: so counted exactly.

    Boards of equal rows, by their counts: the chance of each, and whether any row of it is told apart.
    """
    law = [math.comb(seeds, k) * share**k * (1 - share) ** (seeds - k) for k in range(seeds + 1)]
    for rows in (1, 3):
        wrong = sum(
            math.prod(law[k] for k in counts)
            for counts in itertools.product(range(seeds + 1), repeat=rows)
            if any(surely_better([[0.5] * k + [2.0] * (seeds - k) for k in counts], 1.0, DOWN))
        )
        assert wrong <= 0.05, (rows, wrong)


@pytest.mark.parametrize("rows", [1, 2, 13, 21])
def test_the_fewest_seeds_are_those_with_which_a_row_alone_is_told_apart(rows: int) -> None:
    least = fewest_seeds(rows)
    for seeds, expected in ((least - 1, False), (least, True)):
        actual = surely_better([[0.5] * seeds, *[[2.0] * seeds] * (rows - 1)], 1.0, DOWN)
        assert actual == [expected, *[False] * (rows - 1)]
    assert {1: 5, 2: 6, 13: 9, 21: 9}[rows] == least
