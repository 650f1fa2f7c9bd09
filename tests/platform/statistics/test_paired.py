"""Tests of pairs against all choices of signs, one by one, and against scipy's own."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, rankdata, wilcoxon

from longwave.platform.statistics.paired import EXACT, paired_contrast, paired_ratio, signed_rank
from longwave.platform.statistics.scale import Scale, Score


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=EXACT))
@example([0, 0, 0])
@example([3, -1, 0, 0, 2, 2, 1])
@example([1, 2, 3, 4, 5, 6, 7, 8, -9, -9, 11, 12, 13])
@settings(max_examples=50)
def test_the_p_value_is_the_share_of_signs_with_as_large_a_sum(actual: list[int]) -> None:
    ranks = rankdata(np.abs(actual)) * np.sign(actual)
    sums = np.abs([*product((1, -1), repeat=len(actual))] @ ranks)
    assert signed_rank(np.array(actual, float)) == pytest.approx(np.mean(sums >= sums[0]), rel=1e-12)


@pytest.mark.integration
@given(st.lists(st.integers(-3, 3), min_size=2, max_size=8))
@example([3, -1, 0, 0, 2, 2, 1])
@settings(max_examples=25)
def test_ties_and_zeros_count_as_in_scipy(actual: list[int]) -> None:
    assert signed_rank(np.array(actual, float)) == pytest.approx(
        wilcoxon(actual, zero_method="zsplit").pvalue, rel=1e-12
    )


def test_many_pairs_are_scipys() -> None:
    actual = np.array([1.0, 2, 2, 3, 0, -1, 4, 5, 6, -2, 7, 8, 9, 10])
    assert len(actual) == EXACT + 1
    assert signed_rank(actual) == wilcoxon(actual, zero_method="zsplit").pvalue


def test_one_pair_is_no_test() -> None:
    with pytest.raises(ValueError, match="two or more"):
        signed_rank(np.array([1.0]))


@given(st.lists(st.sampled_from([-1, 1]), min_size=1, max_size=25))
def test_equal_seeds_decide_by_the_sign_test(signs: list[int]) -> None:
    ours: list[Score] = [10.0 - sign for sign in signs]
    actual = paired_contrast(ours, [10.0] * len(signs), Scale())
    test = binomtest(signs.count(1), len(signs))
    exact = test.proportion_ci(0.95, "exact")
    assert (actual.pairs, actual.better.value) == (len(signs), signs.count(1) / len(signs))
    assert (actual.better.low, actual.better.high) == pytest.approx((exact.low, exact.high))
    word = "undecided" if test.pvalue > 0.05 else "better" if sum(signs) > 0 else "worse"
    assert actual.decision == word


def test_five_pairs_decide_nothing_and_six_do() -> None:
    assert paired_contrast([1.0] * 5, [2.0] * 5, Scale()).decision == "undecided"
    assert paired_contrast([1.0] * 6, [2.0] * 6, Scale()).decision == "better"
    assert paired_contrast([1.0] * 6, [2.0] * 6, Scale("max", None)).decision == "worse"


def test_ties_speak_against_a_decision_and_a_diverged_seed_is_worst() -> None:
    assert paired_contrast([1.0] * 6, [2.0] * 5 + [1.0], Scale()).decision == "undecided"
    assert paired_contrast([None] * 7, [2.0] * 6 + [None], Scale()).decision == "undecided"
    actual = paired_contrast([1.0] * 8, [2.0, *[None] * 7], Scale())
    assert actual.decision == "better" and actual.ratio == paired_ratio([1.0], [2.0], Scale())


def test_what_both_rows_had_of_a_seed_is_not_between_them() -> None:
    shared = np.exp(np.random.default_rng(0).standard_normal(8))
    actual = paired_contrast((0.9 * shared).tolist(), shared.tolist(), Scale())
    assert actual.decision == "better"
    assert actual.ratio is not None and (actual.ratio.low, actual.ratio.high) == pytest.approx((0.9, 0.9))


def test_pairs_need_a_seed_in_common() -> None:
    with pytest.raises(ValueError, match="one seed in common"):
        paired_contrast([], [], Scale())
    with pytest.raises(ValueError, match="shorter than"):
        paired_contrast([1.0, 2.0], [1.0], Scale())
