"""Shared code of predictors of whole sequences: rows, logits, a penalty; and ridge on summary statistics."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor

from longwave.tasks.base.data import Data
from longwave.tasks.base.predictor import Fitted, Predictor
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.trivial.constant import SAMPLE
from longwave.tasks.trivial.least_squares import triangle, weights

K = TypeVar("K")
PENALTIES = (1e-8, 1e-4, 1e-2, 1.0)
"""Penalties of ``SummaryRidge``, relative to the mean square of its features."""


def flat_rows(split: Sequences) -> Tensor:
    """Return the input sequences, (N, T·p) float32."""
    return torch.cat([piece.inputs.flatten(1).float() for piece in split.pieces(1024)])


def logits(classes: Tensor, outputs: int) -> Tensor:
    """Return logits (N, outputs) that predict ``classes``, (N,) int64; with one output by its sign."""
    if outputs == 1:
        return (2.0 * classes - 1.0).unsqueeze(-1)
    return torch.nn.functional.one_hot(classes, outputs).float()


def most_right(tried: Iterable[K], outputs: Callable[[K], Tensor], classes: Tensor) -> K:
    """Return the first of the best accuracy: ``outputs`` gives logits (N, q), or (N, 1), for ``classes`` (N,)."""

    def hits(each: K) -> int:
        scores = outputs(each)
        predicted = scores.squeeze(-1) > 0 if scores.shape[-1] == 1 else scores.argmax(-1)
        return int((predicted == classes).sum())

    return max(tried, key=hits)


@dataclass(frozen=True)
class SummaryRidge(Predictor):
    """Ridge regression on first, last, smallest, largest and mean value and standard deviation of each channel.

    The penalty is that of the least squared error on the validation split.

    Attributes:
        classes: Number of classes, whose indicators are then the targets; 0 for targets that are values.
    """

    classes: int = 0

    def fit(self, data: Data[Any]) -> Fitted:
        """Return the fit to the targets, one set per sequence; padding does not count."""
        train: Sequences = data.training(SAMPLE)
        known, targets = self._values(train.targets), self._values(data.valid.targets)
        upper = triangle(_summarise(train), known, lambda x: x, len(train))

        def error(fitted: Tensor) -> float:
            mean: float = (_summarise(data.valid) @ fitted - targets).square().mean().item()
            return mean

        tried = {penalty: weights(upper, known.shape[-1], penalty) for penalty in PENALTIES}
        best = min(tried, key=lambda penalty: error(tried[penalty]))

        def outputs(split: Sequences) -> Tensor:
            return (_summarise(split) @ tried[best]).float()

        return Fitted(outputs, tried[best].numel(), f"penalty {best:g}")

    def _values(self, targets: Tensor) -> Tensor:
        """Return targets as numbers to regress, (N, q) float64."""
        return (logits(targets, self.classes) if self.classes else targets).double()


def _summarise(split: Sequences) -> Tensor:
    """Return six numbers per channel and a 1, (N, 6 p + 1) float64."""
    x = split.inputs.double()
    steps = torch.full((len(x),), x.shape[1]) if split.lengths is None else split.lengths
    real = (torch.arange(x.shape[1]) < steps[:, None])[..., None]
    last = x.take_along_dim((steps - 1)[:, None, None], 1)[:, 0]
    mean = (x * real).sum(1) / steps[:, None]
    spread = (((x - mean[:, None]) * real).square().sum(1) / steps[:, None]).sqrt()
    ends = x.masked_fill(~real, math.inf).amin(1), x.masked_fill(~real, -math.inf).amax(1)
    return torch.cat([x[:, 0], last, *ends, mean, spread, torch.ones_like(x[:, 0, :1])], 1)
