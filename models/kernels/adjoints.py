"""Limits of the backward pass of a fused loop: one gradient at a time, and no second derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from longwave.models.kernels.cells import BATCHED, ONCE


def check_adjoints(adjoints: Sequence[Tensor | None]) -> None:
    """Raise RuntimeError if the adjoints of a fused loop are many at once."""
    functorch = torch._C._functorch
    if any(g is not None and (functorch.is_batchedtensor(g) or functorch.is_legacy_batchedtensor(g)) for g in adjoints):
        raise RuntimeError(BATCHED)


def refuse_second_derivatives(
    gradients: Sequence[Tensor | None], inputs: Sequence[Tensor], adjoints: Sequence[Tensor | None]
) -> list[Tensor | None]:
    """Return the gradients of a fused loop, whose derivatives by ``inputs`` or ``adjoints`` raise an error."""
    given = [g for g in gradients if g is not None]
    marked = iter(_Once.apply(len(given), *given, *inputs, *(g for g in adjoints if g is not None)))
    return [g if g is None else next(marked) for g in gradients]


class _Once(torch.autograd.Function):
    """Gradients without second derivatives."""

    @staticmethod
    def forward(ctx: Any, count: int, *gradients: Tensor) -> Any:
        return tuple(g.view_as(g) for g in gradients[:count])

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        raise RuntimeError(ONCE)
