"""Linear algebra with a members axis: W x + b for each member, skew-symmetric matrices, complex numbers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def affine(weight: Tensor, x: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return W x + b for each member, or W x.

    Args:
        weight: W, (M, k, p).
        x: (M, B, p), or a whole sequence (M, T, B, p).
        bias: b, (M, 1, k); for x (M, B, p) anything that broadcasts to (M, B, k).
    """
    flat = x if x.ndim == 3 else x.flatten(1, -2)
    out: Tensor = torch.bmm(flat, weight.mT) if bias is None else torch.baddbmm(bias, flat, weight.mT)
    return out if x.ndim == 3 else out.view(len(out), *x.shape[1:-1], -1)


class _Readout(torch.autograd.Function):
    """``affine`` of (M, B, p) with gradients in another order of products."""

    generate_vmap_rule = True

    @staticmethod
    def forward(weight: Tensor, x: Tensor, bias: Tensor) -> Tensor:
        return affine(weight, x, bias)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        weight, x = ctx.saved_tensors
        needs_weight, needs_x, needs_bias = ctx.needs_input_grad
        return (
            torch.bmm(g.mT, x) if needs_weight else None,
            torch.bmm(g, weight) if needs_x else None,
            g.sum(1, keepdim=True) if needs_bias else None,
        )


def affine_readout(weight: Tensor, x: Tensor, bias: Tensor) -> Tensor:
    """Return the same as ``affine``, for few outputs k.

    W's gradient is computed as gᵀ x, in place of autograd's (xᵀ g)ᵀ, which takes a CPU 3 to 10 times as long where
    every step is read out: of LRU on parity, with d = 350 and k = 2, it was two fifths of a training step.
    """
    out: Tensor = _Readout.apply(weight, x.flatten(1, -2), bias).unflatten(1, x.shape[1:-1])
    return out


def skew(upper: Tensor, d: int) -> Tensor:
    """Return M − Mᵀ, (M, d, d), from the entries above M's diagonal, (M, 1, d(d−1)/2), row by row."""
    rows, columns = torch.triu_indices(d, d, 1, device=upper.device)
    full = upper.new_zeros(len(upper), d, d).index_put(
        (torch.arange(len(upper), device=upper.device)[:, None], rows, columns), upper[:, 0]
    )
    return full - full.mT


def complex_of(pairs: Tensor) -> Tensor:
    """Return the complex numbers of real pairs, (..., 2) to (...)."""
    # Not view_as_complex, which needs an even storage offset: in the optimiser's flat tensor it may be odd.
    return torch.complex(pairs[..., 0], pairs[..., 1])
