"""The expected best of k trials: against every subset, by known order statistics, with diverged trials."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longwave.platform.statistics.trajectory import all_diverged, expected_best

trials = st.lists(st.integers(-100, 100).map(float), min_size=1, max_size=9)
goals = st.sampled_from(["max", "min"])


@given(trials, goals)
@settings(max_examples=50)
def test_the_curve_is_the_mean_of_the_best_over_all_subsets(scores: list[float], goal: str) -> None:
    best = max if goal == "max" else min
    curve = expected_best(scores, goal)
    assert len(curve) == len(scores)
    for k, point in enumerate(curve, 1):
        bests = [best(subset) for subset in combinations(scores, k)]
        assert point.value == pytest.approx(sum(bests) / math.comb(len(scores), k))


@given(trials, goals, st.sampled_from([0.5, 0.8, 0.9]))
def test_the_band_holds_its_share_of_the_searches(scores: list[float], goal: str, level: float) -> None:
    best = max if goal == "max" else min
    for k, point in enumerate(expected_best(scores, goal, level), 1):
        bests = sorted(best(subset) for subset in combinations(scores, k))
        assert point.low is not None and point.high is not None
        tail = (1 - level) / 2 * len(bests) * (1 + 1e-9)
        assert sum(b < point.low for b in bests) <= tail and sum(b > point.high for b in bests) <= tail
        assert sum(point.low <= b <= point.high for b in bests) >= level * len(bests) * (1 - 1e-9)


@given(trials, goals)
def test_more_trials_are_never_expected_to_find_less(scores: list[float], goal: str) -> None:
    values = [point.value if goal == "max" else -point.value for point in expected_best(scores, goal)]
    assert all(later >= earlier - 1e-9 for earlier, later in zip(values, values[1:], strict=False))
    best = max(scores) if goal == "max" else min(scores)
    assert values[0] * (1 if goal == "max" else -1) == pytest.approx(np.mean(scores))
    assert values[-1] * (1 if goal == "max" else -1) == pytest.approx(best)


@given(trials)
@settings(max_examples=50)
def test_the_order_of_the_trials_does_not_matter_and_the_goals_mirror_each_other(scores: list[float]) -> None:
    assert expected_best(sorted(scores), "max") == expected_best(scores, "max")
    mirrored = expected_best([-s for s in scores], "min")
    for point, other in zip(expected_best(scores, "max"), mirrored, strict=True):
        assert (point.value, point.low, point.high) == pytest.approx((-other.value, -other.high, -other.low))  # type: ignore[operator]


@given(trials, st.integers(0, 4), goals)
@settings(max_examples=50)
def test_a_diverged_trial_is_never_the_best_and_has_no_number(scores: list[float], diverged: int, goal: str) -> None:
    best, known = max if goal == "max" else min, [*scores, *[None] * diverged]
    lost = all_diverged(diverged, len(known))
    for k, point in enumerate(expected_best(known, goal), 1):
        subsets = [[s for s in subset if s is not None] for subset in combinations(known, k)]
        bests = [best(subset) for subset in subsets if subset]
        assert point.value == pytest.approx(sum(bests) / len(bests))
        assert lost[k - 1] == pytest.approx(1 - len(bests) / len(subsets))


def test_the_curve_is_unbiased_for_the_expected_maximum_of_normal_draws() -> None:
    samples = np.random.default_rng(0).standard_normal((2000, 8)).tolist()
    curves = [[point.value for point in expected_best(scores, "max")] for scores in samples]
    known = [0, 0.5642, 0.8463, 1.0294, 1.1630, 1.2672, 1.3522, 1.4236]  # E max of k standard normal draws
    assert np.mean(curves, axis=0) == pytest.approx(known, abs=3 / math.sqrt(2000))


def test_a_search_of_thousands_of_trials_neither_overflows_nor_loses_digits() -> None:
    n = 3000
    curve = expected_best([float(i) for i in range(1, n + 1)], "max")
    for k in (1, 2, 10, 1500, n):
        assert curve[k - 1].value == pytest.approx(k * (n + 1) / (k + 1), rel=1e-9)  # expected largest of k of 1 … n


def test_trajectories_refuse_what_has_no_answer() -> None:
    for none in ([None, None], []):
        with pytest.raises(ValueError, match="at least one score"):
            expected_best(none, "max")
    with pytest.raises(ValueError, match=r"not finite at positions \[1\]"):
        expected_best([1.0, math.inf], "max")
    with pytest.raises(ValueError, match="between 0 and 1, got 1"):
        expected_best([1.0], "max", 1)
    with pytest.raises(ValueError, match='A goal is "max" or "min"'):
        expected_best([1.0], "best")
