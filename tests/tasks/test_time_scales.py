"""The time scale of a task: the first lag at which its training series has forgotten itself, frozen in the task."""

from __future__ import annotations

import numpy as np
import pytest

from longwave.models.base.param import Param
from longwave.platform.registry import all_models, all_tasks, get_model, get_task

CASES = [(name, variant) for name, task in all_tasks().items() for variant in task.time_scales]


@pytest.mark.integration
@pytest.mark.parametrize(("name", "variant"), CASES)
def test_a_frozen_time_scale_is_the_first_lag_below_one_over_e_by_the_fourier_transform(
    name: str, variant: str
) -> None:
    task = get_task(name)
    x = task.load(variant or task.variant).training(2000).inputs.double().numpy()  # type: ignore[attr-defined]
    x = x - x.mean((0, 1))
    length = x.shape[1]
    power = np.abs(np.fft.rfft(x, 2 * length, axis=1)) ** 2
    sums = np.fft.irfft(power, axis=1)[:, :length].sum(0)  # over sequences, at each lag
    pairs = np.arange(length, 0, -1)[:, None] * len(x)
    correlation = np.abs(sums / pairs / (x**2).mean((0, 1))).mean(1)
    assert task.time_scale(variant) == int(np.argmax(correlation < 1 / np.e))


def test_every_task_that_forecasts_a_series_has_a_time_scale() -> None:
    assert {name for name, task in all_tasks().items() if task.horizon and task.family == "dynamics"} <= {
        name for name, _ in CASES
    }
    assert all(task.time_scale(task.variant) for task in all_tasks().values() if task.time_scales)


def test_steps_rates_and_delays_follow_from_the_time_scale_and_nothing_else_does() -> None:
    step, rate, delay = (Param("p", "p", 0.01, 0.1, True, unit, "") for unit in ("steps", "1/step", "steps back"))
    actual = [(p.low, p.high, p.log) for p in (each.in_time(50) for each in (step, rate, delay))]
    assert actual == [(1 / 50, 3.0, True), (0.1 / 50, 10 / 50, True), (1.0, 200.0, True)]
    capped = Param("p", "p", 0.01, 0.1, True, "steps", "", most=1.0).in_time(50)
    assert (capped.low, capped.high) == (1 / 50, 1.0)
    for other in (
        Param("p", "p", 0.01, 0.1, True, "1", ""),
        Param("lr", "η", 0.01, 0.1, True, "1/step", ""),
        Param("p", "p", 0.01, 0.1, True, "steps", "", searched=False),
    ):
        assert other.in_time(50) is other


def test_the_tasks_of_a_models_own_paper_keep_the_published_ranges() -> None:
    cornn = get_model("cornn")
    assert {"smnist", "adding", "ncifar"} <= cornn.papers_tasks and "fitzhugh_nagumo" not in cornn.papers_tasks
    for task in cornn.papers_tasks:
        assert cornn.space(task, time_scale=50) == cornn.space(task)
    ranges = {p.name: (p.low, p.high) for p in cornn.space("fitzhugh_nagumo", time_scale=50)}
    assert ranges["dt"] == (0.02, 3.0) and ranges["gamma"] == (0.1, 10.0)


@pytest.mark.parametrize("name", all_models())
def test_a_range_in_a_tasks_time_is_valid_for_every_model(name: str) -> None:
    for scale in (1, 3, 1000):
        for param in get_model(name).space("none", time_scale=scale):
            param.check(param.low)
            param.check(param.high)
