"""The way from a layer to the fused loop of its cell, where there is one and it can run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic

from torch import Tensor

from longwave.models import kernels
from longwave.models.base.layer import State
from longwave.models.base.sequence import SequenceLayer
from longwave.models.base.weights import W


class Fusable(SequenceLayer[W], Generic[W]):
    """A sequence layer that a fused loop may compute. Subclasses that have one give ``cell`` and ``operands``."""

    @property
    def cell(self) -> str | None:
        """The cell of ``kernels.cells`` whose fused loop computes the layer, None where there is none."""
        return None

    def operands(self, w: W) -> kernels.Operands:
        """Return what the fused loop of ``cell`` needs."""
        raise NotImplementedError

    def why(self) -> kernels.Route:
        """Return which way the time loop takes where the weights are, and why."""
        weight = next(self.parameters())
        return kernels.choose(self.cell, self.hidden_size, weight.device, weight.dtype)

    def through(
        self, x: Tensor, state: State, w: W, reference: Callable[[], tuple[Tensor, State]]
    ) -> tuple[Tensor, State]:
        """Return what ``reference`` defines, by the fused loop of the cell where it can run."""
        path = self.why().path
        if path == "reference" or self.cell is None:
            return reference()
        return kernels.advance(path, self.cell, self.operands(w), x, state)
