"""Ranks across tasks: the common scale, its bootstrap interval, mean ranks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from longwave.platform.statistics import overall
from longwave.platform.statistics.median import median
from longwave.platform.statistics.overall import mean_ranks, normalised, overall_score, task_ranks
from longwave.platform.statistics.ranking import standings
from longwave.platform.statistics.scale import Scale, Score
from longwave.platform.statistics.stats import Estimate, summary

DOWN, UP = Scale(), Scale("max", None)
seeds = st.lists(st.one_of(st.none(), st.integers(-50, 50).map(float)), min_size=1, max_size=5)
tables = st.lists(seeds, min_size=1, max_size=5)


def test_the_scale_runs_from_the_trivial_predictor_to_the_best_median() -> None:
    rows = [[80.0, 90.0, 99.0], [60.0, 70.0], [50.0]]
    assert normalised(rows, UP, 50.0) == [[30 / 40, 1.0, 49 / 40], [10 / 40, 20 / 40], [0.0]]
    assert normalised([[1.0, 3.0], [2.0]], DOWN, 4.0) == [[1.5, 0.5], [1.0]]


def test_a_seed_that_diverged_or_is_worse_than_the_trivial_predictor_counts_as_that() -> None:
    assert normalised([[1.0, 1.0], [None, 1e9, 1.0, 1.0]], DOWN, 2.0) == [[1.0, 1.0], [0.0, 0.0, 1.0, 1.0]]


def test_where_no_median_beats_the_trivial_predictor_all_scores_are_0() -> None:
    assert normalised([[3.0, None], [2.0]], DOWN, 2.0) == [[0.0, 0.0], [0.0]]
    assert normalised([[1.0, 9.0, None], [2.5]], DOWN, 2.0) == [[0.0, 0.0, 0.0], [0.0]]
    assert normalised([], UP, 0.0) == []


def test_the_ranks_on_a_task_are_those_of_the_medians_and_a_diverged_median_is_last() -> None:
    rows: list[list[Score]] = [[1.0, 1.0, 99.0], [2.0, 2.0, 0.0], [0.5, None, None], [None]]
    assert task_ranks(rows, DOWN) == [1.0, 2.0, 3.5, 3.5]
    assert task_ranks(rows, UP) == [2.0, 1.0, 3.5, 3.5]


@given(st.lists(st.integers(0, 5).map(float), min_size=1, max_size=8))
def test_the_ranks_on_a_task_are_scipys_average_ranks(medians: list[float]) -> None:
    assert task_ranks([[median] for median in medians], UP) == rankdata([-median for median in medians]).tolist()


@given(tables, st.sampled_from([UP, DOWN]), st.integers(-50, 50).map(float))
def test_the_best_median_scores_1_and_none_less_than_0(rows: list[list[Score]], scale: Scale, trivial: float) -> None:
    rows = [row[: len(row) - 1 + len(row) % 2] for row in rows]  # a single middle seed is no less than 0 by its half
    scores = normalised(rows, scale, trivial)
    medians = [
        median([None if s is None else score for s, score in zip(*row, strict=True)], UP).value or 0.0
        for row in zip(rows, scores, strict=True)
    ]
    assert max(medians) == pytest.approx(1) or not any(map(any, scores))
    assert min(map(min, scores)) >= 0


@given(tables, st.integers(-50, 50).map(float), st.sampled_from([0.25, 2.0, 64.0]), st.integers(-9, 9))
def test_the_unit_and_the_zero_of_the_metric_do_not_matter(
    rows: list[list[Score]], trivial: float, unit: float, shift: int
) -> None:
    other = [[None if s is None else -(unit * s + shift) for s in row] for row in rows]
    assert normalised(other, DOWN, -(unit * trivial + shift)) == normalised(rows, UP, trivial)


@given(tables, st.integers(-50, 50).map(float))
def test_a_row_that_is_not_the_best_does_not_move_the_others(rows: list[list[Score]], trivial: float) -> None:
    assert normalised([*rows, [None, -1e6]], UP, trivial)[:-1] == normalised(rows, UP, trivial)


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


@pytest.mark.parametrize(
    ("shape", "truth", "n"), [("unequal", 0.0, 3), ("unequal", 0.0, 5), ("unequal", 0.0, 10), ("skewed", 0.8, 3)]
)
def test_the_interval_covers_the_mean_in_93_to_97_cases_of_100(
    shape: str, truth: float, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overall, "DRAWS", 500)
    rng, samples = np.random.default_rng(n), 2000
    normal = rng.standard_normal((samples, 5, n))
    scores = {
        "unequal": normal * np.array([1.0, 0.5, 2.0, 1.0, 1.0])[:, None],
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
    rng = np.random.default_rng(3)
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
        normalised([[1.0]], UP, float("nan"))
    with pytest.raises(ValueError, match="Scores are finite, or None"):
        normalised([[float("nan")]], UP, 0.0)
