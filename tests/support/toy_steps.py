"""Random steps: expressions of what the compiler knows, drawn by hypothesis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from hypothesis import strategies as st
from torch import Tensor, lerp, tanh
from torch.nn import functional as F

from longwave.models.base.algebra import affine
from longwave.models.kernels.compiler.trace import Recurrent

UNARY: tuple[Callable[[Tensor], Tensor], ...] = (
    torch.sigmoid, tanh, torch.sin, torch.cos, torch.relu, torch.abs, torch.square, F.softplus, F.leaky_relu, F.gelu,
    F.silu, F.elu, F.hardtanh, torch.neg, lambda x: torch.exp(-x.abs()), lambda x: torch.log(2 + torch.sin(x)),
    lambda x: torch.sqrt(1.5 + torch.cos(x)), lambda x: 1 / (1 + x * x), lambda x: x.clamp(-0.7, 0.4),
    lambda x: x.mean(-1, keepdim=True) - x, lambda x: tanh(x) ** 3, lambda x: 1.0 - 0.3 * x,
    lambda x: x.sum(-1, keepdim=True) * 0.1 + x, lambda x: F.layer_norm(x, x.shape[-1:], eps=0.2),
)  # fmt: skip
BINARY: tuple[Callable[[Tensor, Tensor], Tensor], ...] = (
    torch.add, torch.sub, torch.mul, torch.maximum, torch.minimum, lambda x, y: x / (2 + torch.sin(y)),
    lambda x, y: lerp(x, y, torch.sigmoid(x)), lambda x, y: torch.where(x > y, y, 0.5 * x),
    lambda x, y: torch.addcmul(x, y, y, value=0.2), lambda x, y: x.masked_fill(y < 0, 0.1),
    lambda x, y: sum(torch.cat([x, y], -1).chunk(2, -1)[::-1], 0.5 * x),
)  # fmt: skip
Recipe = list[tuple[int, int, int]]
COUNT = len(UNARY) + len(BINARY) + 5


@dataclass(frozen=True)
class ToyWeights:
    """A drive of two gates, a matrix, a matrix of two blocks, vector and number."""

    V: Tensor
    b: Tensor
    A: Tensor
    C: Tensor
    v: Tensor
    c: Tensor


recipes: st.SearchStrategy[Recipe] = st.lists(
    st.tuples(st.integers(0, COUNT - 1), st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=9
)


def toy(recipe: Recipe, d: int, p: int = 2) -> Recurrent:
    """Return the drive and the step of a recipe: each line makes one more value of two that are there."""

    def step(u: tuple[Tensor, ...], state: tuple[Tensor, ...], late: Tensor, w: ToyWeights) -> tuple[Tensor, ...]:
        pool = [*state, *u[0].chunk(2, -1), late]
        for op, i, j in recipe:
            x, y = pool[i % len(pool)], pool[j % len(pool)]
            if op < len(UNARY):
                pool.append(UNARY[op](x))
            elif op < len(UNARY) + len(BINARY):
                pool.append(BINARY[op - len(UNARY)](x, y))
            else:
                pool.append(_weighed(op - len(UNARY) - len(BINARY), x, y, w))
        return tanh(pool[-1] + 0.1 * pool[2]), lerp(state[1], pool[-2], 0.3)

    return Recurrent(lambda x, w: (affine(w.V, x, w.b),), step, 2, d, p)


def _weighed(op: int, x: Tensor, y: Tensor, w: ToyWeights) -> Tensor:
    if op == 0:
        return affine(w.A, x)
    if op == 1:
        return affine(w.A, x, y)
    if op == 2:
        return torch.mul(*affine(w.C, x).chunk(2, -1))
    return w.v * x + w.c if op == 3 else w.c * x + affine(torch.sigmoid(w.c) * w.A, y)


def weights(d: int, p: int = 2, members: int = 2, dtype: torch.dtype = torch.float64) -> ToyWeights:
    """Return weights of a toy step, drawn from seed 0."""
    draw = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return (0.5 * torch.randn(members, *shape, generator=draw, dtype=torch.float64)).float().to(dtype)

    return ToyWeights(
        normal(2 * d, p), normal(1, 2 * d), normal(d, d) / d**0.5, normal(2 * d, d), normal(1, d), normal(1, 1)
    )
