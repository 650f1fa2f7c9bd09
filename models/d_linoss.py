"""D-LinOSS: linear oscillators whose damping is trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import pi
from typing import ClassVar

import torch
from torch import Generator, Tensor, cos, nn, relu, sigmoid, sqrt

from longwave.models.base.algebra import affine
from longwave.models.base.layer import Generators, State
from longwave.models.base.param import learning_rate
from longwave.models.base.spec import ModelSpec
from longwave.models.base.weights import WeightGroup
from longwave.models.linoss import LinearOscillators

R_MIN = 0.9
"""Smallest initial modulus of an eigenvalue."""
LEAST = 1e-6
"""Smallest Δ² by which A's band is divided."""


@dataclass(frozen=True)
class DLinOSSWeights:
    """Â, Ĝ and s, (M, 1, d), and B's real and imaginary part, (M, d, p)."""

    A: Tensor
    G: Tensor
    s: Tensor
    B_re: Tensor
    B_im: Tensor


class DLinOSS(LinearOscillators[DLinOSSWeights]):
    """Damped linear oscillatory state-space layer, (T, B, p) to (T, B, 2d).

    Source: Boyer et al. 2025 (arXiv:2505.12171), from its authors' code; states as in LinOSS, G = ReLU(Ĝ), Δ = σ(s)::

        z[n] = (z[n-1] + Δ (B u[n] − A x[n-1])) / (1 + Δ G)
        x[n] = x[n-1] + Δ z[n]

    with A = Â clipped to the band from (√(1 + ΔG) − 1)²/Δ² to (√(1 + ΔG) + 1)²/Δ², so that
    eigenvalues are complex, with |λ|² = 1/(1 + ΔG). |λ|² starts uniform in [0.9², 1] and arg λ in [0, π], s as
    N(0, 0.5²); Ĝ and Â follow from them. B and read-out start as in LinOSS. Â, Ĝ and s have no weight decay. Trainable
    parameters: 2dp + 3d.

    Args: see ``Recurrence``.
    """

    WEIGHTS = DLinOSSWeights
    GROUPS: ClassVar[Mapping[str, WeightGroup]] = {"recurrent": WeightGroup(("A", "G", "s"), decay=False)}

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return A, s and G (d,), B_re and B_im (d, p)."""
        return {**super().shapes(), "G": (self.hidden_size,)}

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight``: G with |λ|² and A with arg λ, from which ``reset_parameters`` makes them."""
        if name == "s":
            nn.init.normal_(weight, 0.0, 0.5, generator=generator)
        elif name == "G":
            nn.init.uniform_(weight, R_MIN**2, 1.0, generator=generator)
        elif name == "A":
            nn.init.uniform_(weight, 0.0, pi, generator=generator)
        else:
            super().draw(name, weight, hyper, generator)

    @torch.no_grad()
    def reset_parameters(self, generators: Generators = None) -> None:
        """Draw all weights again; G and A from modulus and argument of the eigenvalues."""
        super().reset_parameters(generators)
        A, G = self.get_parameter("A"), self.get_parameter("G")
        # Sigmoid and cos in float64: in float32 torch can round them differently by an element's place in a pack.
        dt, cosine = sigmoid(self.get_parameter("s").double()).to(A), cos(A.double()).to(A)
        square = G.clone()
        G.copy_((1 / square - 1) / dt)
        # The trace of a step, 2 |λ| cos(arg λ), is (2 + ΔG − Δ²A) |λ|².
        A.copy_((1 + 1 / square - 2 * cosine / sqrt(square)) / (dt * dt))

    def drive(self, x: Tensor, w: DLinOSSWeights) -> tuple[Tensor, ...]:
        """Return Re and Im of B u."""
        return affine(w.B_re, x), affine(w.B_im, x)

    def step(self, u: tuple[Tensor, ...], state: State, w: DLinOSSWeights) -> State:
        """Return Re and Im of x[n], then of z[n]."""
        x_re, x_im, z_re, z_im = state
        dt, root = sigmoid(w.s), sqrt(1 + sigmoid(w.s) * relu(w.G))
        square = torch.clamp(dt * dt, min=LEAST)
        low, high = (root - 1) * (root - 1) / square, (root + 1) * (root + 1) / square
        A, S = torch.minimum(torch.maximum(w.A, low), high), 1 / (root * root)
        z_re, z_im = S * (z_re + dt * (u[0] - A * x_re)), S * (z_im + dt * (u[1] - A * x_im))
        return x_re + dt * z_re, x_im + dt * z_im, z_re, z_im


MODEL = ModelSpec(
    name="d_linoss",
    title="D-LinOSS",
    family="state space",
    source="Boyer et al. 2025, arXiv:2505.12171",
    layer=DLinOSS,
    lr=learning_rate(1e-4, 1e-1),
    count=lambda p, d, q, **_: 2 * d * p + 3 * d + (2 * d + 1) * q,
)
