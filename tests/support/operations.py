"""Every operation that a step may use, with each of its arguments, and those that the compiler refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, nan

import torch
from torch import Tensor
from torch.nn import functional as F

Call = Callable[..., Tensor]
"""A function of one, two or three rows, and of the weights."""


@dataclass(frozen=True)
class OperationWeights:
    """V of the drive, a matrix, a vector and a number."""

    V: Tensor
    A: Tensor
    v: Tensor
    c: Tensor


def _unary(name: str) -> Call:
    function: Callable[[Tensor], Tensor] = getattr(torch, name)
    return lambda x, w: function(x)


def _compared(name: str) -> list[Call]:
    function: Callable[..., Tensor] = getattr(torch, name)
    return [lambda x, y, w: function(x, y) * y, lambda x, w: function(x, 0.5) * 1.5, lambda x, w: function(x, w.v) * x]


UNARY = (
    "sigmoid", "tanh", "exp", "log", "sin", "cos", "sqrt", "relu", "abs", "erf", "neg", "sign", "sgn", "rsqrt",
)  # fmt: skip
COMPARED = ("gt", "ge", "eq", "lt", "le", "ne")
ACCEPTED: Mapping[str, Sequence[Call]] = {
    **{name: [_unary(name)] for name in UNARY},
    **{name: _compared(name) for name in COMPARED},
    "silu": [lambda x, w: F.silu(x)],
    "maximum": [lambda x, y, w: torch.maximum(x, y), lambda x, y, w: torch.sqrt(torch.maximum(x, y))],
    "minimum": [lambda x, y, w: torch.minimum(x, y), lambda x, w: torch.minimum(x, w.v)],
    "add": [lambda x, y, w: x + y, lambda x, w: 1.5 + x, lambda x, y, w: torch.add(x, y, alpha=0.3)]
    + [lambda x, w: torch.ops.aten.add.Scalar(x, 0.3, 2)],
    "sub": [lambda x, y, w: x - y, lambda x, w: x - 0.0, lambda x, y, w: torch.sub(x, y, alpha=-2)]
    + [lambda x, w: torch.ops.aten.sub.Scalar(x, 0.3, 2)],
    "rsub": [lambda x, w: 1 / (0.0 - x), lambda x, y, w: torch.rsub(x, y, alpha=3), lambda x, w: torch.rsub(x, 2, 0.5)],
    "mul": [lambda x, y, w: x * y, lambda x, w: 0.0 * x, lambda x, w: w.v * x * w.c, lambda x, y, w: (x > 0) * y]
    + [lambda x, w: torch.ops.aten.mul.Scalar(x, -0.3), lambda x, w: x * (w.c * float("nan"))]
    + [lambda x, w: x / (w.c * 0.0) + 2.0 * x / (w.c * -0.0)],
    "div": [lambda x, y, w: x / y, lambda x, w: x / w.c, lambda x, w: torch.ops.aten.div.Scalar(x, -0.3)],
    "reciprocal": [lambda x, w: 2 / x],
    "lerp": [lambda x, y, z, w: torch.lerp(x, y, z), lambda x, y, w: torch.lerp(x, y, w.v)]
    + [lambda x, y, w, t=t: torch.lerp(x, y, t) for t in (-0.7, 0.3, 0.5, 1.0)],
    "addcmul": [lambda x, y, z, w, v=v: torch.addcmul(x, y, z, value=v) for v in (1, -0.3, 0)],
    "addcdiv": [lambda x, y, z, w, v=v: torch.addcdiv(x, y, z, value=v) for v in (1, -2.5)],
    "where": [
        lambda x, y, z, w: torch.where(x > y, y, z),
        lambda x, y, w: torch.where(x >= y, 1.5, y),
        lambda x, w: torch.where(x > 0, torch.sqrt(x), 0.0),
        lambda x, w: torch.where(w.v > 0, x, w.c),
    ],
    "masked_fill": [lambda x, y, w, v=v: x.masked_fill(y <= 0, v) for v in (0.3, -inf)]
    + [lambda x, w: x.masked_fill(x != x, w.c[0, 0, 0])],
    "clamp": [
        lambda x, w, low=low, high=high: x.clamp(low, high)
        for low, high in (
            *((-0.5, 0.5), (0.5, 0.5), (0.5, -0.5), (None, 0.5), (0.5, None), (nan, 1.0), (-1.0, nan), (-inf, inf)),
        )
    ]
    + [lambda x, y, w: x.clamp(min=y), lambda x, y, w: x.clamp(max=y), lambda x, w: x.clamp(min=w.v)],
    "clamp_min": [lambda x, w: x.clamp_min(0.5), lambda x, y, w: torch.clamp_min(x, y)],
    "clamp_max": [lambda x, w: x.clamp_max(0.5), lambda x, y, w: torch.clamp_max(x, y)],
    "hardtanh": [
        lambda x, w: F.hardtanh(x),
        lambda x, w: F.hardtanh(x, -0.5, 1.0),
        lambda x, w: F.hardtanh(x, 0.5, 0.5),
        lambda x, w: F.relu6(x),
    ],
    "leaky_relu": [lambda x, w: F.leaky_relu(x), lambda x, w: F.leaky_relu(x, -0.5)],
    "elu": [lambda x, w: F.elu(x), lambda x, w: F.elu(x, 0.7), lambda x, w: F.selu(x)]
    + [lambda x, w, k=k: torch.ops.aten.elu(x, 0.6, 1.1, k) for k in (0.4, -0.4)],
    "softplus": [lambda x, w: F.softplus(x)]
    + [lambda x, w, b=b, t=t: F.softplus(x, b, t) for b, t in ((2.0, 20.0), (2.0, 1.0), (0.5, -1.0), (-2.0, 1.0))],
    "gelu": [lambda x, w: F.gelu(x), lambda x, w: F.gelu(x, approximate="tanh")],
    "pow": [lambda x, w, n=n: x**n for n in (-8, -3, -2, -1, 0, 0.5, 1, 2, 3, 4, 8.0)],
    "zeros_like": [lambda x, w: torch.zeros_like(x) + x],
    "ones_like": [lambda x, w: torch.ones_like(x) * x],
    "full_like": [lambda x, w: torch.full_like(x, 0.3) * x],
    "detach": [lambda x, w: x.detach(), lambda x, w: x + (torch.sign(x) - x).detach(), lambda x, w: x * w.v.detach()],
    "clone": [lambda x, w: x.clone()],
    "alias": [lambda x, w: torch.ops.aten.alias(x)],
    "expand": [lambda x, w: x.mean(-1, keepdim=True).expand(-1, -1, 3)],
    "view": [lambda x, w: x.view(x.shape)],
    "_unsafe_view": [lambda x, w: torch.ops.aten._unsafe_view(x, x.shape)],
    "_to_copy": [lambda x, y, w: (x > 0.5).to(x.dtype) * y, lambda x, w: x.to(x.dtype, copy=True)],
    "split": [lambda x, y, w: torch.mul(*torch.cat([x, y], -1).split(3, 2))],
    "split_with_sizes": [lambda x, y, w: torch.cat([x, y, x], -1).split([6, 3], -1)[1]],
    "slice": [lambda x, y, w: torch.cat([x, y], -1)[..., 3:], lambda x, y, w: torch.cat([x, y], -1)[..., -6:-3]],
    "cat": [lambda x, y, w: torch.cat([x, y], 2)[..., :3] * y],
    "mean": [lambda x, w: x.mean(-1, keepdim=True) + x, lambda x, y, w: torch.cat([x, y], 2).mean(2, True) * x],
    "sum": [lambda x, w: x.sum(-1, keepdim=True) + x, lambda x, y, w: torch.cat([x, y], 2).sum([2], True) * x],
    "native_layer_norm": [
        lambda x, w: F.layer_norm(x, (3,)),
        lambda x, w: F.layer_norm(x, (3,), eps=0.3),
        lambda x, w: F.layer_norm(x, (3,), w.v[0, 0], torch.exp(w.v[0, 0]), 0.3),
        lambda x, y, w: F.layer_norm(torch.cat([x, y], -1), (6,), eps=0.1)[..., :3],
    ],
    "bmm": [lambda x, w: torch.bmm(x, w.A)],
    "baddbmm": [lambda x, y, w: torch.baddbmm(y, x, w.A), lambda x, w: torch.baddbmm(w.v, x, w.A.mT)],
}
"""Steps that are fused, by the operation of torch that they test."""

REFUSED: Mapping[str, tuple[Call, str]] = {
    "the sum of truths": (lambda x, y, w: ((x > 0) + (y > 0)) * x, "add"),
    "whole numbers": (lambda x, w: torch.where(x > 0, 2, 1) * x, "where of int64"),
    "another precision": (lambda x, w: x.to(torch.bfloat16).to(x.dtype), "_to_copy of bfloat16"),
    "a rounding": (lambda x, w: x.to(torch.int32) * 1.0, "_to_copy of int32"),
    "truths of numbers": (lambda x, w: x.to(torch.bool) * 1.0, "_to_copy"),
    "bits": (lambda x, w: x.view(torch.int64).view(x.dtype), "view of int64"),
    "rounded division": (lambda x, y, w: torch.div(x, y, rounding_mode="floor"), "div"),
    "division of a mode that is none": (lambda x, y, w: torch.div(x, y, rounding_mode=None), "div"),
    "division by a number": (lambda x, w: torch.ops.aten.div.Scalar_mode(x, 2, rounding_mode="trunc"), "div"),
    "a clamp between tensors": (lambda x, w: x.clamp(-w.c, w.c), "clamp by tensors"),
    "a power that varies": (lambda x, y, w: x**y, "pow"),
    "a power of a number": (lambda x, w: 2.0**x, "pow"),
    "a high power": (lambda x, w: x**9, "pow"),
    "a low power": (lambda x, w: x**-9, "pow"),
    "a power that is no whole number": (lambda x, w: x**1.5, "pow"),
    "half of the units": (lambda x, w: x[..., :2].repeat(1, 1, 2)[..., :3], "slice"),
    "units from the second on": (lambda x, y, w: torch.cat([x, y], 2)[..., 1:4], "slice"),
    "each second unit": (lambda x, y, w: torch.cat([x, y], -1)[..., ::2], "slice"),
    "some of the batch": (lambda x, w: torch.cat([x[:, :1], x[:, 1:]], 1), "slice"),
    "two halves of the batch": (lambda x, w: torch.cat(x.chunk(2, 1), 1), "split"),
    "batches side by side": (lambda x, y, w: torch.cat([x, y], 1)[:, : x.shape[1]], "cat"),
    "units one by one": (lambda x, w: torch.cat(x.split([1, 2], 2), 2), "split_with_sizes"),
    "the mean of the batch": (lambda x, w: x - 0.1 * x.mean(1, keepdim=True), "mean"),
    "the mean of all": (lambda x, w: x - x.mean(), "mean"),
    "the sum of the batch": (lambda x, w: x - 0.1 * x.sum(1, keepdim=True), "sum"),
    "the sum of all": (lambda x, w: x - x.sum(), "sum"),
    "the mean without its axis": (lambda x, w: x * x.mean(-1)[..., None], "mean of shape"),
    "the sum without its axis": (lambda x, w: x * x.sum(-1)[..., None], "sum of shape"),
    "a mean in another precision": (lambda x, w: x * x.mean(-1, True, dtype=torch.bfloat16), "mean of bfloat16"),
    "a mean of all in another": (lambda x, w: x * x.mean(dtype=torch.bfloat16), "mean of bfloat16"),
    "a sum in another precision": (lambda x, w: x * x.sum(-1, True, dtype=torch.bfloat16), "sum of bfloat16"),
    "a sum of all in another": (lambda x, w: x * x.sum(dtype=torch.bfloat16), "sum of bfloat16"),
    "a norm over the batch": (lambda x, w: F.layer_norm(x, x.shape[1:]), "native_layer_norm"),
    "a sum with factors": (lambda x, y, w: torch.baddbmm(y, x, w.A, beta=0.5, alpha=2.0), "baddbmm"),
    "a product of rows": (lambda x, y, w: torch.bmm(x, y.mT @ y), "transpose"),
    "softmax": (lambda x, w: torch.softmax(x, -1), "_softmax"),
    "round": (lambda x, w: torch.round(x), "round"),
    "celu": (lambda x, w: F.celu(x, 0.6), "celu"),
}
"""Steps that are not fused, and the beginning of the reason."""
