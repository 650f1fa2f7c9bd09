"""Kernel ridge for data sets so small that all pairs fit into memory."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import torch
from torch import Tensor

from longwave.tasks.base.data import Data
from longwave.tasks.base.predictor import Fitted, Predictor
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.trivial.constant import SAMPLE
from longwave.tasks.trivial.whole import flat_rows, logits, most_right

WIDTHS, PENALTIES = (0.25, 1.0, 4.0), (1e-4, 1e-2, 1.0)
"""Candidate inverse squared widths, relative to the inverse mean squared distance of examples; ridge penalties."""


@dataclass(frozen=True)
class KernelRidge(Predictor):
    """Ridge regression of ±1 on the classes, with a Gaussian kernel of whole sequences.

    Attributes:
        outputs: Logits: one per class, or 1 for two classes.
    """

    outputs: int

    def fit(self, data: Data[Any]) -> Fitted:
        """Return the fit with the width and penalty of the best validation accuracy."""
        from sklearn.kernel_ridge import KernelRidge as Ridge  # type: ignore[import-untyped]

        train: Sequences = data.training(SAMPLE)
        x, targets = flat_rows(train).double(), 2.0 * logits(train.targets, self.outputs) - 1.0
        if self.outputs == 1:
            targets = logits(train.targets, 1)
        unit = 1.0 / (2.0 * x.var(0, correction=0).sum().item())

        def fitted(choice: tuple[float, float]) -> Ridge:
            width, penalty = choice
            return Ridge(kernel="rbf", gamma=width * unit, alpha=penalty).fit(x.numpy(), targets.numpy())

        def outputs(ridge: Ridge, split: Sequences) -> Tensor:
            return torch.from_numpy(ridge.predict(flat_rows(split).double().numpy())).view(len(split), self.outputs)

        tried = {choice: fitted(choice) for choice in product(WIDTHS, PENALTIES)}
        best = most_right(tried, lambda choice: outputs(tried[choice], data.valid), data.valid.targets)
        numbers = x.numel() + targets.numel()
        return Fitted(lambda split: outputs(tried[best], split), numbers, f"width {best[0]:g}, penalty {best[1]:g}")
