"""Dropout with a random stream for each member."""

from __future__ import annotations

import torch
from torch import Tensor

from longwave.models.base.layer import Generators


def dropped(x: Tensor, rate: Tensor, generators: Generators, per_step: bool = False) -> Tensor:
    """Return x with a share of its entries set to 0 and the others scaled by 1 / (1 − rate).

    Args:
        x: (M, T, B, d), or anything with a members axis and one more in front.
        rate: p, one per member: (M, 1, ..., 1).
        generators: One per member; torch's own by default.
        per_step: Draw a new mask at each index of axis 1. By default all share one mask, as in Gal and Ghahramani 2016.
    """
    shape = x.shape[1:] if per_step else (1, *x.shape[2:])
    each = generators or [torch.default_generator] * len(x)
    draws = torch.stack([torch.rand(shape, generator=g) for g in each]).to(x)
    rate = rate.reshape(-1, *[1] * (x.ndim - 1))
    scale: Tensor = (draws >= rate) / (1 - rate).clamp_min(torch.finfo(x.dtype).tiny)
    return x * scale
