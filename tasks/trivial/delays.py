"""Laws of a few past values: a delay embedding, how a law is learnt at every step, and how both are chosen."""

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
"""Sequences whose embeddings are held at once."""
LOOKED_AT = 16
"""Validation sequences, evenly drawn, that a choice is made on."""
FIRST_LAGS = 4
"""Values of the past at which the first spacing is chosen."""

Law = Callable[[Tensor], Tensor]
"""From embeddings (n, k) to outputs (n, q), float64."""
Learnt = tuple["Delays", Law, int]
"""An embedding, the law learnt on it, and how many numbers that keeps."""


@dataclass(frozen=True)
class Delays:
    """Which past values an embedding has.

    Attributes:
        lags: Values, the present one included.
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
        """Return those of a step: as many values as it has, up to ``lags``, as far apart as they can be."""
        lags = min(self.lags, step + 1)
        return self if step >= self.reach else Delays(lags, max(1, step // max(1, lags - 1)))

    def embedded(self, x: Tensor, first: int, last: int) -> Tensor:
        """Return (N, t, lags·p) float64: the embeddings of the steps ``first`` to ``last``; none may be too early."""
        parts = [x[:, first - k * self.spacing : last + 1 - k * self.spacing] for k in range(self.lags)]
        return torch.cat(parts, -1).double()


C = TypeVar("C")


@dataclass(frozen=True)
class DelayEmbedded(Predictor, Generic[C]):
    """A law learnt on a delay embedding, at each step of a task that asks at every step.

    Chosen by the mean squared error on validation: first the spacing, at ``FIRST_LAGS`` values, then how many values,
    then what else the law has to choose; each on the steps that have the past of all that are compared. A step nearer
    to the start has an embedding of its own, as far as its past goes; whether it learns from that step of the training
    sequences alone or from all their steps is chosen as well, for each such step.

    Attributes:
        lags: How many values to choose from.
        spacings: Which spacings; both as far as the past reaches back no more than a quarter of a sequence.
    """

    lags: tuple[int, ...] = (1, 2, 3, 4, 6, 8)
    spacings: tuple[int, ...] = (1, 2, 4, 8, 12, 16)

    @abstractmethod
    def learn(self, x: Tensor, y: Tensor, rests: Sequence[C]) -> list[tuple[Law, int]]:
        """Return for each of ``rests`` a law from rows x (n, k) to y (n, q), and how many numbers it keeps."""

    @abstractmethod
    def rests(self) -> Sequence[tuple[str, C]]:
        """Return what else there is to choose, each with its name; the first is what the rest is chosen with."""

    @abstractmethod
    def fits(self, features: int) -> bool:
        """Return whether an embedding of so many features can be learnt from."""

    @property
    @abstractmethod
    def rows(self) -> tuple[int, int]:
        """Most training rows of a law while it is chosen, and in the end."""

    def fit(self, data: Data[Any]) -> Fitted:
        """Return the chosen laws."""
        train: Sequences = data.training(SAMPLE)
        name, delays, rest = self._choice(train, data.valid)
        [main] = _learn_laws(self, train, delays, [rest], self.rows[1])
        laws, shared = {delays.reach: main}, {delays: main}
        every = [each for _, each in self.rests()]
        for step in range(min(delays.reach, train.positions)):
            here = delays.at(step)
            own = _learn_laws(self, train, here, every, self.rows[1], step)
            if here not in shared:
                [shared[here]] = _learn_laws(self, train, here, [rest], self.rows[0])
            laws[step] = min((*own, shared[here]), key=lambda law: _mean_error(law, data.valid, step, step))
        used = {id(law): law[2] for law in laws.values()}
        return Fitted(lambda split: _apply_laws(laws, split), sum(used.values()), f"{delays}, {name}")

    def _choice(self, train: Sequences, valid: Sequences) -> tuple[str, Delays, C]:
        """Return what is chosen for all steps but the first."""
        shown = valid.take(torch.arange(0, len(valid), max(1, len(valid) // LOOKED_AT)))
        longest, rests = train.positions // 4, self.rests()
        lags = [k for k in self.lags if k == 1 or (self.fits(k * train.inputs.shape[-1]) and k <= longest + 1)]
        tried = [Delays(k, s) for k in lags for s in self.spacings if Delays(k, s).reach <= longest]

        def errors(delays: Delays, some: Sequence[C], first: int) -> list[float]:
            learnt = _learn_laws(self, train, delays, some, self.rows[0])
            return [_mean_error(law, shown, first, shown.positions - 1) for law in learnt]

        def least(among: list[Delays]) -> Delays:
            first = max(each.reach for each in among)
            return min(among, key=lambda each: errors(each, [rests[0][1]], first)[0])

        few = max(k for k in lags if k <= FIRST_LAGS)
        spacing = least([each for each in tried if each.lags == few]).spacing
        best = least([each for each in tried if each.spacing == spacing])
        tried_errors = errors(best, [each for _, each in rests], best.reach)
        name, rest = rests[tried_errors.index(min(tried_errors))]
        return name, best, rest


def _learn_laws(
    by: DelayEmbedded[C], train: Sequences, delays: Delays, rests: Sequence[C], limit: int, at: int | None = None
) -> list[Learnt]:
    """Return laws learnt from ``limit`` rows at most: of all steps that have the past, or of the step ``at`` alone."""
    first, last = (delays.reach, train.positions - 1) if at is None else (at, at)
    x = delays.embedded(train.inputs, first, last).flatten(0, 1)
    y = train.targets[:, first : last + 1].double().flatten(0, 1)
    finite = y.isfinite().all(-1)
    x, y = x[finite], y[finite]
    step = max(1, -(-len(x) // limit))
    return [(delays, *law) for law in by.learn(x[::step], y[::step], rests)]


def _apply_law(learnt: Learnt, x: Tensor, first: int, last: int) -> Tensor:
    """Return what a law says at some steps of inputs (n, T, p), (n, t, q)."""
    delays, law, _ = learnt
    rows = delays.embedded(x, first, last)
    return law(rows.flatten(0, 1)).view(*rows.shape[:2], -1)


def _mean_error(learnt: Learnt, split: Sequences, first: int, last: int) -> float:
    """Return the mean squared error of a law at some steps; infinite where it is no number."""
    wanted = split.targets[:, first : last + 1].double()
    error = (_apply_law(learnt, split.inputs, first, last) - wanted).square().nanmean().item()
    return error if error == error else float("inf")


def _apply_laws(laws: Mapping[int, Learnt], split: Sequences) -> Tensor:
    """Return what the laws say of a split: each at its step, that of the greatest from there on."""
    main = max(laws)
    outputs = torch.empty(split.targets.shape, dtype=torch.float64)
    for some, out in zip(split.inputs.split(CHUNK), outputs.split(CHUNK), strict=True):
        if main < split.positions:
            out[:, main:] = _apply_law(laws[main], some, main, split.positions - 1)
    for step in range(min(main, split.positions)):
        outputs[:, step : step + 1] = _apply_law(laws[step], split.inputs, step, step)
    return outputs.to(split.targets)
