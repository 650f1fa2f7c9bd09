"""Printed numbers and the noise of a gap to them: closed forms, scipy, and draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from longwave.platform.statistics.printed import Noise, Printed, best_quantile, expected_extreme, tolerance_quantile


@pytest.mark.parametrize(
    ("printed", "kind"),
    [
        (Printed(1.0, "mean", 0.1, 5), "mean ± std"),
        (Printed(1.0, "mean", None, 5), "mean"),
        (Printed(1.0, "mean", 0.1), "mean of several"),
        (Printed(1.0, "mean"), "mean of several"),
        (Printed(1.0, "reported"), "unlabelled"),
        (Printed(1.0, "reported", 0.1, 5), "unlabelled"),
        (Printed(1.0, "run"), "one run"),
        (Printed(1.0, "best", None, 1), "one run"),
        (Printed(1.0, "best", None, 10), "best of k"),
        (Printed(1.0, "max", None, 10), "best of k"),
        (Printed(1.0, "min"), "best of several"),
    ],
)
def test_a_printed_number_is_compared_as_what_it_is_of_how_many_runs(printed: Printed, kind: str) -> None:
    assert printed.kind == kind


def test_a_printed_number_is_refused_where_no_paper_could_print_it() -> None:
    with pytest.raises(ValueError, match="finite, got nan"):
        Printed(math.nan)
    with pytest.raises(ValueError, match="1 run or more, got 0"):
        Printed(1.0, n=0)
    with pytest.raises(ValueError, match="std of a printed number is 0 or more, got -1"):
        Printed(1.0, std=-1.0)
    with pytest.raises(ValueError, match="rounding of a printed number is 0 or more, got inf"):
        Printed(1.0, rounding=math.inf)


def test_the_expected_best_of_k_runs_is_that_of_the_closed_forms_and_of_the_tables() -> None:
    root = math.sqrt(math.pi)
    closed = {1: 0.0, 2: 1 / root, 3: 1.5 / root, 4: 1.5 / root * (1 + 2 / math.pi * math.asin(1 / 3))}
    tables = {5: 1.1629644736, 10: 1.5387527308, 100: 2.5075936366}
    for k, value in {**closed, **tables}.items():
        assert expected_extreme(k) == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("n", [3, 5, 10, 200])
@pytest.mark.parametrize("p", [0.025, 0.05, 0.95, 0.975])
def test_the_best_of_one_run_is_students_prediction_and_the_typical_error(n: int, p: float) -> None:
    t = float(scipy_stats.t.ppf(p, n - 1))
    assert best_quantile(n, 1, p) == pytest.approx(t * math.sqrt(1 + 1 / n), rel=1e-6)
    assert tolerance_quantile(n, 1, p) == pytest.approx(t, rel=1e-6)


@pytest.mark.parametrize(("n", "k"), [(3, 2), (5, 10), (10, 100), (40, 5)])
def test_the_laws_of_a_best_hold_what_they_say_of_draws(n: int, k: int) -> None:
    cases = 40_000
    rng = np.random.default_rng(n)
    ours = rng.standard_normal((cases, n))
    mean, std, best = ours.mean(1), ours.std(1, ddof=1), rng.standard_normal((cases, k)).min(1)
    for p in (0.025, 0.05, 0.95, 0.975):
        room = 4 * math.sqrt(p * (1 - p) / cases)
        assert ((mean - best) / std <= best_quantile(n, k, p)).mean() == pytest.approx(p, abs=room)
        expected = math.sqrt(n) * (mean + expected_extreme(k)) / std
        assert (expected <= tolerance_quantile(n, k, p)).mean() == pytest.approx(p, abs=room)


def log_mean_error(spread: float, n: int, runs: float = math.inf, theirs: float = 0.0) -> float:
    """Return the standard error of a gap of log-normal means: Cox's of ours, and the known law's of theirs."""
    return math.sqrt(spread**2 / n + spread**4 / (2 * (n - 1)) + theirs**2 / runs + theirs**4 / (2 * runs))


@given(st.floats(0.01, 1), st.floats(0.01, 1), st.integers(3, 30), st.integers(2, 30))
def test_the_noise_beside_a_mean_is_that_of_log_normal_means(spread: float, relative: float, n: int, runs: int) -> None:
    t = float(scipy_stats.t.ppf(0.975, n - 1))
    theirs = math.sqrt(math.log(1 + relative**2))
    half = t * log_mean_error(spread, n, runs, theirs)
    assert Noise("mean ± std", runs, relative, spread).gap(n, 0.95) == pytest.approx((-half, half))
    half = t * log_mean_error(spread, n, runs, spread)
    assert Noise("mean", runs, None, spread).gap(n, 0.95) == pytest.approx((-half, half))
    assert Noise("mean of several", 1, None, spread).gap(n, 0.95) == Noise("mean", 1, None, spread).gap(n, 0.95)


def test_a_printed_std_is_the_spread_of_logs_of_that_law() -> None:
    noise = Noise("mean ± std", 5, float(scipy_stats.lognorm(s=0.7).std() / scipy_stats.lognorm(s=0.7).mean()), 0.2)
    assert noise.theirs == pytest.approx(0.7)
    assert math.exp(noise.shift) == pytest.approx(float(scipy_stats.lognorm(s=0.2).mean()))
    assert Noise("one run", 1, None, 0.2).shift == 0


@pytest.mark.parametrize("spread", [0.1, 0.5])
def test_a_log_normal_mean_lies_in_its_own_interval_as_often_as_it_says(spread: float) -> None:
    cases, n = 20_000, 10
    logs = spread * np.random.default_rng(0).standard_normal((cases, n))
    stds = logs.std(1, ddof=1)
    gaps = logs.mean(1) + stds**2 / 2 - spread**2 / 2
    halves = np.array([Noise("mean", 5, None, float(s)).own(n, 0.95)[1] for s in stds])
    assert np.mean(abs(gaps) <= halves) == pytest.approx(0.95, abs=0.01)


@given(st.floats(0.01, 1), st.integers(3, 30))
def test_one_run_is_expected_where_students_prediction_is(spread: float, n: int) -> None:
    half = float(scipy_stats.t.ppf(0.95, n - 1)) * spread * math.sqrt(1 / n + 1)
    assert Noise("one run", 7, None, spread).gap(n, 0.9) == pytest.approx((-half, half))


@pytest.mark.parametrize(("kind", "k"), [("unlabelled", 10), ("best of several", 100)])
def test_a_number_of_unknown_choice_is_one_run_from_below_and_the_best_of_many_from_above(kind: str, k: int) -> None:
    low, high = Noise(kind, 1, 0.0, 0.2).gap(5, 0.95)  # type: ignore[arg-type]
    assert low == Noise("one run", 1, 0.0, 0.2).gap(5, 0.95)[0]
    assert high == Noise("best of k", k, 0.0, 0.2).gap(5, 0.95)[1]


def test_our_own_noise_counts_one_run_of_theirs_and_a_best_as_expected() -> None:
    half = float(scipy_stats.t.ppf(0.95, 4)) * 0.2 / math.sqrt(5)
    for kind in ("one run", "unlabelled"):
        assert Noise(kind, 3, 0.1, 0.2).own(5, 0.9) == pytest.approx((-half, half))  # type: ignore[arg-type]
    wide = float(scipy_stats.t.ppf(0.95, 4)) * log_mean_error(0.2, 5)
    for kind in ("mean ± std", "mean", "mean of several"):
        assert Noise(kind, 3, 0.1, 0.2).own(5, 0.9) == pytest.approx((-wide, wide))  # type: ignore[arg-type]
    low, high = Noise("best of k", 100, 0.0, 0.2).own(5, 0.9)
    assert low < 0.2 * expected_extreme(100) < high
    assert Noise("best of several", 1, 0.0, 0.2).own(5, 0.9) == (pytest.approx(-half), high)
