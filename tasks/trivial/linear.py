"""Linear predictors: autoregression on the last inputs, and an iterated one-step map."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from longwave.tasks.base.data import Data
from longwave.tasks.base.predictor import Fitted, Predictor
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.trivial.constant import SAMPLE
from longwave.tasks.trivial.least_squares import CHUNK, fit_weights, powers


@dataclass(frozen=True)
class Linear(Predictor):
    """The linear prediction from the last inputs; near the start each step has its own fit.

    Attributes:
        lags: Number of inputs, the present one included: AR(lags) for one channel.
        penalty: Ridge penalty, relative to the mean square of the features.
    """

    lags: int
    penalty: float = 0.0

    def fit(self, data: Data[Any]) -> Fitted:
        """Return the fit to a task with targets at every step."""
        train: Sequences = data.training(SAMPLE)
        fits = []
        for lags in range(1, min(self.lags, train.positions) + 1):
            steps, features = slice(0, None if lags == self.lags else lags), partial(_stack_lags, lags=lags)
            targets = train.targets[:, steps][:, lags - 1 :]
            fits.append((steps, features, fit_weights(train.inputs[:, steps], targets, features, self.penalty)))

        def outputs(split: Sequences) -> Tensor:
            predicted = [
                torch.cat([features(x.double()) @ matrix for x in split.inputs[:, steps].split(CHUNK)])
                for steps, features, matrix in fits[: split.positions]
            ]
            return torch.cat(predicted, 1).to(split.targets)

        return Fitted(outputs, sum(matrix.numel() for _, _, matrix in fits))


@dataclass(frozen=True)
class Iterated(Predictor):
    """An iterated polynomial one-step map, fitted to consecutive inputs, for a task whose inputs are the whole state.

    Attributes:
        horizon: Steps ahead.
        degree: 1 for a linear map, 2 for a quadratic one.
    """

    horizon: int
    degree: int

    def fit(self, data: Data[Any]) -> Fitted:
        """Return the map, with states clipped to ten times the largest in training."""
        states = data.training(SAMPLE).inputs.double()
        step = fit_weights(states[:, :-1], states[:, 1:], partial(powers, degree=self.degree))
        largest = 10 * states.abs().max()

        def outputs(split: Sequences) -> Tensor:
            state = split.inputs.double()
            for _ in range(self.horizon):
                state = (powers(state, self.degree) @ step).clamp(-largest, largest)
            return state.to(split.targets)

        return Fitted(outputs, step.numel())


def _stack_lags(x: Tensor, lags: int) -> Tensor:
    """Return (N, T − lags + 1, lags·p + 1): the last inputs and a 1, from the first step with enough past."""
    windows = x.unfold(1, lags, 1).flatten(2)
    return torch.cat([windows, torch.ones_like(windows[..., :1])], -1)
