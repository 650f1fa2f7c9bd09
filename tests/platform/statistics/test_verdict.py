"""Verdicts on printed numbers: by hand, against scipy, and how often an honest repetition is called something else."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from longwave.platform.statistics.trajectory import expected_best
from longwave.platform.statistics.verdict import Printed, Word, verdict

OURS = [98.0, 98.1, 98.2, 98.3, 98.4]
STD = math.sqrt(0.025)
scores = st.lists(st.floats(-10, 10).map(lambda x: x + math.pi), min_size=2, max_size=9)


@pytest.mark.parametrize(
    ("printed", "word"),
    [
        (Printed(98.2), "reproduced"),
        (Printed(98.9), "worse"),
        (Printed(97.1), "better"),
        (Printed(98.4), "reproduced"),  # one run of theirs, 1.2 of our standard deviations away
        (Printed(98.6), "undecided"),  # 2.5 away: could be chance, but repeats nothing
        (Printed(98.6, n=10), "worse"),  # the mean of ten
        (Printed(98.6, std=1.5, n=10), "reproduced"),  # of ten that scatter
        (Printed(98.9, std=1.5), "worse"),  # of nobody knows how many
    ],
)
def test_verdicts_by_hand(printed: Printed, word: Word) -> None:
    found = verdict(OURS, printed, "max")
    assert found.word == word
    assert found.gap == pytest.approx((98.2 - printed.value) / STD)
    assert (found.ours, found.basis, found.alike) == (pytest.approx(98.2), "mean", True)
    assert (found.n, found.printed_n) == (5, printed.n)
    lower = verdict([-s for s in OURS], Printed(-printed.value, std=printed.std, n=printed.n), "min")
    assert (lower.word, lower.gap) == (word, pytest.approx(found.gap))


@given(scores, st.integers(-10, 10), st.floats(0.1, 5), st.integers(2, 20))
def test_with_std_and_n_in_print_the_test_is_welchs(ours: list[float], value: int, std: float, n: int) -> None:
    theirs = math.e * value / 3
    test = scipy_stats.ttest_ind_from_stats(
        np.mean(ours), np.std(ours, ddof=1), len(ours), theirs, std, n, equal_var=False
    )
    told = verdict(ours, Printed(theirs, std=std, n=n), "max").word in ("better", "worse")
    assert told == (test.pvalue <= 0.05)


@given(scores.filter(lambda s: np.std(s) > 1e-3), st.integers(-10, 10))
def test_one_printed_run_is_tested_against_our_prediction_interval(ours: list[float], value: int) -> None:
    theirs, n = math.e * value, len(ours)
    half = scipy_stats.t.ppf(0.975, n - 1) * np.std(ours, ddof=1) * math.sqrt(1 + 1 / n)
    told = verdict(ours, Printed(theirs, "reported"), "min").word in ("better", "worse")
    assert told == (abs(np.mean(ours) - theirs) > half)


def test_nothing_is_reproduced_by_fewer_than_five_scores() -> None:
    assert verdict(OURS[:4], Printed(98.15), "max").word == "undecided"
    assert verdict(OURS, Printed(98.15), "max").word == "reproduced"


def test_our_single_score_stands_against_the_spread_in_print_or_decides_nothing() -> None:
    assert verdict([98.2], Printed(90.0), "max").word == "undecided"
    assert verdict([98.2], Printed(90.0, std=1.0), "max").word == "undecided"
    assert verdict([98.2], Printed(90.0, std=1.0, n=10), "max").word == "better"
    found = verdict([98.2], Printed(97.0, std=1.0, n=10), "max")
    assert (found.word, found.gap, found.too_good) == ("undecided", None, False)


def test_scores_without_spread_reproduce_their_own_value_alone() -> None:
    assert verdict([100.0] * 5, Printed(100.0), "max").word == "reproduced"
    assert verdict([100.0] * 5, Printed(99.0), "max").word == "undecided"
    for goal, word in (("max", "better"), ("min", "worse")):
        found = verdict([100.0] * 5, Printed(99.0, n=5), goal)
        assert (found.word, found.gap, found.too_good) == (word, None, word == "better")
    assert verdict([100.0] * 4, Printed(100.0), "max").word == "undecided"


@pytest.mark.parametrize(("value", "half"), [(98.9, 0.05), (0.0015, 5e-5), (1e-5, 5e-6), (95.0, 0.05), (114.25, 0.005)])
def test_the_rounding_of_a_printed_number_is_half_its_last_digit(value: float, half: float) -> None:
    assert Printed(value).rounding == pytest.approx(half)


def test_a_difference_that_rounding_explains_does_not_count() -> None:
    ours = [0.00161, 0.00162, 0.00163, 0.00161, 0.00163]
    assert verdict(ours, Printed(0.0016, n=100), "min").word == "reproduced"
    assert verdict(ours, Printed(0.001600001, n=100), "min").word == "worse"
    assert verdict(ours, Printed(0.0015, n=100), "min").word == "worse"


@pytest.mark.parametrize("statistic", ["best", "max", "min"])
@pytest.mark.parametrize("n", [1, 3, 5])
def test_an_extreme_of_n_is_compared_with_our_expected_extreme_of_n(statistic: str, n: int) -> None:
    found = verdict(OURS, Printed(98.3, statistic, n=n), "max")
    assert found.ours == expected_best(OURS, "min" if statistic == "min" else "max")[n - 1].value
    assert (found.basis, found.alike) == (f"expected {statistic} of {n}", True)


def test_the_best_of_more_runs_than_ours_makes_us_worse_only_where_none_of_them_could_be_as_good() -> None:
    assert verdict(OURS, Printed(99.5, "best", n=5), "max").word == "worse"
    for printed in (Printed(98.8, "best", n=6), Printed(99.5, "max"), Printed(99.5, "best")):
        found = verdict(OURS, printed, "max")
        assert (found.word, found.alike) == ("undecided", False)
    assert verdict(OURS, Printed(97.0, "best", n=6), "max").word == "better"
    assert verdict(OURS, Printed(97.0, "best", n=6), "max").basis == "expected best of 5"
    assert verdict(OURS, Printed(99.5, "best"), "max").basis == "mean"


@pytest.mark.parametrize(("n", "runs"), [(6, 6), (20, 20), (None, 100)])
def test_no_run_of_theirs_could_be_as_good_beyond_the_t_quantile_for_their_number(n: int | None, runs: int) -> None:
    edge = float(scipy_stats.t.isf(0.025 / runs, 4)) * STD * math.sqrt(1 + 1 / 5)
    for statistic, goal, sign, word in (("best", "max", 1, "worse"), ("min", "max", -1, "better")):
        for far, expected in ((0.98 * edge, "undecided"), (1.02 * edge, word)):
            found = verdict(OURS, Printed(round(98.2 + sign * far, 6), statistic, n=n), goal)
            assert found.word == expected


def test_the_worst_of_more_runs_than_ours_cannot_make_us_too_good() -> None:
    for printed in (Printed(90.0, "min", n=6), Printed(90.0, "min")):
        found = verdict(OURS, printed, "max")
        assert (found.word, found.too_good) == ("better", False)
    assert verdict(OURS, Printed(90.0, "min", n=5), "max").word == "better"
    assert verdict(OURS, Printed(99.5, "min", n=6), "max").word == "worse"
    assert verdict(OURS, Printed(98.8, "max", n=6), "min").word == "undecided"


def test_another_statistic_is_compared_with_our_mean_and_said_to_be_another() -> None:
    for statistic in ("reported", "median"):
        found = verdict(OURS, Printed(98.2, statistic), "max")
        assert (found.word, found.basis, found.alike) == ("reproduced", "mean", False)


def test_too_good_is_surely_more_than_two_deviations_better() -> None:
    error = math.sqrt(1 / 5 + 1 / 10)
    edge = float(scipy_stats.nct.ppf(0.95, 4, 2 / error)) * error * STD
    for shift, flagged in ((0.99 * edge, False), (1.01 * edge, True)):
        found = verdict(OURS, Printed(98.2 - shift + 1e-9, n=10), "max")
        assert (found.word, found.too_good) == ("better", flagged)
        assert not verdict(OURS, Printed(98.2 + shift, n=10), "max").too_good
    assert not verdict(OURS, Printed(98.2 - 1.01 * edge, std=1.0, n=10), "max").too_good


def repeat(printed: Callable[[np.random.Generator], Printed], n: int, shift: float = 0.0) -> Counter[str]:
    """Return how 2000 honest repetitions with n seeds each, all better by ``shift``, are judged."""
    rng: np.random.Generator = np.random.default_rng(n)
    found = [verdict((shift + rng.standard_normal(n)).tolist(), printed(rng), "max") for _ in range(2000)]
    return Counter([*(v.word for v in found), *("too good" for v in found if v.too_good)])


def full(rng: np.random.Generator) -> Printed:
    runs = rng.standard_normal(5)
    return Printed(float(runs.mean()), std=float(runs.std(ddof=1)), n=5)


@pytest.mark.parametrize("n", [3, 5, 10])
@pytest.mark.parametrize(
    "printed",
    [
        full,
        lambda rng: Printed(float(rng.standard_normal()), "reported"),
        lambda rng: Printed(float(rng.standard_normal(3).max()), "best", n=3),
        lambda rng: Printed(float(rng.standard_normal(10).max()), "best"),
        lambda rng: Printed(float(rng.standard_normal(100).max()), "best"),
        lambda rng: Printed(float(rng.standard_normal(12).max()), "best", n=12),
    ],
    ids=["mean ± std of 5", "one run", "best of 3", "best of ?", "best of ?, 100", "best of 12"],
)
def test_an_honest_repetition_is_called_better_or_worse_in_5_cases_of_100_at_most(
    printed: Callable[[np.random.Generator], Printed], n: int
) -> None:
    words = repeat(printed, n)
    assert (words["better"] + words["worse"]) / 2000 < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 2000)
    assert words["too good"] / 2000 < 0.03


def test_two_deviations_better_is_called_too_good_in_5_cases_of_100_and_eight_nearly_always() -> None:
    assert repeat(full, 5, 1.0)["too good"] / 2000 < 0.02
    assert repeat(full, 5, 2.0)["too good"] / 2000 < 0.065
    assert repeat(full, 5, 8.0)["too good"] / 2000 > 0.9


def test_verdicts_refuse_what_has_no_answer() -> None:
    with pytest.raises(ValueError, match="at least one score"):
        verdict([], Printed(1.0), "max")
    with pytest.raises(ValueError, match="between 0 and 1, got 1"):
        verdict(OURS, Printed(1.0), "max", 1)
    with pytest.raises(ValueError, match='A goal is "max" or "min"'):
        verdict(OURS, Printed(1.0), "high")
