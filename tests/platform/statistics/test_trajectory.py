"""The median best of k trials: against every subset, by known order statistics, with diverged trials."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from itertools import combinations
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longwave.platform.statistics.trajectory import all_diverged, median_best

trials = st.lists(st.integers(-100, 100).map(float), min_size=1, max_size=9)
goals = st.sampled_from(["max", "min"])


@given(trials, goals)
@settings(max_examples=50)
def test_the_curve_is_the_median_of_the_best_over_all_subsets(scores: list[float], goal: str) -> None:
    best = max if goal == "max" else min
    curve = median_best(scores, goal)
    assert len(curve) == len(scores)
    for k, point in enumerate(curve, 1):
        bests = [best(subset) for subset in combinations(scores, k)]
        assert point.value == pytest.approx(median(bests))


@given(trials, goals, st.sampled_from([0.5, 0.8, 0.9]))
def test_the_band_holds_its_share_of_the_searches(scores: list[float], goal: str, level: float) -> None:
    best = max if goal == "max" else min
    for k, point in enumerate(median_best(scores, goal, level), 1):
        bests = sorted(best(subset) for subset in combinations(scores, k))
        assert point.low is not None and point.high is not None
        tail = (1 - level) / 2 * len(bests) * (1 + 1e-9)
        assert sum(b < point.low for b in bests) <= tail and sum(b > point.high for b in bests) <= tail
        assert sum(point.low <= b <= point.high for b in bests) >= level * len(bests) * (1 - 1e-9)


@given(trials, goals)
def test_more_trials_never_find_less_in_the_median(scores: list[float], goal: str) -> None:
    values = [point.value if goal == "max" else -point.value for point in median_best(scores, goal)]
    assert all(later >= earlier - 1e-9 for earlier, later in zip(values, values[1:], strict=False))
    best = max(scores) if goal == "max" else min(scores)
    assert values[0] * (1 if goal == "max" else -1) == pytest.approx(median(scores))
    assert values[-1] * (1 if goal == "max" else -1) == pytest.approx(best)


@given(trials)
@settings(max_examples=50)
def test_the_order_of_the_trials_does_not_matter_and_the_goals_mirror_each_other(scores: list[float]) -> None:
    assert median_best(sorted(scores), "max") == median_best(scores, "max")
    mirrored = median_best([-s for s in scores], "min")
    for point, other in zip(median_best(scores, "max"), mirrored, strict=True):
        assert (point.value, point.low, point.high) == pytest.approx((-other.value, -other.high, -other.low))  # type: ignore[operator]


@given(trials, st.integers(0, 4), goals)
@settings(max_examples=50)
def test_a_diverged_trial_is_never_the_best_and_has_no_number(scores: list[float], diverged: int, goal: str) -> None:
    best, known = max if goal == "max" else min, [*scores, *[None] * diverged]
    lost = all_diverged(diverged, len(known))
    for k, point in enumerate(median_best(known, goal), 1):
        subsets = [[s for s in subset if s is not None] for subset in combinations(known, k)]
        bests = [best(subset) for subset in subsets if subset]
        assert point.value == pytest.approx(median(bests))
        assert lost[k - 1] == pytest.approx(1 - len(bests) / len(subsets))


def test_a_search_of_thousands_of_trials_neither_overflows_nor_loses_digits() -> None:
    n = 3000
    curve = median_best([float(i) for i in range(1, n + 1)], "max")
    for k in (1, 2, 10, 1500, n):
        half = math.comb(n, k)  # the largest of k of 1 … n is at most m in C(m, k) of C(n, k) cases
        at_least = bisect_left(range(n + 1), half, key=lambda m, k=k: 2 * math.comb(m, k))
        above = bisect_right(range(n + 1), half, key=lambda m, k=k: 2 * math.comb(m, k))
        assert curve[k - 1].value == (at_least + above) / 2


def test_trajectories_refuse_what_has_no_answer() -> None:
    for none in ([None, None], []):
        with pytest.raises(ValueError, match="at least one score"):
            median_best(none, "max")
    with pytest.raises(ValueError, match=r"not finite at positions \[1\]"):
        median_best([1.0, math.inf], "max")
    with pytest.raises(ValueError, match="between 0 and 1, got 1"):
        median_best([1.0], "max", 1)
    with pytest.raises(ValueError, match='A goal is "max" or "min"'):
        median_best([1.0], "best")
