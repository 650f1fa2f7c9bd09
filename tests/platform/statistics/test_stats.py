"""Summaries and differences of means against scipy, and how often the stated intervals hold."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from longwave.platform.statistics.stats import (
    Difference,
    Summary,
    difference,
    direction,
    diverged_share,
    mean_std,
    summary,
)

SIZES = (3, 5, 10)
samples = st.lists(st.integers(-1000, 1000).map(float), min_size=2, max_size=12)


def summaries(rng: np.random.Generator, boards: int, n: int, std: float = 1.0) -> list[Summary]:
    """Return summaries of ``boards`` samples of n normal scores of mean 0."""
    scores = std * rng.standard_normal((boards, n))
    return [
        Summary(*moments, n) for moments in zip(scores.mean(1).tolist(), scores.std(1, ddof=1).tolist(), strict=True)
    ]


def test_a_summary_is_mean_deviation_and_number() -> None:
    assert summary([1.0, 3.0]) == Summary(*mean_std([1.0, 3.0]), 2) == Summary(2.0, math.sqrt(2), 2)
    assert summary([5.0]) == Summary(5.0, None, 1)
    assert summary([5.0]).interval() is None


@pytest.mark.parametrize("n", SIZES)
def test_the_interval_of_a_mean_covers_it_in_95_cases_of_100(n: int) -> None:
    intervals = [s.interval() for s in summaries(np.random.default_rng(n), 10_000, n)]
    assert 0.94 < np.mean([low <= 0 <= high for low, high in filter(None, intervals)]) < 0.96


@given(samples, samples, st.floats(0.5, 0.999))
def test_a_difference_is_scipys_welch_test(a: list[float], b: list[float], level: float) -> None:
    assume(len({*a}) > 1 < len({*b}))  # scipy warns without spread
    ours, theirs = difference(summary(a), summary(b)), scipy_stats.ttest_ind(a, b, equal_var=False)
    assert ours is not None
    assert (ours.p_value, ours.freedom) == pytest.approx((theirs.pvalue, theirs.df), rel=1e-9)
    low, high = theirs.confidence_interval(level)
    assert ours.interval(level) == pytest.approx((low, high), rel=1e-9, abs=1e-9)


@given(samples, samples, st.booleans(), st.floats(1e-3, 1e3), st.floats(-1e3, 1e3))
def test_a_difference_changes_sign_with_its_sides_and_scale_with_its_scores(
    a: list[float], b: list[float], cautious: bool, scale: float, shift: float
) -> None:
    there, back = difference(summary(a), summary(b), cautious), difference(summary(b), summary(a), cautious)
    other = difference(*(summary([scale * s + shift for s in x]) for x in (a, b)), cautious)
    assert there is not None and back is not None and other is not None
    assert there.value == -back.value
    assert there.p_value == pytest.approx(back.p_value, rel=1e-12)
    assert other.value == pytest.approx(scale * there.value, abs=1e-9 * (scale * 1000 + abs(shift)))
    if there.error:
        assert other.error == pytest.approx(scale * there.error, rel=1e-6)
        assert other.freedom == pytest.approx(there.freedom, rel=1e-6)


@given(st.floats(0.01, 100), st.integers(2, 20), st.integers(2, 20))
def test_cautious_degrees_of_freedom_lie_between_the_smaller_sample_and_welchs(std: float, n: int, m: int) -> None:
    welch, cautious = (difference(Summary(0.0, 1.0, n), Summary(1.0, std, m), c) for c in (False, True))
    assert welch is not None and cautious is not None
    assert min(n, m) - 1 <= cautious.freedom * (1 + 1e-12)
    assert cautious.freedom <= welch.freedom * (1 + 1e-12)
    assert welch.freedom <= (n + m - 2) * (1 + 1e-12)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("std", [1.0, 3.0])
def test_the_interval_of_a_difference_covers_it_in_93_to_97_cases_of_100(n: int, std: float) -> None:
    rng = np.random.default_rng(n)
    pairs = zip(summaries(rng, 10_000, n), summaries(rng, 10_000, n, std), strict=True)
    intervals = [gap.interval() for gap in (difference(a, b) for a, b in pairs) if gap]
    assert 0.93 < np.mean([low <= 0 <= high for low, high in filter(None, intervals)]) < 0.97


@pytest.mark.parametrize("sizes", [(3, 3), (3, 5), (3, 10), (5, 10), (10, 10)])
@pytest.mark.parametrize("std", [0.25, 0.5, 1.0, 2.0])
def test_the_cautious_test_tells_equal_samples_apart_in_5_cases_of_100_at_most(
    sizes: tuple[int, int], std: float
) -> None:
    rng, n = np.random.default_rng(1), 3000
    pairs = list(zip(summaries(rng, n, sizes[0]), summaries(rng, n, sizes[1], std), strict=True))
    message = {
        cautious: sum(gap.p_value <= 0.05 for gap in (difference(a, b, cautious) for a, b in pairs) if gap) / n
        for cautious in (True, False)
    }
    assert 0.02 < message[True] < 0.055 + 2 * math.sqrt(0.05 * 0.95 / n)
    assert message[True] <= message[False]
    if sizes == (3, 10) and std in (0.5, 1.0):
        assert message[False] > 0.06, "Welch's own degrees of freedom would do; then drop the cautious ones."


def test_samples_without_spread_are_compared_by_the_exact_permutation_test() -> None:
    for n, m in ((2, 2), (3, 3), (4, 4), (3, 6)):
        gap = difference(summary([1.0] * n), summary([0.0] * m))
        assert gap is not None
        exact = scipy_stats.permutation_test(([1.0] * n, [0.0] * m), lambda a, b: np.mean(a) - np.mean(b))
        assert gap.p_value == pytest.approx(exact.pvalue)
        assert gap.interval() == (None if exact.pvalue > 0.05 else (1.0, 1.0))
    for value in (0.003, 0.1, 99.7):  # the floating mean of six times 0.003 is not 0.003
        same = difference(summary([value] * 6), summary([value] * 5))
        assert same is not None and (same.value, same.error, same.p_value) == (0, 0, 1)
    one = difference(summary([1.0] * 3), summary([0.0, 0.1, 0.2]))
    assert one is not None and one.freedom == 2


def test_a_single_score_differs_from_nothing() -> None:
    assert difference(summary([1.0]), summary([1.0, 2.0])) is None
    assert difference(summary([1.0, 2.0]), Summary(3.0, None, 9)) is None


def test_large_numbers_do_not_overflow() -> None:
    gap = difference(Summary(1e300, 1e299, 3), Summary(0.0, 1e299, 3))
    assert gap is not None
    assert gap.freedom == pytest.approx(4) and math.isfinite(gap.p_value)


@given(st.integers(1, 40), st.data(), st.floats(0.5, 0.99))
def test_the_diverged_share_has_scipys_exact_interval(n: int, data: st.DataObject, level: float) -> None:
    k = data.draw(st.integers(0, n))
    share, theirs = diverged_share(k, n, level), scipy_stats.binomtest(k, n).proportion_ci(level, "exact")
    assert share.value == k / n
    assert (share.low, share.high) == pytest.approx((theirs.low, theirs.high), rel=1e-6, abs=1e-9)


def test_statistics_of_two_samples_refuse_what_has_no_answer() -> None:
    with pytest.raises(ValueError, match='A goal is "max" or "min", got \'up\''):
        direction("up")
    assert (direction("max"), direction("min")) == (1, -1)
    with pytest.raises(ValueError, match="got 3 of 2"):
        diverged_share(3, 2)
    with pytest.raises(ValueError, match="got 0 of 0"):
        diverged_share(0, 0)
    with pytest.raises(ValueError, match="between 0 and 1, got 0"):
        diverged_share(1, 2, 0)
    with pytest.raises(ValueError, match="at least one score"):
        summary([])
    with pytest.raises(ValueError, match=r"not finite at positions \[0\]"):
        summary([math.inf, 1.0])


def test_importing_the_statistics_loads_neither_numpy_nor_scipy() -> None:
    code = (
        "import sys\n"
        "from longwave.platform.statistics import contrast, overall, ranking, stats, trajectory, verdict\n"
        "sys.exit({'numpy', 'scipy'} & set(sys.modules) and 'numpy or scipy was loaded' or 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_p_value_by_hand() -> None:
    assert Difference(1.0, 1.0, 1.0, 0.1).p_value == pytest.approx(0.5)  # P(|T| > 1) for Cauchy's law
