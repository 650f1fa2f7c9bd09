"""Trivial predictors of free runs: predictions are fed back, as for a model.

Lags, degrees, penalties and neighbours are selected on the free runs of the validation split.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import comb
from typing import Any

import torch
from torch import Tensor

from longwave.tasks.base.data import Data
from longwave.tasks.base.predictor import Baseline, Fitted, Predictor
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.trivial.constant import Mean
from longwave.tasks.trivial.least_squares import powers, triangle, weights

OneStep = Callable[[Tensor], Tensor]
"""From the last values (N, lags p), oldest first, to the next (N, p), or to all later ones."""
FreeRun = Callable[[Tensor], Tensor]
"""From the given values (N, W, p) to a free run (N, H, p)."""
Candidate = tuple[FreeRun, int, str]
"""A free run, the number of values that it stores, and its name."""
LAGS = {1: (1, 2, 8, 16, 32, 64), 2: (1, 2, 4, 8, 12), 3: (1, 2, 4, 6)}
"""Candidate lags, by degree."""
LARGEST = 300
"""Most monomials."""
PENALTIES = (1e-8, 1e-5, 1e-3, 1e-2)
"""Candidate ridge penalties, relative to the mean square of the monomials."""
EMBEDDINGS, NEIGHBOURS = (8, 16, 32, 64), (1, 4, 16)
"""Candidate lags of the delay embedding, and candidate numbers of neighbours to average."""
LIBRARY, FEW = 10_000, 32
"""Largest number of windows searched for neighbours at each step, and number of validation series for the selection."""


@dataclass(frozen=True)
class LastObserved(Predictor):
    """The last input, repeated at every step."""

    def fit(self, data: Data[Any]) -> Fitted:
        """Return the last input; nothing is stored."""

        def outputs(split: Sequences) -> Tensor:
            return split.inputs[:, -1:].expand_as(split.targets)

        return Fitted(outputs, 0)


@dataclass(frozen=True)
class SelectedRun(Predictor):
    """The free run with the least squared error on the validation split, of several."""

    few = 0
    """Number of validation series for the selection; 0 for all."""

    @abstractmethod
    def candidates(self, data: Data[Sequences]) -> Iterator[Candidate]:
        """Yield the free runs, one at a time: a library of windows is large."""

    def fit(self, data: Data[Any]) -> Fitted:
        """Return the best free run. Raises ValueError if all are NaN."""
        sample = data.valid.take(torch.arange(self.few)) if 0 < self.few < len(data.valid) else data.valid
        inputs, targets = sample.inputs.double(), sample.targets.double()
        least = math.inf
        best: Candidate | None = None
        for candidate in self.candidates(data):
            if (error := (candidate[0](inputs) - targets).square().mean().item()) < least:
                least, best = error, candidate
        if best is None:
            raise ValueError("No candidate works with so few given steps, or all of them predict NaN.")
        run, numbers, name = best
        return Fitted(lambda split: run(split.inputs.double()).to(split.targets), numbers, name)


@dataclass(frozen=True)
class FreePolynomial(SelectedRun):
    """A polynomial of the last values, fitted one step ahead by ridge regression.

    Attributes:
        degree: 1, 2 or 3.
    """

    degree: int

    def candidates(self, data: Data[Sequences]) -> Iterator[Candidate]:
        """Yield the free runs of all lags and penalties."""
        train, (observed, features) = data.training(1), data.test.inputs.shape[1:]
        for lags in LAGS[self.degree]:
            if lags > observed or comb(lags * features + self.degree, self.degree) > LARGEST:
                continue
            raised = partial(_raise_inputs, lags=lags, degree=self.degree)
            fitted = triangle(train.inputs, train.targets[:, lags - 1 :], raised)
            for penalty in PENALTIES:
                matrix = weights(fitted, features, penalty)
                step = partial(_polynomial, degree=self.degree, weights=matrix)
                yield _make_runs(data, step, lags), matrix.numel(), f"{lags} lags, penalty {penalty:g}"


@dataclass(frozen=True)
class FreeNeighbours(SelectedRun):
    """The mean next value after the nearest windows of training series, searched at each step."""

    few = FEW

    def candidates(self, data: Data[Sequences]) -> Iterator[Candidate]:
        """Yield the free runs of all embeddings and numbers of neighbours."""
        train, observed = data.training(1), data.test.inputs.shape[1]
        for lags in (lags for lags in EMBEDDINGS if lags <= observed):
            windows = _windows(train.inputs, lags).flatten(0, 1)
            after = train.targets[:, lags - 1 :].double().flatten(0, 1)
            some = torch.linspace(0, len(windows) - 1, min(LIBRARY, len(windows)), dtype=torch.float64).round().long()
            library = _make_library(windows[some], after[some])
            numbers = windows[some].numel() + after[some].numel()
            for count in NEIGHBOURS:
                run = _make_runs(data, partial(library, count=count), lags)
                yield run, numbers, f"{lags} lags, the nearest {count}"


@dataclass(frozen=True)
class Analogues(SelectedRun):
    """The mean continuation of the training windows nearest to the last given values."""

    def candidates(self, data: Data[Sequences]) -> Iterator[Candidate]:
        """Yield the free runs of all embeddings and numbers of neighbours."""
        train, (observed, horizon) = data.training(1), (data.test.inputs.shape[1], data.test.targets.shape[1])
        for lags in (lags for lags in EMBEDDINGS if lags <= observed):
            after = train.targets[:, lags - 1 :].double().unfold(1, horizon, 1).mT
            windows = _windows(train.inputs, lags)[:, : after.shape[1]].flatten(0, 1)
            library = _make_library(windows, after.flatten(0, 1))
            for count in NEIGHBOURS:
                run = partial(_replay, step=partial(library, count=count), lags=lags)
                yield run, windows.numel() + train.targets.numel(), f"{lags} lags, the nearest {count}"


FREE: dict[str, Baseline] = {
    "mean": Mean(),
    "persistence": LastObserved(),
    "linear AR": FreePolynomial(1),
    "quadratic AR": FreePolynomial(2),
    "cubic AR": FreePolynomial(3),
    "nearest neighbours": FreeNeighbours(),
    "analogues": Analogues(),
}
"""Predictors for every task of free runs."""


def run_free(inputs: Tensor, step: OneStep, lags: int, horizon: int, reach: Tensor) -> Tensor:
    """Return the free run (N, H, p) of a one-step predictor after inputs (N, W, p).

    Args:
        inputs: The given values.
        step: The predictor.
        lags: Number of values that it reads.
        horizon: Steps H.
        reach: The smallest and the largest value of each feature, (2, p), to which predictions are clipped.
    """
    last_values, outputs = inputs[:, -lags:], list[Tensor]()
    for _ in range(horizon):
        outputs.append(step(last_values.flatten(1)).clamp(reach[0], reach[1]))
        last_values = torch.cat([last_values[:, 1:], outputs[-1].unsqueeze(1)], 1)
    return torch.stack(outputs, 1)


def _make_runs(data: Data[Sequences], step: OneStep, lags: int) -> FreeRun:
    values = data.training(1).inputs.double().flatten(0, -2)
    reach = torch.stack([values.amin(0), values.amax(0)])
    return partial(run_free, step=step, lags=lags, horizon=data.test.targets.shape[1], reach=reach)


def _raise_inputs(inputs: Tensor, lags: int, degree: int) -> Tensor:
    return powers(_windows(inputs, lags), degree)


def _polynomial(values: Tensor, degree: int, weights: Tensor) -> Tensor:
    return powers(values, degree) @ weights


def _windows(x: Tensor, lags: int) -> Tensor:
    """Return the last values at each step with enough past, oldest first: x (N, T, p) as (N, T − lags + 1, lags p)."""
    return x.double().unfold(1, lags, 1).mT.flatten(2)


def _replay(inputs: Tensor, step: OneStep, lags: int) -> Tensor:
    return step(inputs[:, -lags:].flatten(1))


def _make_library(windows: Tensor, after: Tensor) -> Callable[..., Tensor]:
    """Return a function from values (N, ...) to the mean continuation of the ``count`` nearest windows."""
    sizes, rows = windows.square().sum(1), windows.mT

    def successor(values: Tensor, count: int) -> Tensor:
        distance = torch.addmm(sizes, values, rows, alpha=-2)
        return after[distance.topk(count, largest=False).indices].mean(1)

    return successor
