"""Constant predictors and persistence: the most frequent class, all frequencies, the mean, the present value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from longwave.tasks.base.batch import NO_TARGET, Batch
from longwave.tasks.base.data import Data
from longwave.tasks.base.predictor import Fitted, Predictor
from longwave.tasks.base.sequences import Sequences

SAMPLE = 2000
"""Training examples drawn from a stream."""


@dataclass(frozen=True)
class Majority(Predictor):
    """The most frequent class of the training split, as logits.

    Attributes:
        outputs: Number of classes, or 1 for two classes by the sign of one logit.
    """

    outputs: int

    def fit(self, data: Data[Any]) -> Fitted:
        """Return the class's logits at every position; it stores one number."""
        classes = data.training(SAMPLE).targets
        classes = classes[classes != NO_TARGET]
        if self.outputs == 1:
            logits = torch.tensor([1.0 if (classes == 1).sum() * 2 > len(classes) else -1.0])
        else:
            counts = torch.bincount(classes.flatten(), minlength=self.outputs)
            logits = torch.nn.functional.one_hot(counts.argmax(), self.outputs).float()
        return Fitted(lambda split: logits.expand(*split.targets.shape, self.outputs), 1)


def count_logs(classes: Tensor, outputs: int) -> Tensor:
    """Return the log of the number of each class, with add-one smoothing, (outputs,) float64: logits of frequencies."""
    return (torch.bincount(classes[classes != NO_TARGET], minlength=outputs) + 1).double().log()


@dataclass(frozen=True)
class Frequencies(Predictor):
    """The log of each class's frequency in the training split, with add-one smoothing, as logits.

    Attributes:
        outputs: Number of classes.
    """

    outputs: int

    def fit(self, data: Data[Any]) -> Fitted:
        """Return these logits at every position; it stores one number per class."""
        logits = count_logs(data.training(SAMPLE).targets, self.outputs)
        return Fitted(lambda split: logits.expand(*split.targets.shape, self.outputs), self.outputs)


@dataclass(frozen=True)
class Mean(Predictor):
    """The mean of the training targets."""

    def fit(self, data: Data[Any]) -> Fitted:
        """Return the mean of each output at every position."""
        targets = data.training(SAMPLE).targets
        mean: Tensor = targets.flatten(0, -2).nanmean(0)

        def outputs(split: Batch) -> Tensor:
            return mean.expand_as(split.targets)

        return Fitted(outputs, mean.numel())


@dataclass(frozen=True)
class Persistence(Predictor):
    """The present input as the prediction, if inputs and targets are the same quantities."""

    def fit(self, data: Data[Any]) -> Fitted:
        """Return the inputs; nothing is stored."""

        def outputs(split: Sequences) -> Tensor:
            return split.inputs.double()

        return Fitted(outputs, 0)


@dataclass(frozen=True)
class PersistentTargets(Predictor):
    """Persistence of the first channels, if those are the forecast targets.

    Attributes:
        outputs: Number of these channels.
    """

    outputs: int

    def fit(self, data: Data[Any]) -> Fitted:
        """Return these inputs; nothing is stored."""

        def outputs(split: Sequences) -> Tensor:
            return split.inputs[..., : self.outputs].double()

        return Fitted(outputs, 0)
