"""The median over all seeds and its interval: by hand, by order statistics, and how often it covers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from longwave.platform.statistics.median import Median, median, typical
from longwave.platform.statistics.scale import Scale, Score

ERROR, ACCURACY, LIKELIHOOD = Scale(), Scale("max", 100.0, 0.5), Scale("max", None)
seeds = st.lists(st.one_of(st.none(), st.integers(-50, 50).map(float)), min_size=1, max_size=12)


def test_up_to_five_seeds_the_interval_runs_from_the_best_to_the_worst_with_the_level_it_has() -> None:
    assert median([3.0], ERROR) == Median(3.0, 3.0, 3.0, None)
    assert median([3.0, 1.0, 2.0], ERROR) == Median(2.0, 1.0, 3.0, 0.75)
    assert median([3.0, 1.0, 2.0, 4.0], ERROR) == Median(2.5, 1.0, 4.0, 0.875)
    assert median([97.0, 99.0, 98.0, 95.0, 96.0], ACCURACY) == Median(97.0, 99.0, 95.0, 0.9375)
    assert median([-3.0, -1.0, -2.0], LIKELIHOOD) == Median(-2.0, -1.0, -3.0, 0.75)


def test_a_diverged_seed_is_worse_than_any_score_and_may_be_an_end_or_the_median() -> None:
    assert median([1.0, 2.0, 3.0, 4.0, None], ERROR) == Median(3.0, 1.0, None, 0.9375)
    assert median([1.0, None, None, 2.0, None], ACCURACY) == Median(None, 2.0, None, 0.9375)
    assert median([1.0, 2.0, None, None], ERROR) == Median(None, 1.0, None, 0.875)
    assert median([None, None], ERROR) == Median(None, None, None, 0.5)
    # Five of fifty ended: no survivor's score is typical.
    assert median([0.1] * 5 + [None] * 45, ERROR).value is None


@pytest.mark.parametrize("n", [6, 10, 11, 20, 37])
def test_from_six_seeds_on_the_ends_lie_between_the_two_orders_whose_coverage_encloses_95_percent(n: int) -> None:
    covered = [1 - 2 * binom.cdf(k - 1, n, 0.5) for k in range(1, n // 2 + 1)]
    k = sum(share > 0.95 for share in covered)
    actual = median([float(x) for x in range(1, n + 1)], ERROR)
    assert actual.best is not None and actual.worst is not None
    assert k < actual.best < k + 1 and n - k < actual.worst < n + 1 - k
    assert actual.best + actual.worst == pytest.approx(n + 1)
    assert actual.level == 0.95


def test_the_interpolation_is_hettmansperger_and_sheathers() -> None:
    # n = 10: k = 2 covers .978516, 3 covers .890625; I = .3245 and λ = 8 I / (2 + 6 I).
    share = (0.978515625 - 0.95) / (0.978515625 - 0.890625)
    assert median([float(x) for x in range(10)], ERROR).best == pytest.approx(1 + 8 * share / (2 + 6 * share))


def test_an_end_between_a_score_and_a_diverged_seed_is_the_outer_one() -> None:
    assert median([1.0, *[None] * 6], ERROR) == Median(None, 1.0, None, 0.95)
    assert median([*map(float, range(6)), None], ERROR).worst is None
    actual = median([*map(float, range(9)), None], ERROR)
    assert actual.best == pytest.approx(8 - (actual.worst or 0.0) + 1)


@given(seeds, st.randoms())
def test_the_other_goal_mirrors_it_and_the_order_does_not_matter(scores: list[Score], random: object) -> None:
    actual = median(scores, ERROR)
    mirrored = median([None if s is None else -s for s in reversed(scores)], LIKELIHOOD)
    assert mirrored == Median(
        *(None if x is None else -x for x in (actual.value, actual.best, actual.worst)), actual.level
    )
    assert typical(scores, ERROR) == (math.inf if actual.value is None else actual.value)
    ends = [math.inf if x is None else x for x in (actual.best, actual.value, actual.worst)]
    assert ends == sorted(ends)


@pytest.mark.parametrize("n", [5, 10, 20])
@pytest.mark.parametrize("shape", ["normal", "skewed", "diverging"])
def test_the_interval_covers_the_laws_median_in_93_to_96_cases_of_100(n: int, shape: str) -> None:
    rng, samples = np.random.default_rng(n), 2000
    drawn = rng.standard_normal((samples, n))
    scores: list[list[Score]] = (np.exp(1.5 * drawn) if shape != "normal" else drawn + 9).tolist()
    truth = 9.0 if shape == "normal" else 1.0
    if shape == "diverging":  # a fifth of seeds, so that the median is the 62.5 % quantile of those that end
        truth = math.exp(1.5 * 0.318639)
        scores = [[None if rng.random() < 0.2 else s for s in row] for row in scores]
    held = 0
    for row in scores:
        actual = median(row, ERROR)
        held += (
            (math.inf if actual.best is None else actual.best)
            <= truth
            <= (math.inf if actual.worst is None else actual.worst)
        )
    slack = 3 * math.sqrt(0.95 * 0.05 / samples)
    assert 0.93 - slack < held / samples < 0.96 + slack


def test_a_median_refuses_what_has_none() -> None:
    with pytest.raises(ValueError, match="at least one seed"):
        median([], ERROR)
    with pytest.raises(ValueError, match=r"Scores are finite, or None where a seed diverged; got \[1.0, nan\]"):
        typical([1.0, math.nan], ERROR)
