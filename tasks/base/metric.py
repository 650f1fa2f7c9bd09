"""How predictions are scored: metrics add up over parts of a split; further ones accompany the headline metric."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

from longwave.tasks.base.batch import Batch

PIECE = 1024
"""Examples, or positions of them, scored at a time."""


@dataclass(frozen=True)
class Metric:
    """How predictions are scored: ``finish`` of a ratio of two sums, which add up over parts of a split.

    Attributes:
        name: As in the published tables: ``"accuracy"``, ``"l2_error"``, ``"mse"``.
        unit: ``"%"``, or ``"1"`` for the unit of the target.
        goal: Whether larger (``"max"``) or smaller (``"min"``) is better. A minimised metric is an error, 0 at best;
            a perplexity is 1 at best. A perplexity is known by that name.
        definition: The exact formula in words.
        sums: ``sums(outputs, targets)``: numerator and denominator, (M,) each, for outputs (M, ..., q).
        finish: From the ratio to the metric.
        whole: Whether ``sums`` takes the batch in place of its targets, as metrics that need the edges of a graph do.
    """

    name: str
    unit: str
    goal: Literal["max", "min"]
    definition: str
    sums: Callable[[Tensor, Any], tuple[Tensor, Tensor]]
    finish: Callable[[Tensor], Tensor] = field(default=lambda ratio: ratio)
    whole: bool = False

    def of(self, outputs: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return numerator and denominator, (M,) each, of outputs in the order of ``batch``'s targets."""
        return self.sums(outputs, batch if self.whole else batch.ordered_targets)

    def score(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the metric, (M,), of outputs (M, ..., q), summed in parts: a text has many outputs per step."""
        pieces = zip(
            outputs.split(PIECE, -2), targets.split(PIECE, -2 if targets.is_floating_point() else -1), strict=True
        )
        sums = [torch.stack(self.sums(some_outputs, some_targets)) for some_outputs, some_targets in pieces]
        total, count = torch.stack(sums).sum(0)
        return self.finish(total / count)

    def floor(self, targets: Tensor) -> float:
        """Return the resolution of a split: half an example of an accuracy in %, 0 for any other metric."""
        if self.unit != "%":
            return 0.0
        _, count = self.sums(torch.zeros(1, *targets.shape, 1), targets)
        return 50.0 / count.item()


@dataclass(frozen=True)
class Further:
    """A metric measured besides the headline one, on the test split.

    Attributes:
        metric: Its sums take outputs and targets in the order of ``Batch.ordered_targets``: for sequences time-major,
            (M, T, B, q) and (T, B, q).
        x_name, x: Its position on an axis, if it has one: ``("steps ahead", 50.0)``.
    """

    metric: Metric
    x_name: str = ""
    x: float = 0.0

    def score(self, outputs: Tensor, split: Batch) -> float:
        """Return the metric of outputs (N, positions, q) of a split."""
        total, count = self.metric.of(split.order_outputs(outputs).unsqueeze(0), split)
        return self.metric.finish(total / count).item()

    @property
    def label(self) -> str:
        """Name and position: ``free_rmse, steps ahead 50``."""
        return f"{self.metric.name}, {self.x_name} {self.x:g}" if self.x_name else self.metric.name
