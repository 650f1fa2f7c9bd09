"""Sizes of one call of a loop over matrix states, and its tensors by role."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from longwave.models.kernels.matrix.form import shape_of
from longwave.models.kernels.matrix.plan import MatrixPlan

SHORTEST = 16
"""Smallest number of steps of a chunk: its start and end cost as much as some steps."""


@dataclass(frozen=True)
class CallSizes:
    """Sizes of one call: members, steps, sequences, heads, rows and columns."""

    M: int
    T: int
    B: int
    H: int
    I: int  # noqa: E741
    J: int

    @property
    def chunk(self) -> int:
        """Steps of a chunk: about √T, so that there are as many chunks as steps in one."""
        return min(self.T, max(SHORTEST, math.isqrt(self.T)))

    @property
    def chunks(self) -> int:
        """Chunks of a sequence; the last one may be shorter."""
        return -(-self.T // self.chunk)

    @property
    def lead(self) -> tuple[int, ...]:
        """Leading sizes of all drives and the output."""
        return self.M, self.T, self.B, self.H

    @property
    def tasks(self) -> int:
        """Heads of all sequences."""
        return self.M * self.B * self.H

    def shape(self, axes: str) -> tuple[int, ...]:
        """Return the sizes of axes."""
        return shape_of(axes, self.I, self.J)


def divided(plan: MatrixPlan, tensors: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """Return drives, states and constants."""
    first, second = len(plan.drives), len(plan.drives) + len(plan.states)
    return [*tensors[:first]], [*tensors[first:second]], [*tensors[second:]]


def sizes_of(plan: MatrixPlan, drives: list[Tensor], states: list[Tensor], constants: list[Tensor]) -> CallSizes:
    """Return the sizes of a call, and check that all tensors have them."""
    M, T, B, H = drives[0].shape[:4]
    by_axis: dict[str, int] = {}
    for axes, t in zip((*plan.drives, *plan.states, *plan.constants), (*drives, *states, *constants), strict=True):
        by_axis |= dict(zip(axes, t.shape[t.ndim - len(axes) :], strict=True))
    sizes = CallSizes(M, T, B, H, by_axis.get("i", 1), by_axis.get("j", 1))
    for lead, kinds, tensors in (
        (sizes.lead, plan.drives, drives),
        ((M, B, H), plan.states, states),
        ((M, 1, H), plan.constants, constants),
    ):
        for axes, t in zip(kinds, tensors, strict=True):
            if t.shape != (*lead, *sizes.shape(axes)):
                raise ValueError(f"a tensor of the loop must be {(*lead, *sizes.shape(axes))}, got {tuple(t.shape)}")
    return sizes
