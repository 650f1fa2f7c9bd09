"""Heads of a matrix state: their number and width, what they read and write, and norms within them."""

from __future__ import annotations

from math import ceil

from torch import Tensor, nn

UNIT, MEAN_SQUARE = 1e-6, 1e-5
"""What is added to a sum of squares, and to a mean of squares, before it divides."""


def head_sizes(d: int, heads: int) -> tuple[int, int]:
    """Return how many heads hold d numbers, at most ``heads``, and how wide each is; the last may be filled up."""
    width = ceil(d / heads)
    return ceil(d / width), width


def by_head(rows: Tensor, heads: int) -> Tensor:
    """Return (..., heads, w) of (..., n), the last head filled up with zeros where ``heads`` does not divide n."""
    width = ceil(rows.shape[-1] / heads)
    filled = nn.functional.pad(rows, (0, heads * width - rows.shape[-1]))
    cut: Tensor = filled.unflatten(-1, (heads, width))
    return cut


def to_unit(rows: Tensor) -> Tensor:
    """Return (..., w) of length 1."""
    return rows * (rows.square().sum(-1, keepdim=True) + UNIT).rsqrt()


def rms_normed(rows: Tensor) -> Tensor:
    """Return (..., w) with a mean square of 1."""
    return rows * (rows.square().mean(-1, keepdim=True) + MEAN_SQUARE).rsqrt()


def read(state: Tensor, key: Tensor) -> Tensor:
    """Return Sᵀ k, (..., J), of states S (..., I, J) and keys (..., I)."""
    return (key.unsqueeze(-1) * state).sum(-2)


def outer(key: Tensor, value: Tensor) -> Tensor:
    """Return k vᵀ, (..., I, J), of keys (..., I) and values (..., J)."""
    return key.unsqueeze(-1) * value.unsqueeze(-2)


def overwrite(state: Tensor, key: Tensor, value: Tensor, rate: Tensor) -> Tensor:
    """Return S + β k (v − Sᵀ k)ᵀ: what S holds under k moves towards v by the share β, (...)."""
    return state + outer(rate.unsqueeze(-1) * key, value - read(state, key))
