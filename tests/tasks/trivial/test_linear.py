"""Trivial predictors, each against an independent truth."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from longwave.platform.registry import all_tasks, get_task
from longwave.tasks.base.batch import NO_TARGET
from longwave.tasks.base.data import Data
from longwave.tasks.base.feedback import FreeRuns
from longwave.tasks.base.graphs import Graphs
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import TaskSpec
from longwave.tasks.trivial.constant import Majority, Mean, Persistence
from longwave.tasks.trivial.forecasts import FORECASTS
from longwave.tasks.trivial.free import FREE, FreePolynomial
from longwave.tasks.trivial.linear import Iterated, Linear
from longwave.tasks.trivial.polynomial import Polynomial


def data_of(train: Sequences, test: Sequences | None = None) -> Data:
    return Data(train=train, valid=train, test=test or train)


def noise(*shape: int, seed: int = 0) -> Tensor:
    return torch.from_numpy(np.random.RandomState(seed).standard_normal(shape))


def ahead(path: Tensor, horizon: int = 1) -> Sequences:
    """Return paths (N, T, p) as a task that asks for the state ``horizon`` steps later."""
    return Sequences(path[:, :-horizon], path[:, horizon:].clone())


def classes(targets: list[int] | list[list[int]]) -> Sequences:
    return Sequences(torch.zeros(len(targets), 3, 1), torch.tensor(targets))


def sines(step: float, n: int = 40, length: int = 30) -> Tensor:
    """Return sin(step·t + phase), (n, length, 1), with n phases at equal distances."""
    phases = torch.arange(n, dtype=torch.float64) * 2 * torch.pi / n
    return torch.sin(step * torch.arange(length, dtype=torch.float64) + phases[:, None])[..., None]


def test_the_majority_is_the_class_that_occurs_most_in_training_and_not_in_the_test() -> None:
    data = data_of(classes([2, 0, 2, 1, 2, 0]), classes([0, 0, 1, 0]))
    logits = Majority(4)(data)
    assert logits.shape == (4, 4) and logits.argmax(-1).tolist() == [2, 2, 2, 2]


def test_the_majority_at_every_step_counts_only_what_is_asked() -> None:
    unasked = [NO_TARGET] * 3
    data = data_of(classes([[NO_TARGET, 1, 0], [NO_TARGET, 1, 2], unasked, unasked]))
    logits = Majority(3)(data)
    assert logits.shape == (4, 3, 3) and (logits.argmax(-1) == 1).all()


@pytest.mark.parametrize(
    "targets, accuracy", [([1, 1, 0], 200 / 3), ([0, 1, 0, 0], 75.0), ([1, NO_TARGET, NO_TARGET], 100.0)]
)
def test_the_majority_of_two_classes_is_the_sign_of_one_logit(targets: list[int], accuracy: float) -> None:
    data = data_of(Sequences(torch.zeros(1, len(targets), 1), torch.tensor([targets])))
    logits = Majority(1)(data)
    assert logits.shape == (1, len(targets), 1)
    score = get_task("digits").metric.score(logits.unsqueeze(0), data.test.targets).item()
    assert score == pytest.approx(accuracy, rel=1e-6)


def test_the_mean_is_that_of_the_asked_training_values_of_each_output() -> None:
    targets = noise(5, 7, 2).float()
    targets[0, :3], targets[4] = torch.nan, torch.nan
    test = Sequences(torch.zeros(3, 7, 1), torch.zeros(3, 7, 2))
    predicted = Mean()(data_of(Sequences(torch.zeros(5, 7, 1), targets), test))
    wanted = np.nanmean(targets.double().numpy(), (0, 1))
    np.testing.assert_allclose(predicted.numpy(), np.broadcast_to(wanted, (3, 7, 2)), rtol=1e-5)


def test_the_mean_at_the_last_step_is_that_of_the_training_split() -> None:
    train = Sequences(torch.zeros(3, 7, 1), torch.tensor([[1.0, -1.0], [2.0, 0.0], [6.0, 4.0]]))
    test = Sequences(torch.zeros(2, 7, 1), torch.zeros(2, 2))
    assert Mean()(data_of(train, test)).tolist() == [[3.0, 1.0], [3.0, 1.0]]


def test_a_stream_is_learnt_from_through_a_sample_of_its_own() -> None:
    test = Sequences(torch.zeros(4, 3, 1), torch.zeros(4, 1))
    data = Data(valid=test, test=test, stream=lambda seed, n: Sequences(torch.zeros(n, 3, 1), torch.full((n, 1), 2.5)))
    assert Mean()(data).tolist() == [[2.5]] * 4


def test_persistence_says_what_it_sees() -> None:
    data = data_of(ahead(noise(2, 5, 3)), ahead(torch.tensor([[[1.0], [4.0], [9.0]]])))
    assert Persistence()(data).tolist() == [[[1.0], [4.0]]]
    assert get_task("mackey_glass").metric.score(Persistence()(data)[None], data.test.targets).item() == (9 + 25) / 2


@pytest.mark.parametrize("horizon", [1, 6])
def test_two_lags_predict_a_sine_from_the_second_step_and_one_lag_by_its_cosine(horizon: int) -> None:
    path = sines(0.4)
    data = data_of(ahead(path, horizon))
    predicted = Linear(2)(data)
    np.testing.assert_allclose(predicted[:, 1:], data.test.targets[:, 1:], atol=1e-12)
    np.testing.assert_allclose(predicted[:, 0], np.cos(0.4 * horizon) * path[:, 0], atol=1e-12)


@pytest.mark.parametrize("lags, channels", [(1, 1), (3, 1), (4, 2), (50, 1)])
def test_a_linear_prediction_is_numpys_least_squares_at_each_step(lags: int, channels: int) -> None:
    train, test = (ahead(noise(70, 12, channels, seed=seed).cumsum(1), 2) for seed in (1, 2))
    train.targets[:, 4, 0] = torch.nan
    train.targets[3:9] = torch.nan
    predicted = Linear(lags)(data_of(train, test))
    assert predicted.shape == test.targets.shape

    def history(x: Tensor, step: int) -> np.ndarray:
        """Return the last inputs seen at a step, the present one last, and a one."""
        seen = x[:, max(0, step + 1 - lags) : step + 1].transpose(1, 2).flatten(1).numpy()
        return np.concatenate([seen, np.ones((len(seen), 1))], 1)

    for step in range(10):
        fitted = range(lags - 1, 10) if step >= lags - 1 else [step]
        past = np.concatenate([history(train.inputs, s) for s in fitted])
        future = np.concatenate([train.targets[:, s].numpy() for s in fitted])
        finite = np.isfinite(future)
        known = zip(finite.T, future.T, strict=True)
        weights = np.stack([np.linalg.lstsq(past[rows], y[rows], rcond=None)[0] for rows, y in known], 1)
        np.testing.assert_allclose(predicted[:, step], history(test.inputs, step) @ weights, atol=1e-9)


def test_a_smooth_series_is_predicted_as_well_as_double_precision_allows() -> None:
    path = sum(sines(step, n=33, length=200) * (1 + step) for step in (0.011, 0.017, 0.029))
    assert isinstance(path, Tensor)
    data = data_of(ahead(path + 1e-7 * noise(*path.shape), 25))
    windows = data.test.inputs[..., 0].unfold(1, 8, 1)
    past = torch.cat([windows, torch.ones_like(windows[..., :1])], -1).flatten(0, 1).numpy()
    future = data.test.targets[:, 7:, 0].flatten().numpy()
    assert np.linalg.cond(past) > 1e7
    weights = np.linalg.lstsq(past, future, rcond=None)[0]
    wanted = np.mean((past @ weights - future) ** 2)
    error = (Linear(8)(data)[:, 7:] - data.test.targets[:, 7:]).square().mean().item()
    assert error == pytest.approx(wanted, rel=1e-6)


def test_the_ridge_penalty_is_relative_to_the_mean_square_of_the_features() -> None:
    train, test = ahead(noise(40, 3, 2)), ahead(noise(5, 3, 2, seed=9))
    predicted = Linear(1, 0.3)(data_of(train, test))

    def features(split: Sequences) -> np.ndarray:
        return np.concatenate([split.inputs.numpy(), np.ones((*split.inputs.shape[:2], 1))], -1)

    x, y = features(train).reshape(-1, 3), train.targets.numpy().reshape(-1, 2)
    gram = x.T @ x
    weights = np.linalg.solve(gram + 0.3 * np.trace(gram) / 3 * np.eye(3), x.T @ y)
    np.testing.assert_allclose(predicted.numpy(), features(test) @ weights, rtol=1e-10)


def test_where_sequences_are_fewer_than_features_the_smallest_weights_are_taken() -> None:
    train, test = ahead(noise(3, 11, 1)), ahead(noise(4, 11, 1, seed=1))
    predicted = Linear(10)(data_of(train, test))
    past = np.concatenate([train.inputs[..., 0].numpy(), np.ones((3, 1))], 1)
    weights = np.linalg.pinv(past) @ train.targets[:, 9].numpy()
    wanted = np.concatenate([test.inputs[..., 0].numpy(), np.ones((4, 1))], 1) @ weights
    np.testing.assert_allclose(predicted[:, 9], wanted, rtol=1e-9)


def henon(n: int, length: int) -> Tensor:
    """Return states of x' = 1 − 1.4 x² + y, y' = 0.3 x from n starts, (n, length, 2)."""
    states = [0.1 * noise(n, 2)]
    for _ in range(length - 1):
        x, y = states[-1].unbind(-1)
        states.append(torch.stack([1 - 1.4 * x**2 + y, 0.3 * x], -1))
    return torch.stack(states, 1)


def test_the_quadratic_map_recovers_a_quadratic_recursion_and_the_linear_map_does_not() -> None:
    data = data_of(ahead(henon(20, 30), 5))
    np.testing.assert_allclose(Iterated(5, 2)(data), data.test.targets, atol=1e-8)
    assert (Iterated(5, 1)(data) - data.test.targets).abs().mean() > 0.1


def test_the_linear_map_recovers_a_spiral_with_an_offset() -> None:
    turn = 0.97 * torch.tensor([[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]])
    states = [noise(20, 2)]
    for _ in range(39):
        states.append(states[-1] @ turn.T + torch.tensor([0.5, -0.2], dtype=torch.float64))
    data = data_of(ahead(torch.stack(states, 1), 25))
    np.testing.assert_allclose(Iterated(25, 1)(data), data.test.targets, atol=1e-11)


def test_a_map_that_is_iterated_out_of_bounds_stays_finite() -> None:
    data = data_of(ahead(torch.tensor([1.0, 2.0, 4.0, 8.0, 16.0]).view(1, 5, 1)))
    assert Iterated(5000, 1)(data).tolist() == [[[80.0]] * 4]


@pytest.mark.parametrize("name, published", [("persistence", 7.9e-2), ("AR(8)", 0.98e-2)])
def test_fitzhugh_nagumo_scores_trivial_predictors_as_known(name: str, published: float) -> None:
    task = get_task("fitzhugh_nagumo")
    data = task.load("")
    score = task.metric.score(FORECASTS[name](data).unsqueeze(0), data.test.targets).item()
    assert score == pytest.approx(published, rel=0.01)


def test_predictors_have_as_many_values_and_the_degree_that_their_names_say() -> None:
    named = {name: re.search(r"\((\d+)\)", name) for name in FORECASTS}
    read = {name: predictor.lags for name, predictor in FORECASTS.items() if isinstance(predictor, Linear)}
    assert read == {name: int(number[1]) for name, number in named.items() if number} and len(read) == 2
    for predictors, kind in ((FORECASTS, Polynomial), (FREE, FreePolynomial)):
        degrees = {name: predictor.degree for name, predictor in predictors.items() if isinstance(predictor, kind)}
        assert degrees.pop("linear AR", 1) == 1 and degrees == {"quadratic AR": 2, "cubic AR": 3}


@pytest.mark.parametrize("task", all_tasks().values(), ids=all_tasks())
def test_every_task_has_a_trivial_predictor(task: TaskSpec) -> None:
    assert len(task.baselines) > 0


@pytest.mark.parametrize("name", [name for name, task in all_tasks().items() if task.files is None])
def test_the_trivial_predictors_of_a_generated_task_score_finite_values(name: str) -> None:
    task = get_task(name)
    data = task.load(task.variant)

    def few(split: Any) -> Any:
        if isinstance(split, Graphs):
            return split
        if isinstance(data.test, FreeRuns):
            return split.take(torch.arange(24))
        end = 160 if split.every_step and split.targets.is_floating_point() else None
        targets = split.targets[:24, :end] if split.every_step else split.targets[:24]
        return Sequences(split.inputs[:24, :end], targets, split.tail)

    stream = data.stream
    fewer = replace(
        data,
        valid=few(data.valid),
        test=few(data.test),
        train=data.train and few(data.train),
        stream=stream and (lambda seed, n: stream(seed, 24)),
    )
    scores = task.trivial(fewer)
    assert scores.keys() == task.baselines.keys() - task.lacking().keys()
    assert np.isfinite(list(scores.values())).all()
