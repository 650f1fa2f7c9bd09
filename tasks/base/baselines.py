"""Trivial predictors, measured beside the models: what a task is worth is what they miss.

Each takes the data and returns outputs for the test split. Fits are least squares in float64 on the training split.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from longwave.tasks.base.batch import NOT_ASKED, Batch
from longwave.tasks.base.data import Data
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import Baseline

Features = Callable[[Tensor], Tensor]
"""From float64 inputs (N, T, p) to what a fit is linear in, (N, T', k)."""
ROUNDING = 1e-14
"""Ridge penalty: about the rounding of float32 inputs, squared, relative to their mean square."""
SAMPLE = 2000
"""Examples drawn from a stream to learn from."""
CHUNK = 16
"""Sequences whose features are held at once."""


def majority(data: Data[Batch], outputs: int) -> Tensor:
    """Return logits for the most frequent class of the training split."""
    asked = data.training(SAMPLE).targets
    test = data.test.targets
    if outputs == 1:
        ones = (asked == 1).sum() * 2 > (asked != NOT_ASKED).sum()
        return torch.full((*test.shape, 1), 1.0 if ones else -1.0)
    counts = torch.bincount(asked[asked != NOT_ASKED].flatten(), minlength=outputs)
    return torch.nn.functional.one_hot(counts.argmax(), outputs).float().expand(*test.shape, outputs)


def mean(data: Data[Batch]) -> Tensor:
    """Return the mean of the training targets."""
    targets = data.training(SAMPLE).targets
    return targets.flatten(0, -2).nanmean(0).expand_as(data.test.targets)


def persistence(data: Data[Sequences]) -> Tensor:
    """Return the present input as the prediction; inputs and targets are the same quantities."""
    return data.test.inputs.double()


def linear(data: Data[Sequences], lags: int, penalty: float = 0.0) -> Tensor:
    """Return the linear prediction from the last ``lags`` inputs; near the start each step has a fit of its own.

    Args:
        data: A task that asks at every step.
        lags: Inputs seen, the present one included: AR(lags) for one channel.
        penalty: Ridge penalty, relative to the mean square of the features.
    """
    train, test = data.training(SAMPLE), data.test
    predicted = []
    for seen in range(1, min(lags, test.places) + 1):
        now, features = slice(0, None if seen == lags else seen), partial(_history, lags=seen)
        weights = _fit(train.inputs[:, now], train.targets[:, now][:, seen - 1 :], features, penalty)
        predicted.append(torch.cat([features(x.double()) @ weights for x in test.inputs[:, now].split(CHUNK)]))
    return torch.cat(predicted, 1).to(test.targets)


def iterated(data: Data[Sequences], horizon: int, degree: int) -> Tensor:
    """Return ``horizon`` steps of a polynomial map of one step, fitted to consecutive inputs.

    Args:
        data: A task that shows the whole state and asks for it ``horizon`` steps later.
        horizon: Steps ahead.
        degree: 1 for a linear map, 2 for a quadratic one.
    """
    states = data.training(SAMPLE).inputs.double()
    weights = _fit(states[:, :-1], states[:, 1:], partial(_powers, degree=degree))
    state, largest = data.test.inputs.double(), 10 * states.abs().max()
    for _ in range(horizon):
        state = (_powers(state, degree) @ weights).clamp(-largest, largest)
    return state.to(data.test.targets)


FORECASTS: dict[str, Baseline] = {
    "mean": mean,
    "persistence": persistence,
    "AR(8)": partial(linear, lags=8),
    "ridge(32)": partial(linear, lags=32, penalty=ROUNDING),
}
"""Predictors for every task that forecasts its own input."""


def _history(x: Tensor, lags: int) -> Tensor:
    """Return (N, T − lags + 1, lags·p + 1): the last inputs and a one, from the first full history on."""
    windows = x.unfold(1, lags, 1).flatten(2)
    return torch.cat([windows, torch.ones_like(windows[..., :1])], -1)


def _powers(x: Tensor, degree: int) -> Tensor:
    """Return all monomials of x up to ``degree``, 1 or 2."""
    parts = [torch.ones_like(x[..., :1]), x]
    if degree == 2:
        rows, columns = torch.triu_indices(x.shape[-1], x.shape[-1])
        parts.append(x[..., rows] * x[..., columns])
    return torch.cat(parts, -1)


def _fit(x: Tensor, y: Tensor, features: Features, penalty: float = 0.0) -> Tensor:
    """Return the least-squares weights of ``features(x)`` for y; steps where nothing is asked do not count.

    By QR: the normal equations would square the condition, which is 10⁸ for smooth series.
    """
    triangle = torch.empty(0)
    for some, wanted in zip(x.split(CHUNK), y.split(CHUNK), strict=True):
        rows = torch.cat([features(some.double()), wanted.double()], -1)[wanted.isfinite().all(-1)]
        triangle = torch.linalg.qr(torch.cat([triangle, rows]), mode="r").R
    left, right = triangle.split([triangle.shape[1] - y.shape[-1], y.shape[-1]], 1)
    ridge = (penalty * left.square().sum(0).mean()).sqrt() * torch.eye(left.shape[1], dtype=left.dtype)
    left, right = torch.cat([left, ridge]), torch.cat([right, torch.zeros_like(ridge[:, : y.shape[-1]])])
    weights: Tensor = torch.linalg.lstsq(left, right, driver="gelsd").solution
    return weights
