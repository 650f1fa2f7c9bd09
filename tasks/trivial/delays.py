"""Regression on a delay embedding: the embedding, the fit at every step, and the selection of both."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

from longwave.tasks.base.data import Data
from longwave.tasks.base.predictor import Fitted, Predictor
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.trivial.constant import SAMPLE

CHUNK = 8
"""Sequences whose embeddings are in memory at once."""
LOOKED_AT = 16
"""Validation sequences, evenly spaced, used for selection."""
FIRST_LAGS = 4
"""Number of lags with which the spacing is selected."""

Law = Callable[[Tensor], Tensor]
"""From embeddings (n, k) to outputs (n, q), float64."""
Learnt = tuple["Delays", Law, int]
"""An embedding, the law fitted to it, and the number of values that it stores."""


@dataclass(frozen=True)
class Delays:
    """The past values in an embedding.

    Attributes:
        lags: Number of values, the present one included.
        spacing: Steps between two of them.
    """

    lags: int
    spacing: int

    def __str__(self) -> str:
        return f"{self.lags} lags {self.spacing} apart" if self.lags > 1 else "1 lag"

    @property
    def reach(self) -> int:
        """Steps back to the oldest value."""
        return (self.lags - 1) * self.spacing

    def at(self, step: int) -> Delays:
        """Return the lags available at a step: up to ``lags`` values, as far apart as possible."""
        lags = min(self.lags, step + 1)
        return self if step >= self.reach else Delays(lags, max(1, step // max(1, lags - 1)))

    def embedded(self, x: Tensor, first: int, last: int) -> Tensor:
        """Return (N, t, lags·p) float64: the embeddings of the steps ``first`` to ``last``, all with enough past."""
        parts = [x[:, first - k * self.spacing : last + 1 - k * self.spacing] for k in range(self.lags)]
        return torch.cat(parts, -1).double()


C = TypeVar("C")


@dataclass(frozen=True)
class DelayEmbedded(Predictor, Generic[C]):
    """A regression on a delay embedding, at each step of a task with targets at every step.

    Selected by the mean squared error on validation: first the spacing, with ``FIRST_LAGS`` values, then the number of
    values, then the law's own choices; each on the steps that have enough past for all candidates. A step nearer to the
    start has its own embedding, as far as its past goes; whether it is fitted to that step of the training sequences
    only or to all their steps is selected as well, for each such step.

    Attributes:
        lags: Candidate numbers of values.
        spacings: Candidate spacings; both are limited to embeddings of at most a quarter of a sequence.
    """

    lags: tuple[int, ...] = (1, 2, 3, 4, 6, 8)
    spacings: tuple[int, ...] = (1, 2, 4, 8, 12, 16)

    @abstractmethod
    def learn(self, x: Tensor, y: Tensor, candidates: Sequence[C]) -> list[tuple[Law, int]]:
        """Return a law from rows x (n, k) to y (n, q) for each candidate, and the number of values it stores."""

    @abstractmethod
    def candidates(self) -> Sequence[tuple[str, C]]:
        """Return the law's own candidates by name; the first is used while lags and spacing are selected."""

    @abstractmethod
    def fits(self, features: int) -> bool:
        """Return whether the law can use an embedding of this many features."""

    @property
    @abstractmethod
    def rows(self) -> tuple[int, int]:
        """Largest number of training rows of a law, during selection and for the final fit."""

    def fit(self, data: Data[Any]) -> Fitted:
        """Return the selected laws."""
        train: Sequences = data.training(SAMPLE)
        name, delays, candidate = self._choice(train, data.valid)
        [main] = _learn_laws(self, train, delays, [candidate], self.rows[1])
        laws, shared = {delays.reach: main}, {delays: main}
        every = [each for _, each in self.candidates()]
        for step in range(min(delays.reach, train.positions)):
            available = delays.at(step)
            of_step = _learn_laws(self, train, available, every, self.rows[1], step)
            if available not in shared:
                [shared[available]] = _learn_laws(self, train, available, [candidate], self.rows[0])
            laws[step] = min((*of_step, shared[available]), key=lambda law: _mean_error(law, data.valid, step, step))
        used = {id(law): law[2] for law in laws.values()}
        return Fitted(lambda split: _apply_laws(laws, split), sum(used.values()), f"{delays}, {name}")

    def _choice(self, train: Sequences, valid: Sequences) -> tuple[str, Delays, C]:
        """Return the selection for all steps but the first ones."""
        sample = valid.take(torch.arange(0, len(valid), max(1, len(valid) // LOOKED_AT)))
        longest, candidates = train.positions // 4, self.candidates()
        lags = [k for k in self.lags if k == 1 or (self.fits(k * train.inputs.shape[-1]) and k <= longest + 1)]
        embeddings = [Delays(k, s) for k in lags for s in self.spacings if Delays(k, s).reach <= longest]

        def errors(delays: Delays, some: Sequence[C], first: int) -> list[float]:
            learnt = _learn_laws(self, train, delays, some, self.rows[0])
            return [_mean_error(law, sample, first, sample.positions - 1) for law in learnt]

        def least(among: list[Delays]) -> Delays:
            first = max(each.reach for each in among)
            return min(among, key=lambda each: errors(each, [candidates[0][1]], first)[0])

        few = max(k for k in lags if k <= FIRST_LAGS)
        spacing = least([each for each in embeddings if each.lags == few]).spacing
        best = least([each for each in embeddings if each.spacing == spacing])
        candidate_errors = errors(best, [each for _, each in candidates], best.reach)
        name, candidate = candidates[candidate_errors.index(min(candidate_errors))]
        return name, best, candidate


def _learn_laws(
    by: DelayEmbedded[C], train: Sequences, delays: Delays, candidates: Sequence[C], limit: int, at: int | None = None
) -> list[Learnt]:
    """Return laws fitted to ``limit`` rows at most: of all steps with enough past, or of the step ``at`` only.

    If an output has a target where another one has none, each has a law of its own; without any target, it is the mean.
    """
    first, last = (delays.reach, train.positions - 1) if at is None else (at, at)
    x = delays.embedded(train.inputs, first, last).flatten(0, 1)
    y = train.targets[:, first : last + 1].double().flatten(0, 1)
    present = y.isfinite()
    if present.any() and torch.equal(present.any(-1), present.all(-1)):
        return [(delays, *law) for law in _learn_rows(by, x, y, candidates, limit)]
    means = train.targets.double().flatten(0, -2).nanmean(0).nan_to_num()
    of_outputs = [
        _learn_rows(by, x, each, candidates, limit)
        if each.isfinite().any()
        else [(_constant(mean), 1)] * len(candidates)
        for each, mean in zip(y.split(1, -1), means, strict=True)
    ]
    return [(delays, *_join_laws(laws)) for laws in zip(*of_outputs, strict=True)]


def _learn_rows(
    by: DelayEmbedded[C], x: Tensor, y: Tensor, candidates: Sequence[C], limit: int
) -> list[tuple[Law, int]]:
    """Return laws fitted to ``limit`` rows at most of those with a target."""
    present = y.isfinite().all(-1)
    x, y = x[present], y[present]
    step = max(1, -(-len(x) // limit))
    return by.learn(x[::step], y[::step], candidates)


def _constant(value: Tensor) -> Law:
    """Return the law that predicts a number."""
    return lambda x: value.expand(len(x), 1)


def _join_laws(laws: Sequence[tuple[Law, int]]) -> tuple[Law, int]:
    """Return the law of all outputs from those of each, and how many values they store."""
    return lambda x: torch.cat([law(x) for law, _ in laws], 1), sum(count for _, count in laws)


def _apply_law(learnt: Learnt, x: Tensor, first: int, last: int) -> Tensor:
    """Return a law's predictions at some steps of inputs (n, T, p), (n, t, q)."""
    delays, law, _ = learnt
    rows = delays.embedded(x, first, last)
    return law(rows.flatten(0, 1)).view(*rows.shape[:2], -1)


def _mean_error(learnt: Learnt, split: Sequences, first: int, last: int) -> float:
    """Return the mean squared error of a law at some steps; infinite if it is NaN."""
    targets = split.targets[:, first : last + 1].double()
    error = (_apply_law(learnt, split.inputs, first, last) - targets).square().nanmean().item()
    return error if error == error else float("inf")


def _apply_laws(laws: Mapping[int, Learnt], split: Sequences) -> Tensor:
    """Return the laws' predictions for a split: each at its step, the last one from its step on."""
    main = max(laws)
    outputs = torch.empty(split.targets.shape, dtype=torch.float64)
    for some, out in zip(split.inputs.split(CHUNK), outputs.split(CHUNK), strict=True):
        if main < split.positions:
            out[:, main:] = _apply_law(laws[main], some, main, split.positions - 1)
    for step in range(min(main, split.positions)):
        outputs[:, step : step + 1] = _apply_law(laws[step], split.inputs, step, step)
    return outputs.to(split.targets)
