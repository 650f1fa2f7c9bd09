"""Polynomial autoregression: all monomials of a delay embedding, up to a degree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import comb

from torch import Tensor

from longwave.tasks.trivial.delays import DelayEmbedded, Law
from longwave.tasks.trivial.least_squares import powers, triangle, weights

MAX_MONOMIALS = 300
"""Largest number of monomials of a polynomial."""
EXAMPLES = 2
"""Rows needed per monomial: with fewer, as near the start, the degree is reduced."""
PENALTIES = (1e-14, 1e-11, 1e-8, 1e-5)
"""Ridge penalties, relative to the mean square of the monomials; the first is about float32's error squared."""
BLOCK = 4096
"""Rows whose monomials are in memory at once."""


@dataclass(frozen=True)
class Polynomial(DelayEmbedded[float]):
    """The polynomial of a few past values with the least training error.

    Attributes:
        degree: 2 or 3; 1 would be linear.
    """

    degree: int = 3
    rows = (2**14, 2**16)

    def candidates(self) -> Sequence[tuple[str, float]]:
        """Return the ridge penalties."""
        return [(f"penalty {penalty:g}", penalty) for penalty in PENALTIES]

    def fits(self, features: int) -> bool:
        """Return whether there are not too many monomials."""
        return comb(features + self.degree, self.degree) <= MAX_MONOMIALS

    def learn(self, x: Tensor, y: Tensor, candidates: Sequence[float]) -> list[tuple[Law, int]]:
        """Return the polynomials of inputs divided by their largest magnitude."""
        largest = x.abs().max().clamp_min(1e-300)
        fitting = (d for d in range(self.degree, 0, -1) if EXAMPLES * comb(x.shape[1] + d, d) <= len(x))
        features = partial(powers, degree=next(fitting, 1))
        summed = triangle(x / largest, y, features, BLOCK)

        def law(points: Tensor, matrix: Tensor) -> Tensor:
            out = points.new_empty(len(points), y.shape[1])
            for some, part in zip(points.split(BLOCK), out.split(BLOCK), strict=True):
                part[:] = features(some / largest) @ matrix
            return out

        fits = [weights(summed, y.shape[1], penalty) for penalty in candidates]
        return [(partial(law, matrix=matrix), matrix.numel()) for matrix in fits]
