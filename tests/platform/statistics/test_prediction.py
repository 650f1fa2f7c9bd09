"""Where one more seed is expected, and what a re-run would notice: by scipy and by draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from longwave.platform.statistics.prediction import find_detection_chance, find_interval_factor, prediction_interval
from longwave.platform.statistics.scale import Scale


def test_the_interval_is_students_for_the_log_of_one_more_error() -> None:
    scores = [1.0, 2.5, 2.0, 4.0]
    wide = math.sqrt(1 + 1 / 4)
    logs = np.log(scores)
    wanted = np.exp(scipy_stats.t.interval(0.95, 3, logs.mean(), logs.std(ddof=1) * wide))
    assert prediction_interval(scores, Scale()) == pytest.approx(tuple(wanted))
    plain = scipy_stats.t.interval(0.95, 3, 2.375, np.std(scores, ddof=1) * wide)
    assert prediction_interval(scores, Scale("max", None)) == pytest.approx(plain)
    rates = prediction_interval([100 - x for x in scores], Scale("max", 100.0))
    assert rates == pytest.approx((100 - wanted[1], 100 - wanted[0]))


def test_an_interval_of_perplexities_is_that_of_their_distances_from_1() -> None:
    scores = [80.0, 81.0, 84.0]
    low, high = prediction_interval(scores, Scale("min", 1.0)) or (0.0, 0.0)
    assert (low - 1, high - 1) == pytest.approx(prediction_interval([score - 1 for score in scores], Scale()))


def test_an_interval_of_accuracies_that_nears_perfection_ends_there() -> None:
    actual = prediction_interval([99.0, 99.4, 99.6], Scale("max", 100.0, 0.2))
    assert actual is not None and actual[0] < 99 and actual[1] == 100


def test_an_interval_of_accuracies_that_vary_much_ends_at_zero() -> None:
    assert prediction_interval([99.97, 60.0, 5.0], Scale("max", 100.0, 0.05)) == (0.0, 100.0)
    low, _ = prediction_interval([9.0, 60.0, -500.0], Scale("max", None)) or (0.0, 0.0)
    assert low < -500, "a metric without a perfect score has no such end"


@pytest.mark.parametrize("n", [2, 5])
def test_the_interval_holds_one_more_score_as_often_as_it_says(n: int) -> None:
    draws = np.exp(0.5 * np.random.default_rng(0).normal(size=(4000, n + 1))).tolist()
    intervals = [prediction_interval(draw[:-1], Scale()) for draw in draws]
    hits = sum(low <= draw[-1] <= high for draw, (low, high) in zip(draws, filter(None, intervals), strict=True))
    assert abs(hits / 4000 - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 4000)


def test_one_score_or_equal_scores_state_no_interval() -> None:
    assert prediction_interval([1.0], Scale()) is None
    assert prediction_interval([1.0] * 38, Scale()) is None  # one more is apart by chance in 2 of 39: beyond 5 %
    assert prediction_interval([1.0] * 39, Scale()) == (1.0, 1.0)


def test_the_reach_is_the_factor_from_the_typical_error_to_the_ends_of_the_interval() -> None:
    scores = [1.0, 2.5, 2.0, 4.0]
    interval, factor = prediction_interval(scores, Scale()), find_interval_factor(scores, Scale())
    assert interval is not None and factor is not None
    typical = float(scipy_stats.gmean(scores))
    assert interval == pytest.approx((typical / factor, typical * factor))
    for none in ([1.0], [1.0, 1.0], [-1.0, 2.0]):
        assert find_interval_factor(none, Scale()) is None and find_detection_chance(none, Scale(), 1.5) is None
    assert find_interval_factor(scores, Scale("max", None)) is None


@pytest.mark.parametrize(("n", "spread"), [(5, 0.1), (5, 0.3), (10, 0.15), (10, 0.02), (20, 1.0)])
def test_the_power_is_the_share_of_seeds_with_larger_errors_that_fall_outside(n: int, spread: float) -> None:
    drawn = spread * np.random.default_rng(0).standard_normal((20_000, n + 1))
    rows, more = drawn[:, :-1], drawn[:, -1] + math.log(1.5)
    half = scipy_stats.t.ppf(0.975, n - 1) * rows.std(1, ddof=1) * math.sqrt(1 + 1 / n)
    share = np.mean(abs(more - rows.mean(1)) > half)
    exact = spread * (np.arange(n) - (n - 1) / 2) / np.arange(n).std(ddof=1)
    power = find_detection_chance(np.exp(exact).tolist(), Scale(), 1.5)
    assert power == pytest.approx(share, abs=4 * math.sqrt(0.25 / 20_000))
