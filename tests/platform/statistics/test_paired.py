"""Tests of pairs against all choices of signs, one by one, and against scipy's own."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata, wilcoxon

from longwave.platform.statistics.paired import EXACT, signed_rank


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=EXACT))
@example([0, 0, 0])
@example([3, -1, 0, 0, 2, 2, 1])
@example([1, 2, 3, 4, 5, 6, 7, 8, -9, -9, 11, 12, 13])
@settings(max_examples=50)
def test_the_p_value_is_the_share_of_signs_with_as_large_a_sum(actual: list[int]) -> None:
    ranks = rankdata(np.abs(actual)) * np.sign(actual)
    sums = np.abs([*product((1, -1), repeat=len(actual))] @ ranks)
    assert signed_rank(np.array(actual, float)) == pytest.approx(np.mean(sums >= sums[0]), rel=1e-12)


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
