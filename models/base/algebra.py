"""Linear algebra with a members axis: W x + b for each member, skew-symmetric matrices, complex numbers."""

from __future__ import annotations

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
