"""A task with its data, as the rules for tasks need it."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from longwave.platform.contracts.rule import NotMeant
from longwave.tasks.base.data import Data
from longwave.tasks.base.sequences import Sequences
from longwave.tasks.base.spec import TaskSpec

FEW, SAMPLE, MANY = 8, 500, 2000
"""Examples of a stream that are checked in detail, compared with other splits, and expected to show all classes."""


class LoadedTask:
    """A task and the data of its default variant, loaded once.

    Args:
        spec: The task.
        data: Its data, if already loaded.
    """

    def __init__(self, spec: TaskSpec, data: Data[Any] | None = None) -> None:
        self.spec, self._data = spec, data

    @cached_property
    def data(self) -> Data[Any]:
        """Its data."""
        return self._data or self.spec.load(self.spec.variant)

    @cached_property
    def splits(self) -> dict[str, Sequences]:
        """Its splits by name; for a stream, a few examples.

        Raises:
            NotMeant: They are not sequences.
        """
        data = self.data
        parts = {"train": data.training(SAMPLE), "valid": data.valid, "test": data.test}
        if not all(isinstance(split, Sequences) for split in parts.values()):
            raise NotMeant(f"it feeds {type(data.valid).__name__}, and this is checked of sequences")
        return parts

    @property
    def targets(self) -> Tensor:
        """Targets of the first test examples; for a text, of its first steps."""
        targets = self.splits["test"].targets
        return targets[:FEW] if len(targets) > 1 else targets[:, :200]

    def outputs(self, seed: int) -> Tensor:
        """Return random outputs for ``targets``, of the shape of a network's outputs."""
        shape = self.targets.shape if self.targets.is_floating_point() else (*self.targets.shape, self.spec.outputs)
        return torch.randn(shape, generator=torch.Generator().manual_seed(seed))

    def perfect(self) -> Tensor:
        """Return the outputs that predict ``targets`` perfectly."""
        if self.targets.is_floating_point():
            return self.targets.nan_to_num().float()
        if self.spec.outputs == 1:
            return (200.0 * (self.targets == 1) - 100).unsqueeze(-1)
        return 100.0 * functional.one_hot(self.targets.clamp_min(0), self.spec.outputs)
