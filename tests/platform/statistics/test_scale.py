"""Errors of scores: smaller is better on every board, a diverged seed is worst."""

from __future__ import annotations

import math
from statistics import geometric_mean

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from longwave.platform.statistics.scale import Scale, scale_of
from longwave.tasks.base import losses
from longwave.tasks.base.metric import Metric

numbers = st.floats(-1e6, 1e6)


def test_an_accuracy_counts_what_is_missing_to_100_and_at_least_half_an_item() -> None:
    scale = scale_of("accuracy", "max", "%", 0.05)
    assert scale.errors([90.0, 100.0, 99.98, None]) == [10.0, 0.05, 0.05, math.inf]
    assert scale.error(None) == math.inf


def test_a_perplexity_is_1_at_best() -> None:
    scale = scale_of("perplexity", "min", "1")
    assert scale.errors([1.0, 81.0]) == [0.0, 80.0] and scale.score(80.0) == 81.0
    assert scale.geometric_mean([2.0, 5.0]) == pytest.approx(1 + 2.0)


@pytest.mark.parametrize("metric", [losses.ACCURACY, losses.CROSS_ENTROPY, losses.BITS, losses.PERPLEXITY])
def test_the_perfect_score_is_that_of_sure_and_right_answers(metric: Metric) -> None:
    sure = torch.tensor([[[1000.0, 0.0], [0.0, 1000.0]]])
    assert metric.score(sure, torch.tensor([0, 1])).item() == scale_of(metric.name, metric.goal, metric.unit).perfect


def test_an_error_is_its_own_and_a_metric_without_a_perfect_score_is_turned_over() -> None:
    assert scale_of("mse", "min", "1").errors([0.5, 0.0]) == [0.5, 0.0]
    assert scale_of("likelihood", "max", "nats") == Scale("max", None)
    assert Scale("max", None).errors([-3.0, 2.0]) == [3.0, -2.0]
    assert Scale("min", None).errors([-3.0, 2.0]) == [-3.0, 2.0]


def test_scores_have_the_geometric_mean_of_their_errors_or_the_mean_without_a_perfect_score() -> None:
    assert Scale("min", 0.0).geometric_mean([0.1, 0.4]) == pytest.approx(geometric_mean([0.1, 0.4]), rel=1e-12)
    assert Scale("max", 100.0).geometric_mean([90.0, 60.0]) == pytest.approx(80.0, rel=1e-12)
    assert Scale("max", None).geometric_mean([1.0, 4.0]) == pytest.approx(2.5, rel=1e-12)
    assert Scale("min", 0.0).geometric_mean([0.1, None]) is None
    assert Scale("min", 0.0).geometric_mean([]) is None


@given(numbers, st.sampled_from([Scale("max", 100.0), Scale("max", None), Scale("min", None)]))
def test_an_error_goes_back_to_its_score(score: float, scale: Scale) -> None:
    error = scale.error(score)
    if scale.perfect is None or score < scale.perfect:
        assert scale.score(error) == pytest.approx(score)
    assert scale.score(math.inf) is None


@given(numbers, numbers, st.sampled_from([Scale("max", 100.0, 0.5), Scale("min"), Scale("max", None)]))
def test_a_better_score_is_never_a_larger_error(a: float, b: float, scale: Scale) -> None:
    better, worse = (max(a, b), min(a, b)) if scale.goal == "max" else (min(a, b), max(a, b))
    assert scale.error(better) <= scale.error(worse) < math.inf


def test_another_goal_is_refused() -> None:
    with pytest.raises(ValueError, match='A goal is "max" or "min", got "best"|got \'best\''):
        Scale("best")


def test_the_log_of_no_error_is_that_of_the_least_one_and_a_diverged_seed_has_an_infinite_one() -> None:
    assert Scale("min").log_errors([0.0, 1.0, None]) == [math.log(1e-12), 0.0, math.inf]
    assert Scale("max", 100.0, 0.5).log_errors([100.0, 90.0]) == [math.log(0.5), math.log(10.0)]
    assert Scale("max", None).log_errors([3.0]) == [-3.0]
