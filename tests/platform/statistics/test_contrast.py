"""Two rows against each other: by hand, by brute force, and how often intervals and promised seeds hold."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from longwave.platform.statistics.contrast import Decision, chance, contrast, decide, improvement, more_seeds
from longwave.platform.statistics.stats import Difference, Summary, difference, summary

scores = st.lists(st.integers(-30, 30).map(float), min_size=1, max_size=8)
several = st.lists(st.integers(-30, 30).map(float), min_size=2, max_size=8)
goals = st.sampled_from(["max", "min"])


def test_a_contrast_by_hand() -> None:
    found = contrast([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], "min")
    half = scipy_stats.t.ppf(0.975, 4) * math.sqrt(2 / 3)
    assert (found.gain.value, found.gain.low, found.gain.high) == pytest.approx((3, 3 - half, 3 + half))
    assert (found.improvement.value, found.decision, found.more) == (1, "better", 0)
    assert contrast([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], "max").decision == "worse"


def test_one_score_against_any_decides_nothing() -> None:
    found = contrast([1.0], [2.0, 3.0, 4.0], "min")
    assert (found.gain.value, found.gain.low, found.gain.high) == (2, None, None)
    assert (found.improvement.low, found.decision, found.more) == (None, "undecided", None)


def test_scores_without_spread_decide_as_soon_as_a_permutation_test_could() -> None:
    three, four = (contrast([1.0] * n, [0.5] * n, "max") for n in (3, 4))
    assert (three.decision, three.gain.low, three.more) == ("undecided", None, 1)
    assert (four.decision, four.gain.low, four.gain.high) == ("better", 0.5, 0.5)
    same = contrast([1.0] * 4, [1.0] * 4, "max")
    assert (same.decision, same.more) == ("undecided", None)
    assert contrast([1.0] * 4, [1.0] * 4, "max", rope=0.1).decision == "equivalent"


@given(several, several, goals)
@settings(max_examples=30)
def test_swapping_the_sides_or_the_goal_turns_a_contrast_over(a: list[float], b: list[float], goal: str) -> None:
    here = contrast(a, b, goal)
    opposite = {"better": "worse", "worse": "better"}
    for there in (contrast(b, a, goal), contrast(a, b, "min" if goal == "max" else "max")):
        assert there.gain.value == pytest.approx(-here.gain.value)
        assert there.improvement.value == pytest.approx(1 - here.improvement.value)
        assert there.improvement.low is not None and here.improvement.high is not None
        assert there.improvement.low == pytest.approx(1 - here.improvement.high, abs=1e-12)
        assert there.decision == opposite.get(here.decision, here.decision)
        assert there.more == here.more


@given(several, several, st.sampled_from([0.125, 0.5, 4.0, 1024.0]))
@settings(max_examples=30)
def test_the_unit_of_the_metric_does_not_matter(a: list[float], b: list[float], scale: float) -> None:
    here, there = contrast(a, b, "max", 1.0), contrast([scale * x for x in a], [scale * x for x in b], "max", scale)
    assert there.gain.value == pytest.approx(scale * here.gain.value)
    assert (there.improvement, there.decision, there.more) == (here.improvement, here.decision, here.more)


@given(scores, scores)
def test_the_probability_of_improvement_counts_pairs_with_ties_half(a: list[float], b: list[float]) -> None:
    share = improvement(a, b, "max")
    wins = sum(1.0 if x > y else 0.5 if x == y else 0.0 for x, y in product(a, b))
    assert share.value == wins / (len(a) * len(b))
    assert share.value == pytest.approx(scipy_stats.mannwhitneyu(a, b).statistic / len(a) / len(b))
    assert improvement(sorted(a), sorted(b), "max") == share
    if share.low is not None and share.high is not None:
        assert 0 <= share.low <= share.value <= share.high <= 1


@given(several, several, st.integers(0, 7), st.floats(0, 10))
def test_a_better_score_never_lowers_the_probability_of_improvement(
    a: list[float], b: list[float], k: int, more: float
) -> None:
    raised = list(a)
    raised[k % len(a)] += more
    before, after = improvement(a, b, "max"), improvement(raised, b, "max")
    assert before.low is not None and after.low is not None
    assert after.value >= before.value and after.low >= before.low - 1e-12


@pytest.mark.parametrize("few", [2, 3, 5, 10])
def test_the_interval_is_wilsons_for_the_smaller_number_of_scores(few: int) -> None:
    share = improvement([1.0] * few, [0.0] * 10, "max")
    theirs = scipy_stats.binomtest(few, few).proportion_ci(0.95, "wilson")
    assert (share.value, share.low, share.high) == pytest.approx((1, theirs.low, theirs.high))


@pytest.mark.parametrize("n", [3, 5, 10])
@pytest.mark.parametrize("std", [1.0, 3.0])
@pytest.mark.parametrize("truth", [0.5, 0.7, 0.9])
def test_the_probability_of_improvement_is_covered_in_93_cases_of_100_at_least(
    n: int, std: float, truth: float
) -> None:
    rng, samples = np.random.default_rng(n), 4000
    a = rng.standard_normal((samples, n)) + scipy_stats.norm.ppf(truth) * math.hypot(1, std)
    b = std * rng.standard_normal((samples, n))
    shares = [improvement(x, y, "max") for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    held = np.mean([e.low <= truth <= e.high for e in shares if e.low is not None and e.high is not None])
    assert held > 0.93
    assert n == 3 or held < 0.995


@pytest.mark.parametrize(
    ("interval", "rope", "expected"),
    [
        ((0.1, 0.2), 0.0, "better"),
        ((-0.2, -0.1), 0.0, "worse"),
        ((-0.1, 0.2), 0.0, "undecided"),
        ((0.0, 0.0), 0.0, "undecided"),
        ((0.1, 0.2), 0.1, "undecided"),
        ((0.11, 0.2), 0.1, "better"),
        ((-0.3, -0.11), 0.1, "worse"),
        ((-0.1, 0.1), 0.1, "equivalent"),
        ((0.01, 0.09), 0.1, "equivalent"),
        ((-0.2, 0.2), 0.1, "undecided"),
        (None, 0.1, "undecided"),
    ],
)
def test_the_interval_decides_against_the_region_of_practical_equivalence(
    interval: tuple[float, float] | None, rope: float, expected: Decision
) -> None:
    assert decide(interval, rope) == expected


@pytest.mark.parametrize(("effect", "rope", "n"), [(1.5, 0.0, 3), (1.0, 0.0, 5), (0.0, 0.9, 5), (2.5, 1.0, 3)])
def test_the_chance_of_a_decision_is_its_share_of_simulated_ones(effect: float, rope: float, n: int) -> None:
    a, b = Summary(effect, 1.0, n), Summary(0.0, 0.5, n)
    more = more_seeds(a, b, rope)
    assert more is not None
    size, samples, rng = n + more, 4000, np.random.default_rng(n)
    first, second = effect + rng.standard_normal((samples, size)), 0.5 * rng.standard_normal((samples, size))
    decided = 0
    for x, y in zip(first, second, strict=True):
        gap = difference(*(Summary(float(s.mean()), float(s.std(ddof=1)), size) for s in (x, y)))
        decided += gap is not None and decide(gap.interval(), rope) != "undecided"
    gap = difference(Summary(effect, 1.0, size), Summary(0.0, 0.5, size))
    assert gap is not None
    assert decided / samples == pytest.approx(chance(gap, rope), abs=0.03)
    assert decided / samples > 0.77


def test_the_chance_of_a_decision_is_the_power_of_the_t_test() -> None:
    gap = Difference(1.0, 0.5, 8.0, 0.0)
    t = scipy_stats.t.ppf(0.975, 8)
    power = scipy_stats.nct.sf(t, 8, 2) + scipy_stats.nct.cdf(-t, 8, 2)
    assert chance(gap) == pytest.approx(power, rel=1e-6)
    assert chance(Difference(0.0, 0.5, 8.0, 0.0)) == pytest.approx(0.05)
    assert chance(Difference(1e9, 0.5, 8.0, 0.0)) == pytest.approx(1)


def test_a_smaller_effect_needs_more_seeds_until_no_number_would_do() -> None:
    needs = [more_seeds(Summary(effect, 1.0, 5), Summary(0.0, 1.0, 5)) for effect in (2.0, 1.5, 1.0, 0.5, 0.1)]
    assert needs == [1, 4, 12, 59, None]
    assert more_seeds(Summary(1.0, 1.0, 5), Summary(0.0, 1.0, 5), rope=1.0) is None
    assert more_seeds(Summary(0.0, 1.0, 5), Summary(0.0, 1.0, 5), rope=1.0) == 18
    assert more_seeds(summary([1.0]), summary([1.0, 2.0])) is None


def test_contrasts_refuse_what_has_no_answer() -> None:
    with pytest.raises(ValueError, match="rope=-1"):
        contrast([1.0, 2.0], [1.0, 2.0], "max", -1)
    with pytest.raises(ValueError, match="between 0 and 1, got 0"):
        contrast([1.0, 2.0], [1.0, 2.0], "max", level=0)
    with pytest.raises(ValueError, match='A goal is "max" or "min"'):
        contrast([1.0, 2.0], [1.0, 2.0], "least")
    with pytest.raises(ValueError, match="at least one score"):
        contrast([], [1.0, 2.0], "max")
