"""Batches: examples and their targets, from the task through pack and network to the loss.

Training and scoring use batches only through the methods here. A kind of batch is a frozen dataclass of
tensors; a task with another kind of example declares its own, in its file.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from typing import Any, ClassVar, Self, cast

import torch
from torch import Tensor

NO_TARGET = -100
"""Class at a position without a target; values are NaN there."""
Answer = tuple[Tensor, tuple[Tensor, ...]]
"""Outputs in the order of ``ordered_targets``, and the state carried to the next call, which may be empty."""
Answerer = Callable[[Any, Sequence[Tensor] | None], Answer]
"""A network: from a batch and a state, zeros by default, to its answer."""


class Batch(ABC):
    """Examples and their targets. Subclasses are frozen dataclasses with a field ``targets``.

    The first axis of every tensor counts examples; other fields apply to all of them. A batch that ``take``,
    ``stacked`` or ``shared`` made for a pack has the members axis M in front; a whole split has none.

    The targets are classes, an integer type, of the shape of the outputs without their last axis; or float values of
    the outputs' shape. Positions without a target, such as padded nodes or steps, have ``NO_TARGET`` or NaN.
    """

    INPUTS: ClassVar[tuple[str, ...]] = ("inputs",)
    """Fields with the features that a layer reads; tokens, an integer type, are embedded for it."""
    CARRIED: ClassVar[bool] = False
    """Whether each batch continues the previous one, so that a layer's state is carried over."""

    targets: Tensor

    def __len__(self) -> int:
        """Return the number of examples of a whole split."""
        return len(self.targets)

    @property
    @abstractmethod
    def positions(self) -> int:
        """Positions of one example at which a layer keeps a state: steps of a sequence, nodes of a graph."""

    @property
    def read_positions(self) -> int:
        """Positions of one example that are read out, in a whole split."""
        rows = self.targets[..., 0] if self.targets.is_floating_point() else self.targets
        return rows[0].numel()

    @property
    def ordered_targets(self) -> Tensor:
        """The targets, in the order of the outputs."""
        return self.targets

    def order_outputs(self, outputs: Tensor) -> Tensor:
        """Return outputs of a whole split, (N, positions, q) or (N, q), reordered as ``ordered_targets``."""
        return outputs

    @property
    def rule(self) -> str:
        """Fields that are not tensors but affect results; part of the data's version. Empty by default."""
        return ""

    def numbers(self, outputs: int) -> int:
        """Return about how many numbers training stores per example of a whole split, besides a layer's states."""
        inputs: int = sum(getattr(self, name)[0].numel() for name in self.INPUTS)
        return inputs + self._read_out(outputs)

    def content(self) -> Iterator[str | Tensor]:
        """Yield the inputs and targets, in a fixed order, for the data's version."""
        yield from self._tensors().values()

    def identifying_fields(self) -> tuple[Tensor, ...]:
        """Return the fields that distinguish examples, apart from targets: ``INPUTS`` by default."""
        return tuple(getattr(self, name) for name in self.INPUTS)

    def take(self, index: Tensor) -> Self:
        """Return the examples ``index``, (...), as a network takes them: each tensor is then (..., ·)."""
        return self._with(**{name: tensor[index] for name, tensor in self._tensors().items()})

    @classmethod
    def stacked(cls, batches: Sequence[Self]) -> Self:
        """Return batches of one shape, one per member, as one with a leading members axis."""
        names = batches[0]._tensors()
        return batches[0]._with(**{name: torch.stack([getattr(b, name) for b in batches]) for name in names})

    def shared(self, members: int) -> Self:
        """Return the batch for ``members`` that all see the same examples, without a copy."""
        return self._with(**{name: t.expand(members, *t.shape) for name, t in self._tensors().items()})

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> Self:
        """Return the batch on ``device``, its floats in ``dtype``, without copies where not needed."""

        def moved(tensor: Tensor) -> Tensor:
            return tensor.to(device, dtype) if tensor.is_floating_point() else tensor.to(device)

        return self._with(**{name: moved(tensor) for name, tensor in self._tensors().items()})

    def map_inputs(self, change: Callable[[Tensor], Tensor]) -> Self:
        """Return the batch with ``change`` applied to each of its ``INPUTS``: tokens or features become features."""
        return self._with(**{name: change(getattr(self, name)) for name in self.INPUTS})

    def answers(self, run: Answerer, state: Sequence[Tensor] | None = None) -> Answer:
        """Return the outputs at all targets, in the order of ``ordered_targets``, and the last state.

        Training and scoring run a network only through this.

        Args:
            run: The network.
            state: The network's initial state; zeros by default.
        """
        return run(self, state)

    def pieces(self, size: int) -> Iterator[Self]:
        """Yield a whole split in order, ``size`` examples at a time, without a members axis."""
        for index in torch.arange(len(self), device=self.targets.device).split(size):
            yield self.take(index)

    def batches(self, size: int) -> int:
        """Return the number of batches of ``size`` examples in a pass over a whole split."""
        return -(-len(self) // size)

    def epoch(self, orders: Tensor, size: int, skip: int = 0) -> Iterator[Self]:
        """Yield the batches of an epoch for a pack, from batch ``skip`` on.

        Args:
            orders: (M, N): each member's order of the examples.
            size: Examples per batch; the last may have fewer.
            skip: Number of batches to skip.
        """
        for index in orders.to(self.targets.device).split(size, 1)[skip:]:
            yield self.take(index)

    def _with(self, **changes: Any) -> Self:
        """Return the batch with other fields, without checks: they are derived from checked ones."""
        other = copy.copy(self)
        for name, value in changes.items():
            object.__setattr__(other, name, value)
        return other

    def _read_out(self, outputs: int) -> int:
        return 4 * outputs * self.read_positions  # outputs, their gradient, and buffers of a softmax

    def _tensors(self) -> dict[str, Tensor]:
        values = {f.name: getattr(self, f.name) for f in fields(cast("Any", self))}
        return {name: value for name, value in values.items() if isinstance(value, Tensor)}
