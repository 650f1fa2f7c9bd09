"""LRU: a linear recurrence with complex eigenvalues inside the unit circle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import pi
from typing import ClassVar

import torch
from torch import Generator, Tensor, cos, exp, nn, sin

from longwave.models.base.algebra import affine
from longwave.models.base.layer import Generators, State
from longwave.models.base.param import OptionValue, learning_rate
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import Best, ModelSpec
from longwave.models.base.weights import WeightGroup

RINGS = {"0.9-0.999": (0.9, 0.999), "0-1": (0.0, 1.0), "0-0.99": (0.0, 0.99), "0.5-0.9": (0.5, 0.9),
         "0.999-0.9999": (0.999, 0.9999)}  # fmt: skip
"""Smallest and largest initial modulus of an eigenvalue: those of the paper's Table 10."""
PHASES = {"2pi": 2 * pi, "pi/10": pi / 10}
"""Largest initial argument of an eigenvalue."""


@dataclass(frozen=True)
class LRUWeights:
    """log(−log |λ|), log arg λ and log γ, (M, 1, d), and B's real and imaginary part, (M, d, p)."""

    nu: Tensor
    theta: Tensor
    gamma: Tensor
    B_re: Tensor
    B_im: Tensor


class LRU(Recurrence[LRUWeights]):
    """Linear recurrent unit, (T, B, p) to (T, B, 2d).

    Source: Orvieto et al. 2023 (arXiv:2303.06349), eqs. 4 to 7, with complex states::

        x[n] = λ x[n-1] + exp(γ) (B u[n]),        λ = exp(−exp(ν) + i exp(θ))

    |λ|² starts uniform between the squares of the ring's radii and arg λ in [0, θ_max], γ as log √(1 − |λ|²), which is
    then trained; B starts as N(0, 1/(2p)) in each part. The read-out sees Re x and Im x, so it can form Re(C x); it
    starts as N(0, 1/d) with bias 0. D u, the rest of the paper's layer and its output map belong to the residual block,
    see ``base.block``. Trainable parameters: 2dp + 3d.

    ν, θ, γ and B have half the learning rate and no weight decay (in the paper a quarter, a half or a tenth).

    Args:
        ring: Smallest and largest initial |λ|.
        phase: θ_max; the paper uses π/10 on Path-X.
        input_size, hidden_size, members, batch_first: See ``Recurrence``.
    """

    WEIGHTS = LRUWeights
    STATE = ("re", "im")
    OUTPUTS = 2
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {"ring": tuple(RINGS), "phase": tuple(PHASES)}
    GROUPS: ClassVar[Mapping[str, WeightGroup]] = {
        "recurrent": WeightGroup(("nu", "theta", "gamma", "B_re", "B_im"), rate=0.5, decay=False)
    }
    ring: str
    phase: str

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return nu, theta and gamma (d,), B_re and B_im (d, p)."""
        p, d = self.input_size, self.hidden_size
        return {"nu": (d,), "theta": (d,), "gamma": (d,), "B_re": (d, p), "B_im": (d, p)}

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight`` as in the paper; gamma, which depends on nu, is set in ``reset_parameters``."""
        if name == "nu":
            low, high = RINGS[self.ring]
            nn.init.uniform_(weight, low**2, high**2, generator=generator)
            weight.clamp_(min=torch.finfo(weight.dtype).tiny).log_().mul_(-0.5).log_()  # uniform_ can return 0
        elif name == "theta":
            nn.init.uniform_(weight, 0.0, PHASES[self.phase], generator=generator).log_()
        elif name != "gamma":
            nn.init.normal_(weight, 0.0, (2 * self.input_size) ** -0.5, generator=generator)

    @torch.no_grad()
    def reset_parameters(self, generators: Generators = None) -> None:
        """Draw all weights again, and set gamma to log √(1 − |λ|²)."""
        super().reset_parameters(generators)
        self.get_parameter("gamma").copy_(0.5 * torch.log(-torch.expm1(-2 * exp(self.get_parameter("nu")))))

    def draw_readout(self, weight: Tensor, bias: Tensor, generator: Generator | None) -> None:
        """Fill the read-out, C: N(0, 1/d), bias 0."""
        nn.init.normal_(weight, 0.0, self.hidden_size**-0.5, generator=generator)
        bias.zero_()

    def drive(self, x: Tensor, w: LRUWeights) -> tuple[Tensor, ...]:
        """Return Re and Im of exp(γ) B u."""
        scale = exp(w.gamma).mT
        return affine(scale * w.B_re, x), affine(scale * w.B_im, x)

    def step(self, u: tuple[Tensor, ...], state: State, w: LRUWeights) -> State:
        """Return Re and Im of x[n]."""
        re, im = state
        size, angle = exp(-exp(w.nu)), exp(w.theta)
        a, b = size * cos(angle), size * sin(angle)
        return a * re - b * im + u[0], b * re + a * im + u[1]


MODEL = ModelSpec(
    name="lru",
    title="LRU",
    family="state space",
    source="Orvieto et al., ICML 2023, arXiv:2303.06349",
    layer=LRU,
    lr=learning_rate(1e-4, 1e-1),
    count=lambda p, d, q, **_: 2 * d * p + 3 * d + (2 * d + 1) * q,
    best=(Best("eigenworms", 64, {"lr": 1e-3}, "in 4 blocks of width 64, other splits"),),
    best_source="Walker et al. 2024, stored settings",
)
