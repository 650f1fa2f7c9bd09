"""Heads of a matrix state: number and width, reads and writes, and norms within them."""

from __future__ import annotations

from math import ceil

from torch import Tensor, nn

UNIT, MEAN_SQUARE = 1e-6, 1e-5
"""Epsilons added to a sum of squares, and to a mean square, before dividing by it."""


def head_sizes(d: int, heads: int) -> tuple[int, int]:
    """Return the number of heads, at most ``heads``, for d columns, and their width; the last may be padded."""
    width = ceil(d / heads)
    return ceil(d / width), width


def by_head(rows: Tensor, heads: int) -> Tensor:
    """Return (..., heads, w) of (..., n), the last head padded with zeros if ``heads`` does not divide n."""
    width = ceil(rows.shape[-1] / heads)
    filled = nn.functional.pad(rows, (0, heads * width - rows.shape[-1]))
    cut: Tensor = filled.unflatten(-1, (heads, width))
    return cut


def to_unit(rows: Tensor) -> Tensor:
    """Return (..., w) scaled to length 1."""
    return rows * (rows.square().sum(-1, keepdim=True) + UNIT).rsqrt()


def rms_normed(rows: Tensor) -> Tensor:
    """Return (..., w) scaled to mean square 1."""
    return rows * (rows.square().mean(-1, keepdim=True) + MEAN_SQUARE).rsqrt()


def read(state: Tensor, key: Tensor) -> Tensor:
    """Return Sᵀ k, (..., J), of states S (..., I, J) and keys (..., I)."""
    return (key.unsqueeze(-1) * state).sum(-2)


def outer(key: Tensor, value: Tensor) -> Tensor:
    """Return k vᵀ, (..., I, J), of keys (..., I) and values (..., J)."""
    return key.unsqueeze(-1) * value.unsqueeze(-2)


def overwrite(state: Tensor, key: Tensor, value: Tensor, rate: Tensor) -> Tensor:
    """Return S + β k (v − Sᵀ k)ᵀ: the value of S under k moves towards v by the share β, (...)."""
    return state + outer(rate.unsqueeze(-1) * key, value - read(state, key))
