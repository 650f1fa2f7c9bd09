"""Ranks across tasks: the common scale, its bootstrap interval, mean ranks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from longwave.platform.statistics import overall
from longwave.platform.statistics.overall import mean_ranks, normalised, oriented, overall_score, task_ranks
from longwave.platform.statistics.stats import Estimate, mean_interval

seeds = st.lists(st.one_of(st.none(), st.integers(-50, 50).map(float)), min_size=1, max_size=5)
tables = st.lists(seeds, min_size=1, max_size=5)


def test_the_scale_runs_from_the_trivial_predictor_to_the_best_row() -> None:
    assert normalised([[80.0, 90.0], [60.0, 70.0], [50.0]], "max", 50.0) == [
        [30 / 35, 40 / 35],
        [10 / 35, 20 / 35],
        [0],
    ]
    assert normalised([[1.0, 3.0], [2.0]], "min", 4.0) == [[1.5, 0.5], [1.0]]


def test_a_seed_that_diverged_or_is_worse_than_the_trivial_predictor_counts_as_that() -> None:
    assert normalised([[1.0, 1.0], [None, 1e9, 1.0, 1.0]], "min", 2.0) == [[1.0, 1.0], [0.0, 0.0, 1.0, 1.0]]


def test_where_nobody_beats_the_trivial_predictor_all_scores_are_0() -> None:
    assert normalised([[3.0, None], [2.0]], "min", 2.0) == [[0.0, 0.0], [0.0]]
    assert normalised([[1.0, 9.0], [2.5]], "min", 2.0) == [[0.0, 0.0], [0.0]]
    assert normalised([], "max", 0.0) == []


def test_ranks_see_all_scores_and_a_diverged_seed_as_the_worst_of_them() -> None:
    assert oriented([[3.0, None], [9.0]], "min", 2.0) == [[-3.0, -9.0], [-9.0]]
    assert oriented([[3.0, None], [1.0]], "max", 0.0) == [[3.0, 0.0], [1.0]]


@given(st.lists(st.integers(0, 5).map(float), min_size=1, max_size=8))
def test_the_ranks_on_a_task_are_scipys_average_ranks(means: list[float]) -> None:
    assert task_ranks([[mean] for mean in means]) == rankdata([-mean for mean in means]).tolist()


@given(tables, st.sampled_from(["max", "min"]), st.integers(-50, 50).map(float))
def test_the_best_row_scores_1_and_none_less_than_0(rows: list[list[float | None]], goal: str, trivial: float) -> None:
    means = [float(np.mean(row)) for row in normalised(rows, goal, trivial)]
    assert max(means) == pytest.approx(1) or not any(means)
    assert min(means) >= 0


@given(tables, st.integers(-50, 50).map(float), st.sampled_from([0.25, 2.0, 64.0]), st.integers(-9, 9))
def test_the_unit_and_the_zero_of_the_metric_do_not_matter(
    rows: list[list[float | None]], trivial: float, scale: float, shift: int
) -> None:
    other = [[None if s is None else -(scale * s + shift) for s in row] for row in rows]
    assert normalised(other, "min", -(scale * trivial + shift)) == normalised(rows, "max", trivial)


@given(tables, st.integers(-50, 50).map(float))
def test_a_row_that_is_not_the_best_does_not_move_the_others(rows: list[list[float | None]], trivial: float) -> None:
    assert normalised([*rows, [None, -1e6]], "max", trivial)[:-1] == normalised(rows, "max", trivial)


def test_every_task_weighs_the_same_however_many_seeds_it_has() -> None:
    assert overall_score([[1.0] * 9 + [0.0], [0.0, 0.2]], np.random.default_rng(0)).value == pytest.approx(0.5)


def test_the_same_seed_gives_the_same_interval_bit_for_bit() -> None:
    tasks = [[0.9, 1.0, 1.1], [0.3, 0.5, 0.2, 0.4], [0.7, 0.8]]
    first, again, other = (overall_score(tasks, np.random.default_rng(k)) for k in (1, 1, 2))
    assert first == again
    assert first != other
    assert first.low == pytest.approx(other.low, abs=0.02)


def test_with_one_task_the_interval_is_students() -> None:
    found = overall_score([[0.9, 1.0, 1.3, 1.1]], np.random.default_rng(0))
    assert (found.low, found.high) == pytest.approx(mean_interval([0.9, 1.0, 1.3, 1.1]), abs=0.01)


def test_an_interval_needs_two_seeds_on_every_task_and_no_spread_leaves_no_width() -> None:
    rng = np.random.default_rng(0)
    assert overall_score([[1.0, 0.9], [0.5]], rng) == Estimate(pytest.approx(0.725))  # type: ignore[arg-type]
    assert overall_score([[1.0, 1.0], [0.5, 0.5]], rng) == Estimate(0.75, 0.75, 0.75)


@pytest.mark.parametrize(
    ("shape", "truth", "n"), [("unequal", 0.0, 3), ("unequal", 0.0, 5), ("unequal", 0.0, 10), ("skewed", 0.8, 3)]
)
def test_the_interval_covers_the_mean_in_93_to_97_cases_of_100(
    shape: str, truth: float, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overall, "DRAWS", 500)
    rng, samples = np.random.default_rng(n), 2000
    normal = rng.standard_normal((samples, 4, n))
    scores = {
        "unequal": normal * np.array([1.0, 0.5, 2.0, 1.0])[:, None],
        "skewed": rng.beta(8, 2, (samples, 4, n)),
    }[shape]
    found = [overall_score(tasks, rng) for tasks in scores.tolist()]
    assert 0.93 < np.mean([e.low <= truth <= e.high for e in found if e.low is not None and e.high is not None]) < 0.97


def test_mean_ranks_by_hand() -> None:
    clear = [[1.0, 1.01, 0.99], [0.5, 0.51, 0.49], [0.1, 0.11, 0.09]]
    swapped = [clear[1], clear[0], clear[2]]
    assert mean_ranks([clear, swapped]) == [Estimate(1.5, 1.5, 1.5), Estimate(1.5, 1.5, 1.5), Estimate(3, 3, 3)]
    tied = [[0.5, 0.6], [0.5, 0.6], [0.0, 1.1]]
    assert mean_ranks([tied]) == [Estimate(2, 1, 3), Estimate(2, 1, 3), Estimate(2, 1, 3)]


def test_mean_ranks_hold_family_wise_over_all_tasks() -> None:
    rng, boards = np.random.default_rng(0), 1000
    equal = rng.standard_normal((boards, 4, 3, 5)).tolist()
    told = sum(any((e.low, e.high) != (1, 3) for e in mean_ranks(tasks)) for tasks in equal)
    assert 0.002 < told / boards < 0.05


def test_overall_ranks_refuse_what_has_no_answer() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="at least one task"):
        overall_score([], rng)
    with pytest.raises(ValueError, match="at least one score"):
        overall_score([[]], rng)
    with pytest.raises(ValueError, match="between 0 and 1, got 1"):
        overall_score([[1.0, 2.0]], rng, 1)
    with pytest.raises(ValueError, match=r"Every task needs all rows, got \[1, 2\] rows"):
        mean_ranks([[[1.0]], [[1.0], [2.0]]])
    with pytest.raises(ValueError, match=r"got \[\] rows"):
        mean_ranks([])
    with pytest.raises(ValueError, match="not finite"):
        normalised([[1.0]], "max", float("nan"))
    with pytest.raises(ValueError, match="not finite"):
        normalised([[float("inf")]], "max", 0.0)
    with pytest.raises(ValueError, match='A goal is "max" or "min"'):
        normalised([[1.0]], "", 0.0)
