"""Random steps: expressions of supported operations, drawn by hypothesis."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import torch
from hypothesis import strategies as st
from torch import Tensor, lerp, tanh
from torch.nn import functional as F

from longwave.models.base.algebra import affine
from longwave.models.kernels.compiler.trace import Recurrent


def stopped_gate(x: Tensor) -> Tensor:
    """Return a gate of ``x`` that has no gradient, computed partly under ``no_grad``."""
    with torch.no_grad():
        mean = x.mean(-1, keepdim=True)
        with torch.enable_grad():
            return torch.sigmoid(x - mean)


def gated(x: Tensor, y: Tensor) -> Tensor:
    """Return ``x`` times a gate of both, one half of which has no gradient."""
    wide = F.layer_norm(torch.cat([x, y], -1), (2 * x.shape[-1],), eps=0.3)
    with torch.set_grad_enabled(False):
        gate, _ = torch.sigmoid(wide).chunk(2, -1)
    return gate * x + wide.split(x.shape[-1], -1)[1]


UNARY: tuple[Callable[[Tensor], Tensor], ...] = (
    torch.sigmoid, tanh, torch.sin, torch.cos, torch.relu, torch.abs, torch.square, F.softplus, F.leaky_relu, F.gelu,
    F.silu, F.elu, F.hardtanh, torch.neg, lambda x: torch.exp(-x.abs()), lambda x: torch.log(2 + torch.sin(x)),
    lambda x: torch.sqrt(1.5 + torch.cos(x)), lambda x: 1 / (1 + x * x), lambda x: x.clamp(-0.7, 0.4),
    lambda x: x.mean(-1, keepdim=True) - x, lambda x: tanh(x) ** 3, lambda x: 1.0 - 0.3 * x,
    lambda x: x.sum(-1, keepdim=True) * 0.1 + x, lambda x: F.layer_norm(x, x.shape[-1:], eps=0.2),
    Tensor.detach, stopped_gate, lambda x: x + (torch.sign(x) - x).detach(), lambda x: (x > 0.1).to(x.dtype) - 0.5 * x,
    lambda x: x.clamp(0.4, -0.7), lambda x: x.clamp(0.3, 0.3) + x, lambda x: x.clamp_min(-0.2),
    lambda x: x.clamp(max=0.2),
    lambda x: F.softplus(x, 2.0, 0.5), lambda x: F.hardtanh(x, -0.3, 0.6), lambda x: F.elu(x, 0.5),
    lambda x: F.gelu(x, approximate="tanh"), lambda x: (1.5 + x * x) ** -2, lambda x: torch.rsqrt(1 + x * x),
    lambda x: torch.where(x.ne(0), x.le(0.3) * x, 1.0), lambda x: torch.ones_like(x) - 0.0 * x,
)  # fmt: skip
BINARY: tuple[Callable[[Tensor, Tensor], Tensor], ...] = (
    torch.add, torch.sub, torch.mul, torch.maximum, torch.minimum, lambda x, y: x / (2 + torch.sin(y)),
    lambda x, y: lerp(x, y, torch.sigmoid(x)), lambda x, y: torch.where(x > y, y, 0.5 * x),
    lambda x, y: torch.addcmul(x, y, y, value=0.2), lambda x, y: x.masked_fill(y < 0, 0.1),
    lambda x, y: sum(torch.cat([x, y], -1).chunk(2, -1)[::-1], 0.5 * x),
    gated, lambda x, y: torch.addcdiv(x, y, 2 + torch.cos(y), value=-0.5), lambda x, y: x.clamp(min=0.5 * y),
    lambda x, y: x.detach() * y, lambda x, y: torch.sqrt(0.1 + torch.maximum(x, y) ** 2), lambda x, y: lerp(x, y, 0.7),
    lambda x, y: torch.mul(*torch.tanh(torch.cat([x, y.detach()], -1)).split(x.shape[-1], -1)),
    lambda x, y: torch.where(x >= y.detach(), x - y, y.sign()),
)  # fmt: skip
Recipe = list[tuple[int, int, int]]


@dataclass(frozen=True)
class ToyWeights:
    """A drive of two gates, a matrix, a matrix of two blocks, vector and number."""

    V: Tensor
    b: Tensor
    A: Tensor
    C: Tensor
    v: Tensor
    c: Tensor


def multiplied(x: Tensor, y: Tensor, w: ToyWeights) -> Tensor:
    """Return a product without gradients by a matrix transposed under ``no_grad``, plus another product."""
    with torch.no_grad():
        turned, gate = w.A.mT, torch.sigmoid(affine(w.A, y))
    return torch.baddbmm(w.v * gate, x, turned)


WEIGHED: tuple[Callable[[Tensor, Tensor, ToyWeights], Tensor], ...] = (
    lambda x, y, w: affine(w.A, x),
    lambda x, y, w: affine(w.A, x, y),
    lambda x, y, w: torch.mul(*affine(w.C, x).chunk(2, -1)),
    lambda x, y, w: w.v * x + w.c,
    lambda x, y, w: w.c * x + affine(torch.sigmoid(w.c) * w.A, y),
    lambda x, y, w: affine(w.C.mT, torch.cat([x, y], -1)),
    lambda x, y, w: affine(w.A, x.detach(), y) + affine(w.A.detach(), y),
    lambda x, y, w: affine(w.C, x, torch.cat([y, x], -1)).tanh().split(x.shape[-1], -1)[0].detach() * y,
    lambda x, y, w: torch.exp(w.v.detach()) * x - torch.maximum(w.v, y) * w.c.detach(),
    multiplied,
)
COUNT = len(UNARY) + len(BINARY) + len(WEIGHED)
recipes: st.SearchStrategy[Recipe] = st.lists(
    st.tuples(st.integers(0, COUNT - 1), st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=9
)


def draw_recipes(seed: int, count: int) -> list[Recipe]:
    """Return recipes of up to twelve lines."""
    draw = random.Random(seed)
    lengths = [draw.randint(2, 12) for _ in range(count)]
    return [[(draw.randrange(COUNT), draw.randrange(31), draw.randrange(31)) for _ in range(n)] for n in lengths]


def toy(recipe: Recipe, d: int, p: int = 2) -> Recurrent:
    """Return the drive and the step of a recipe: each line computes another value from two existing ones."""

    def step(u: tuple[Tensor, ...], state: tuple[Tensor, ...], late: Tensor, w: ToyWeights) -> tuple[Tensor, ...]:
        pool, read = [*state, *u[0].chunk(2, -1), late], set[int]()
        for op, i, j in recipe:
            x, y = pool[i % len(pool)], pool[j % len(pool)]
            if op < len(UNARY):
                pool.append(UNARY[op](x))
            elif op < len(UNARY) + len(BINARY):
                pool.append(BINARY[op - len(UNARY)](x, y))
            else:
                pool.append(WEIGHED[op - len(UNARY) - len(BINARY)](x, y, w))
            read |= {i % (len(pool) - 1), j % (len(pool) - 1)} if op >= len(UNARY) else {i % (len(pool) - 1)}
        for k in range(5, len(pool) - 2):  # values that no other line reads are added to the first state
            if k not in read:
                pool[-1] = pool[-1] + 0.2 * pool[k]
        return tanh(pool[-1] + 0.1 * pool[2]), lerp(state[1], pool[-2], 0.3)

    return Recurrent(lambda x, w: (affine(w.V, x, w.b),), step, 2, d, p)


def weights(d: int, p: int = 2, members: int = 2, dtype: torch.dtype = torch.float64) -> ToyWeights:
    """Return weights of a toy step, drawn from seed 0."""
    draw = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return (0.5 * torch.randn(members, *shape, generator=draw, dtype=torch.float64)).float().to(dtype)

    return ToyWeights(
        normal(2 * d, p), normal(1, 2 * d), normal(d, d) / d**0.5, normal(2 * d, d), normal(1, d), normal(1, 1)
    )
