"""Two rows against each other: by hand, by brute force, and how often intervals and promised seeds hold."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from honesty.simulated_pairs import (
    COVERAGE,
    PROMISES,
    PairLaw,
    better_covered,
    check_promised_seeds,
    draw_exactly,
    ratio_covered,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from longwave.platform.statistics.contrast import (
    chance,
    contrast,
    improvement,
    more_seeds,
    ratio,
    within,
)
from longwave.platform.statistics.paired import paired_ratio
from longwave.platform.statistics.ranking import decide
from longwave.platform.statistics.scale import Scale, Score
from longwave.platform.statistics.stats import Difference, Estimate

ERROR, ACCURACY, LIKELIHOOD = Scale(), Scale("max", 100.0, 0.05), Scale("max", None)
seeds = st.lists(st.none() | st.integers(1, 30).map(float), min_size=1, max_size=8)
several = st.lists(st.none() | st.integers(1, 30).map(float), min_size=2, max_size=8)


def test_a_contrast_by_hand() -> None:
    a, b = [1.0, 2.0, 4.0, 8.0], [16.0, 32.0, 64.0, 128.0]
    actual = contrast(a, b, ERROR)
    low, high = np.exp(scipy_stats.ttest_ind(np.log(a), np.log(b)).confidence_interval(0.95))
    assert actual.ratio is not None
    assert (actual.ratio.value, actual.ratio.low, actual.ratio.high) == pytest.approx((1 / 16, low, high))
    assert (actual.improvement.value, actual.decision, actual.more, actual.hint) == (1, "better", 0, "")
    assert contrast(b, a, ERROR).decision == "worse"


def test_the_interval_of_a_ratio_is_welchs_on_logs_with_the_fewest_degrees_of_freedom() -> None:
    a, b = [1.0, 2.0, 3.0], [5.0, 5.5, 7.0, 9.0, 20.0]
    actual = ratio([*a, None], b, ERROR)
    errors = [np.std(np.log(x), ddof=1) / math.sqrt(len(x)) for x in (a, b)]
    shares = [e**2 / (errors[0] ** 2 + errors[1] ** 2) for e in errors]
    freedom = 1 / max(shares[0] / 2, shares[1] / 4)
    middle = np.mean(np.log(a)) - np.mean(np.log(b))
    wanted = np.exp(middle + np.array([0, -1, 1]) * scipy_stats.t.ppf(0.975, freedom) * math.hypot(*errors))
    assert actual is not None and (actual.value, actual.low, actual.high) == pytest.approx(tuple(wanted))


def test_a_ratio_of_accuracies_is_one_of_error_rates() -> None:
    actual = ratio([99.0, 99.0], [98.0, 98.0], ACCURACY)
    assert actual is not None and actual.value == pytest.approx(0.5)
    perfect = ratio([100.0], [99.9], ACCURACY)
    assert perfect is not None and perfect.value == pytest.approx(0.5), "half an item is the least that counts"


def test_there_is_no_ratio_without_a_positive_scale_or_a_seed_that_ended() -> None:
    assert ratio([-1.0, 2.0], [3.0, 4.0], LIKELIHOOD) is None
    assert ratio([None, None], [3.0, 4.0], ERROR) is None
    assert ratio([0.0, 1.0], [3.0, 4.0], ERROR) is None
    assert paired_ratio([None, 1.0], [3.0, None], ERROR) is None


def test_a_paired_ratio_is_students_on_the_differences_of_logs() -> None:
    a, b = [1.0, 2.0, 4.0], [1.5, 2.2, 4.9]
    actual = paired_ratio([*a, None, 1.0], [*b, 7.0, None], ERROR)
    test = scipy_stats.ttest_rel(np.log(a), np.log(b))
    assert actual is not None
    assert (actual.low, actual.high) == pytest.approx(tuple(np.exp(test.confidence_interval(0.95))))
    assert actual.value == pytest.approx(float(np.exp(np.mean(np.log(a) - np.log(b)))))


def test_one_seed_against_any_decides_nothing() -> None:
    actual = contrast([1.0], [2.0, 3.0, 4.0], ERROR)
    assert actual.ratio is not None and actual.ratio.low is None
    assert (actual.improvement.low, actual.decision, actual.more) == (None, "undecided", None)
    assert actual.hint == "one seed cannot decide"


def test_three_seeds_a_row_never_decide_and_four_do_where_they_are_apart() -> None:
    three = contrast([1.0, 1.01, 1.02], [5.0, 5.1, 5.2], ERROR)
    assert (three.decision, three.more, three.hint) == ("undecided", 1, "about 1 more seed")
    assert contrast([1.0, 1.01, 1.02, 1.03], [5.0, 5.1, 5.2, 5.3], ERROR).decision == "better"


def test_a_row_that_diverges_is_worse_and_says_nothing_of_ratios() -> None:
    actual = contrast([None] * 6, [1.0, 1.1, 1.2, 1.3, 1.4, 1.5], ERROR)
    assert (actual.decision, actual.improvement.value, actual.ratio) == ("worse", 0, None)
    both = contrast([None] * 6, [None] * 6, ERROR)
    assert (both.decision, both.improvement.value, both.more) == ("undecided", 0.5, None)
    assert both.hint == "even 100 more seeds would not decide"


def test_rows_within_the_margin_are_equivalent_unless_a_seed_diverged() -> None:
    a, b = [1.0, 1.01, 1.02, 1.03, 1.04], [1.001, 1.011, 1.021, 1.031, 1.041]
    assert contrast(a, b, ERROR).decision == "undecided"
    assert contrast(a, b, ERROR, 1.05).decision == "equivalent"
    assert contrast([*a, None], b, ERROR, 1.05).decision == "undecided"
    assert contrast(a, b, LIKELIHOOD, 1.05).decision == "undecided"
    further = [1.02 * x for x in (1.0, 1.001, 1.002, 1.003)]
    assert contrast([1.0, 1.001, 1.002, 1.003], further, ERROR).decision == "better"
    assert contrast([1.0, 1.001, 1.002, 1.003], further, ERROR, 1.05).decision == "equivalent", "it comes first"


@pytest.mark.parametrize(
    ("low", "high", "holds"), [(0.96, 1.04, True), (1 / 1.05, 1.05, True), (0.95, 1.0, False), (1.0, 1.06, False)]
)
def test_a_margin_holds_the_whole_interval_in_either_direction(low: float, high: float, holds: bool) -> None:
    assert within(Estimate(1.0, low, high), 1.05) is holds
    assert not within(Estimate(1.0, low, high), None)
    assert not within(Estimate(1.0), 1.05)


def test_false_equivalence_at_the_margin_is_as_rare_as_two_one_sided_tests_say() -> None:
    rng, law = np.random.default_rng(0), PairLaw(math.log(1.25), (0.05, 0.05))
    output = sum(contrast(*law.draw(rng, 5), ERROR, 1.25).decision == "equivalent" for _ in range(500))
    assert output / 500 == pytest.approx(0.05, abs=3 * math.sqrt(0.05 * 0.95 / 500))


@given(several, several)
@settings(max_examples=30)
def test_swapping_the_sides_turns_a_contrast_over(a: list[Score], b: list[Score]) -> None:
    here, there = contrast(a, b, ERROR), contrast(b, a, ERROR)
    assert there.improvement.value == pytest.approx(1 - here.improvement.value)
    assert there.improvement.low is not None and here.improvement.high is not None
    assert there.improvement.low == pytest.approx(1 - here.improvement.high, abs=1e-12)
    assert there.decision == {"better": "worse", "worse": "better"}.get(here.decision, here.decision)
    assert there.more == here.more
    assert (there.ratio is None) == (here.ratio is None)
    if here.ratio and there.ratio:
        assert there.ratio.value == pytest.approx(1 / here.ratio.value)


@given(several, several, st.sampled_from([0.125, 0.5, 4.0, 1024.0]), st.sampled_from([ERROR, LIKELIHOOD]))
@settings(max_examples=30)
def test_the_unit_of_the_metric_does_not_matter(a: list[Score], b: list[Score], unit: float, scale: Scale) -> None:
    others = [[None if x is None else unit * x for x in side] for side in (a, b)]
    here, there = contrast(a, b, scale), contrast(*others, scale)
    assert (there.improvement, there.decision, there.more) == (here.improvement, here.decision, here.more)
    if here.ratio and there.ratio:
        assert there.ratio.value == pytest.approx(here.ratio.value)


@given(seeds, seeds)
def test_the_probability_of_improvement_counts_pairs_with_ties_half(a: list[Score], b: list[Score]) -> None:
    share = improvement(a, b, ERROR)
    errors = [[math.inf if x is None else x for x in side] for side in (a, b)]
    wins = sum(1.0 if x < y else 0.5 if x == y else 0.0 for x, y in product(*errors))
    assert share.value == wins / (len(a) * len(b))
    capped = [[min(x, 99.0) for x in side] for side in errors]
    assert share.value == pytest.approx(1 - scipy_stats.mannwhitneyu(*capped).statistic / len(a) / len(b))
    if share.low is not None and share.high is not None:
        assert 0 <= share.low <= share.value <= share.high <= 1


@given(several, several, st.integers(0, 7))
def test_a_seed_that_diverges_never_raises_the_probability_of_improvement(
    a: list[Score], b: list[Score], k: int
) -> None:
    lowered = list(a)
    lowered[k % len(a)] = None
    before, after = improvement(a, b, ERROR), improvement(lowered, b, ERROR)
    assert before.low is not None and after.low is not None
    assert after.value <= before.value and after.low <= before.low + 1e-12


@pytest.mark.parametrize("few", [2, 3, 5, 10])
def test_the_interval_is_wilsons_for_the_smaller_number_of_seeds(few: int) -> None:
    share = improvement([0.0] * few, [1.0] * 10, ERROR)
    theirs = scipy_stats.binomtest(few, few).proportion_ci(0.95, "wilson")
    assert (share.value, share.low, share.high) == pytest.approx((1, theirs.low, theirs.high))


@pytest.mark.parametrize("law", COVERAGE, ids=lambda law: law.name)
def test_the_probability_of_improvement_is_covered_in_93_cases_of_100_at_least(law: PairLaw) -> None:
    for n in (3, 5, 10):
        for line in better_covered(law, n, 400):
            assert line.holds, line


@pytest.mark.parametrize("n", [3, 5, 10])
def test_a_ratio_is_covered_in_93_cases_of_100_at_least(n: int) -> None:
    for line in ratio_covered(PairLaw(1.8, (1.0, 3.0)), n, 400):
        assert line.holds, line


@pytest.mark.integration
@pytest.mark.parametrize("law", PROMISES, ids=lambda law: law.name)
def test_the_seeds_that_are_promised_decide_in_80_cases_of_100_give_or_take_30_in_100(law: PairLaw) -> None:
    for line in check_promised_seeds(law, 200):
        assert line.holds, line


def test_the_seeds_promised_for_equivalence_show_it_in_80_cases_of_100() -> None:
    law, rng = PairLaw(0.0, (0.1, 0.1)), np.random.default_rng(0)
    assert contrast(*law.typical(5), ERROR, 1.1).decision == "undecided"
    more = more_seeds(*law.typical(5), ERROR, 1.1)
    assert more is not None
    held = np.mean([within(ratio(*law.draw(rng, 5 + more), ERROR, 0.9), 1.1) for _ in range(1000)])
    assert held == pytest.approx(0.8, abs=0.06)


def test_the_chance_of_a_decision_is_the_power_of_the_t_test_with_the_efficiency_of_ranks() -> None:
    gap = Difference(1.0, 0.5, 8.0, 0.0)
    t, away = scipy_stats.t.ppf(0.975, 8), 2 * math.sqrt(3 / math.pi)
    assert chance(gap) == pytest.approx(scipy_stats.nct.sf(t, 8, away) + scipy_stats.nct.cdf(-t, 8, away), rel=1e-6)
    assert chance(Difference(0.0, 0.5, 8.0, 0.0)) == pytest.approx(0.05)
    assert chance(Difference(1e9, 0.5, 8.0, 0.0)) == pytest.approx(1)
    assert chance(Difference(1e9, 0.5, 8.0, 0.1)) == 0, "no rank test rejects with so few seeds"


def test_a_row_that_is_surely_better_and_surely_within_the_margin_is_decided_once() -> None:
    assert chance(Difference(0.01, 0.0001, 50.0, 0.0), margin=1.25) == pytest.approx(1)
    assert chance(Difference(0.0, 0.0001, 50.0, 0.0), margin=1.25) == 1


def test_a_smaller_effect_needs_more_seeds_until_no_number_would_do() -> None:
    needs = [
        more_seeds(draw_exactly(0.0, 1.0), draw_exactly(effect, 1.0), ERROR) for effect in (2.0, 1.5, 1.0, 0.5, 0.1)
    ]
    assert needs == [1, 4, 13, 62, None]
    assert more_seeds(draw_exactly(0.0, 1.0), [1.0], ERROR) is None


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([1.0, 1.1, 1.2], [5.0, 5.5, None]),
        ([1.0, 1.1], [5.0, None]),
        ([1.0, 1.1, 1.2], [None, None, None]),
        ([1.0, 1.1, 1.2, 1.0, 1.1, 1.2], [None, None]),
    ],
)
def test_a_row_that_beats_one_with_diverged_seeds_in_all_pairs_is_promised_the_fewest_seeds_that_decide(
    a: list[Score], b: list[Score]
) -> None:
    more, law = contrast(a, b, ERROR).more, PairLaw(1.6, (0.1, 0.1), (0.0, b.count(None) / len(b)))
    rng = np.random.default_rng(0)
    assert more is not None and (contrast(b, a, ERROR).more, contrast(a, b, ERROR, 1.05).more) == (more, more)

    def decided_share(added: int) -> float:
        draws = (law.draw(rng, 10) for _ in range(100))
        return float(np.mean([decide(x[: len(a) + added], y[: len(b) + added], ERROR) == "better" for x, y in draws]))

    assert decided_share(more - 1) < 0.8 <= decided_share(more)


def test_a_margin_promises_nothing_where_an_error_of_zero_leaves_no_ratio() -> None:
    rng = np.random.default_rng(1)
    a, b = ([*rng.normal(0.001, 0.0003, 9).clip(1e-5).tolist(), last] for last in (0.0, 0.001))
    assert contrast(a, b, ERROR, 1.05).decision == "undecided"
    assert more_seeds(a, b, ERROR, 1.05) == more_seeds(a, b, ERROR)


def test_contrasts_refuse_what_has_no_answer() -> None:
    for margin in (1.0, -1.05, math.inf, math.nan):
        with pytest.raises(ValueError, match="ratio of errors above 1, got margin="):
            contrast([1.0, 2.0], [1.0, 2.0], ERROR, margin)
    with pytest.raises(ValueError, match="between 0 and 1, got 0"):
        contrast([1.0, 2.0], [1.0, 2.0], ERROR, level=0)
    with pytest.raises(ValueError, match="With a margin the level must be above 0.5, got level=0.5"):
        contrast([1.0, 2.0], [1.0, 2.0], ERROR, 1.05, level=0.5)
    with pytest.raises(ValueError, match="at least one seed"):
        contrast([], [1.0, 2.0], ERROR)
    with pytest.raises(ValueError, match=r"not finite at positions \[1\]"):
        contrast([None, math.inf], [1.0, 2.0], ERROR)
