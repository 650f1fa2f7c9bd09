"""Scores across tasks: the gain of a seed, which tasks measure one, the bootstrap interval, mean ranks."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from longwave.platform.statistics import overall
from longwave.platform.statistics.overall import TaskScores, mean_ranks, overall_score, overall_scores, task_ranks
from longwave.platform.statistics.ranking import standings
from longwave.platform.statistics.scale import Scale, Score
from longwave.platform.statistics.stats import Estimate, summary

DOWN, UP, RATE = Scale(), Scale("max", None), Scale("max", 100.0, 0.25)
seeds = st.lists(st.one_of(st.none(), st.integers(-50, 50).map(float)), min_size=1, max_size=5)
tables = st.lists(seeds, min_size=1, max_size=5)


def task(rows: list[list[Score]], scale: Scale, trivial: float) -> TaskScores:
    return TaskScores("t", rows, scale, trivial)


def test_a_gain_runs_from_the_trivial_predictor_to_the_perfect_score() -> None:
    assert task([[80.0]], RATE, 50.0).gains([75.0, 100.0, 50.0, 40.0, None]) == [0.5, 1.0, 0.0, 0.0, 0.0]
    assert task([[1.0]], DOWN, 4.0).gains([1.0, 0.0, 5.0, None]) == [0.75, 1.0, 0.0, 0.0]


def test_where_no_score_is_perfect_it_runs_to_the_best_median() -> None:
    rows: list[list[Score]] = [[80.0, 90.0, 99.0], [60.0, 70.0], [50.0, None, None]]
    assert task(rows, UP, 50.0).gains([70.0, 90.0, 99.0, 40.0, None]) == [0.5, 1.0, 1.0, 0.0, 0.0]


def test_without_bounds_a_gain_is_negative_below_the_trivial_predictor_and_lowest_where_a_seed_diverged() -> None:
    assert task([[1.0]], DOWN, 4.0).unbounded_gains([1.0, 6.0, None]) == [0.75, -0.5, -math.inf]
    assert task([[80.0]], UP, 50.0).unbounded_gains([95.0, 35.0]) == [1.5, -0.5]


def test_where_no_median_beats_the_trivial_predictor_and_no_score_is_perfect_all_gains_are_0() -> None:
    unbeaten: list[list[list[Score]]] = [[[3.0, None], [2.0]], [[9.0, 1.0, None], [1.5]], [[None]], []]
    for rows in unbeaten:
        assert task(rows, UP, 4.0).gains([5.0, 9.0, None]) == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("rows", "scale", "trivial", "why"),
    [
        ([[50.0, 50.0, 99.0]], RATE, 50.0, "no median is better than the trivial predictor"),
        ([[None, None, 99.0]], RATE, 50.0, "no median is better than the trivial predictor"),
        ([[50.5] * 3, [50.0] * 3], RATE, 50.0, "the best median is within one test item, 0.5, of the trivial"),
        ([[51.0] * 3, [50.0] * 3], RATE, 50.0, ""),
        ([[50.0, 52.0, 54.0], [50.0, 52.0, 54.0]], UP, 50.0, "a gain of 1 is 2 there, less than the seeds' std, 2"),
        ([[50.0, 52.0, 54.0], [52.0] * 3, [52.0] * 3], UP, 50.0, ""),
        ([[50.0, 53.0, 54.0], [50.0, None, None]], UP, 50.0, ""),
        ([[0.0, 1.0, 2.0]], DOWN, 1.05, ""),
        ([[0.0, 1.0, 2.2]], DOWN, 1.05, "a gain of 1 is 1.05 there, less than the seeds' std, 1.1"),
        ([[50.0, 52.0, 54.0]], RATE, 50.0, ""),
        ([[51.0], [52.0]], RATE, 50.0, ""),
    ],
)
def test_a_task_whose_unit_is_below_its_noise_measures_no_gain_and_says_why(
    rows: list[list[Score]], scale: Scale, trivial: float, why: str
) -> None:
    assert re.search(f"{why}" if why else "^$", task(rows, scale, trivial).why_left_out)


def test_tasks_that_measure_no_gain_are_left_out_of_all_scores_and_named() -> None:
    clear, flat = [[90.0, 80.0], [60.0, 70.0]], [[50.0, 50.0], [50.0, 49.0]]
    tasks = [
        TaskScores("accuracy", clear, RATE, 50.0),
        TaskScores("flat", flat, RATE, 50.0),
        TaskScores("reward", clear, UP, 50.0),
    ]
    actual = overall_scores(tasks)
    assert (actual.tasks, list(actual.left_out)) == (["accuracy", "reward"], ["flat"])
    assert actual.tops == {"reward": 85.0}, "what an edition freezes"
    reward = [(1.0 + 30 / 35) / 2, (10 / 35 + 20 / 35) / 2]
    assert [score.value for score in actual.scores] == pytest.approx([(0.7 + reward[0]) / 2, (0.3 + reward[1]) / 2])
    assert overall_scores([tasks[1]]).scores == [] and overall_scores([]).scores == []


@given(tables, st.sampled_from([UP, DOWN, RATE]), st.integers(-50, 50).map(float))
def test_every_gain_and_every_score_lies_in_0_to_1_and_the_best_median_has_most(
    rows: list[list[Score]], scale: Scale, trivial: float
) -> None:
    one = task(rows, scale, trivial)
    gains = [one.gains(row) for row in rows]
    assert all(0 <= gain <= 1 for row in gains for gain in row)
    assert all(0 <= score.value <= 1 for score in overall_scores([one] * 5).scores)
    if scale is UP and one.best_median > trivial:
        assert one.gains([one.best_median]) == [1.0]


@given(tables, st.integers(-50, 50).map(float), st.sampled_from([0.25, 2.0, 64.0]), st.integers(-9, 9))
def test_the_unit_and_the_zero_of_the_metric_do_not_matter(
    rows: list[list[Score]], trivial: float, unit: float, shift: int
) -> None:
    lower = Scale("min", None)
    other = [[None if s is None else -(unit * s + shift) for s in row] for row in rows]
    there = task(other, lower, -(unit * trivial + shift))
    here = task(rows, UP, trivial)
    assert [there.gains(row) for row in other] == [here.gains(row) for row in rows]
    assert bool(there.why_left_out) == bool(here.why_left_out)


def test_the_ranks_on_a_task_are_those_of_the_medians_and_a_diverged_median_is_last() -> None:
    rows: list[list[Score]] = [[1.0, 1.0, 99.0], [2.0, 2.0, 0.0], [0.5, None, None], [None]]
    assert task_ranks(rows, DOWN) == [1.0, 2.0, 3.5, 3.5]
    assert task_ranks(rows, UP) == [2.0, 1.0, 3.5, 3.5]


@given(st.lists(st.integers(0, 5).map(float), min_size=1, max_size=8))
def test_the_ranks_on_a_task_are_scipys_average_ranks(medians: list[float]) -> None:
    assert task_ranks([[median] for median in medians], UP) == rankdata([-median for median in medians]).tolist()


def test_every_task_weighs_the_same_however_many_seeds_it_has() -> None:
    assert overall_score([[1.0] * 9 + [0.0], [0.0, 0.2]], np.random.default_rng(0)).value == pytest.approx(0.5)


def test_the_same_seed_gives_the_same_interval_bit_for_bit() -> None:
    tasks = [[0.9, 1.0, 1.1], [0.3, 0.5, 0.2, 0.4], [0.7, 0.8], [0.1, 0.2], [0.3, 0.3]]
    first, again, other = (overall_score(tasks, np.random.default_rng(k)) for k in (1, 1, 2))
    assert first == again
    assert first != other
    assert first.low == pytest.approx(other.low, abs=0.02)


def test_with_one_task_that_spreads_the_interval_is_students() -> None:
    spread = [0.9, 1.0, 1.3, 1.1]
    actual = overall_score([spread, *[[0.5] * 4] * 4], np.random.default_rng(0))
    low, high = summary(spread).interval() or (0.0, 0.0)
    assert (actual.low, actual.high) == pytest.approx(((low + 2) / 5, (high + 2) / 5), abs=0.002)


def test_an_interval_needs_five_tasks_and_two_seeds_on_each_and_no_spread_leaves_no_width() -> None:
    rng = np.random.default_rng(0)
    assert overall_score([[1.0, 0.9]] * 4, rng) == Estimate(pytest.approx(0.95))  # type: ignore[arg-type]
    assert overall_score([[1.0, 0.9]] * 5, rng).low is not None
    assert overall_score([*[[1.0, 0.9]] * 5, [0.5]], rng).low is None
    assert overall_score([[1.0, 1.0], *[[0.5, 0.5]] * 4], rng) == Estimate(0.6, 0.6, 0.6)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("shape", "truth", "n"), [("unequal", 0.5, 3), ("unequal", 0.5, 5), ("unequal", 0.5, 10), ("skewed", 0.8, 3)]
)
def test_the_interval_covers_the_mean_in_93_to_97_cases_of_100(
    shape: str, truth: float, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overall, "DRAWS", 500)
    rng, samples = np.random.default_rng(n), 2000
    normal = rng.standard_normal((samples, 5, n))
    scores = {
        "unequal": 0.5 + 0.1 * normal * np.array([1.0, 0.5, 2.0, 1.0, 1.0])[:, None],
        "skewed": rng.beta(8, 2, (samples, 5, n)),
    }[shape]
    actual = [overall_score(tasks, rng) for tasks in scores.tolist()]
    assert 0.93 < np.mean([e.low <= truth <= e.high for e in actual if e.low is not None and e.high is not None]) < 0.97


def test_mean_ranks_by_hand() -> None:
    clear: list[list[Score]] = [[k + 0.01 * j for j in range(6)] for k in (1, 2, 3)]
    swapped = [clear[1], clear[0], clear[2]]
    first = [Estimate(1.5, 1.5, 1.5), Estimate(1.5, 1.5, 1.5), Estimate(3, 3, 3)]
    assert mean_ranks([clear, swapped], [DOWN, DOWN]) == first
    assert mean_ranks([clear, clear], [DOWN, UP]) == [Estimate(2, 2, 2)] * 3
    tied: list[list[Score]] = [[0.5, 0.6], [0.5, 0.6], [0.0, 1.1]]
    assert mean_ranks([tied], [UP]) == [Estimate(2, 1, 3)] * 3


def test_each_tasks_ranges_are_taken_at_alpha_over_the_number_of_tasks() -> None:
    rng = np.random.default_rng(2)
    rows = (np.arange(1.0, 4.0)[:, None] * np.exp(0.12 * rng.standard_normal((3, 5)))).tolist()
    at = {alpha: [(s.low, s.high) for s in standings(rows, DOWN, alpha)] for alpha in (0.05, 0.0005)}
    assert at[0.05] != at[0.0005]
    actual = mean_ranks([rows] * 100, [DOWN] * 100)
    assert [(e.low, e.high) for e in actual] == at[0.0005]


def test_overall_ranks_refuse_what_has_no_answer() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="at least one task"):
        overall_score([], rng)
    with pytest.raises(ValueError, match="at least one score"):
        overall_score([[]], rng)
    with pytest.raises(ValueError, match="between 0 and 1, got 1"):
        overall_score([[1.0, 2.0]], rng, 1)
    with pytest.raises(ValueError, match=r"Every task needs all rows, got \[1, 2\] rows"):
        mean_ranks([[[1.0]], [[1.0], [2.0]]], [UP, UP])
    with pytest.raises(ValueError, match=r"got \[\] rows"):
        mean_ranks([], [])
    with pytest.raises(ValueError, match="must be finite"):
        task([[1.0]], UP, float("nan")).gains([1.0])
    with pytest.raises(ValueError, match="Scores are finite, or None"):
        task([[float("nan")]], UP, 0.0).gains([1.0])
    with pytest.raises(ValueError, match=r"Every task needs all rows, got \[1, 2\] rows"):
        overall_scores([task([[1.0]], UP, 0.0), task([[1.0], [2.0]], UP, 0.0)])
