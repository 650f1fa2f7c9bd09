"""Least squares in float64 on features computed in chunks of rows, with a ridge penalty, and monomials as features."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

Features = Callable[[Tensor], Tensor]
"""From float64 inputs (..., p) to the features of a linear fit, (..., k)."""
ROUNDING = 1e-14
"""Ridge penalty: about the squared rounding error of float32 inputs, relative to their mean square."""
CHUNK = 16
"""Sequences whose features are in memory at once."""


def triangle(x: Tensor, y: Tensor, features: Features, chunk: int = CHUNK) -> Tensor:
    """Return R, (k + q, k + q), of a QR decomposition of [``features(x)``, y]; rows without a target do not count.

    By QR: the normal equations would square the condition number, which is 10⁸ for smooth series.

    Args:
        x: (N, ..., p).
        y: (N, ..., q), NaN without a target.
        features: Of x.
        chunk: How many of the N are processed at once.
    """
    reduced = torch.empty(0)
    for some_x, some_y in zip(x.split(chunk), y.split(chunk), strict=True):
        rows = torch.cat([features(some_x.double()), some_y.double()], -1)[some_y.isfinite().all(-1)]
        reduced = torch.linalg.qr(torch.cat([reduced, rows]), mode="r").R
    return reduced


def weights(triangle: Tensor, outputs: int, penalty: float = 0.0) -> Tensor:
    """Return the least-squares weights (k, q) from a ``triangle``; the minimum-norm ones if not unique.

    Args:
        triangle: Of features and targets.
        outputs: The number q of targets.
        penalty: Ridge penalty, relative to the mean square of the features.
    """
    features, targets = triangle.split([triangle.shape[1] - outputs, outputs], 1)
    ridge = (penalty * features.square().sum(0).mean()).sqrt() * torch.eye(features.shape[1], dtype=features.dtype)
    features, targets = torch.cat([features, ridge]), torch.cat([targets, ridge.new_zeros(len(ridge), outputs)])
    solution: Tensor = torch.linalg.lstsq(features, targets, driver="gelsd").solution
    return solution


def fit_weights(x: Tensor, y: Tensor, features: Features, penalty: float = 0.0) -> Tensor:
    """Return the least-squares weights (k, q); each output is fitted to the rows that have a target for it.

    Arguments are as in ``triangle`` and ``weights``.
    """
    present = y.isfinite()
    if torch.equal(present.any(-1), present.all(-1)):
        return weights(triangle(x, y, features), y.shape[-1], penalty)
    return torch.cat([weights(triangle(x, each, features), 1, penalty) for each in y.split(1, -1)], 1)


def powers(x: Tensor, degree: int) -> Tensor:
    """Return all monomials of x, (..., p), up to ``degree``, by degree: 1, x₁, ..., x_p, x₁², x₁x₂, ..."""
    channels = x.shape[-1]
    parts, last, starts = [torch.ones_like(x[..., :1])], [torch.ones_like(x[..., :1])], [0] * channels
    for _ in range(degree):
        # A monomial begins with its lowest channel: x_c times all monomials of one degree less that begin at c or
        # later.
        before = torch.cat(last, -1)
        last = [x[..., c : c + 1] * before[..., starts[c] :] for c in range(channels)]
        ends = [part.shape[-1] for part in last]
        starts = [sum(ends[:c]) for c in range(channels)]
        parts += last
    return torch.cat(parts, -1)
