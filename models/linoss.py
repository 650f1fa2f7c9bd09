"""LinOSS: forced linear oscillators, discretised implicitly, or implicitly and explicitly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Generic

from torch import Generator, Tensor, nn, relu, sigmoid

from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.param import OptionValue, learning_rate
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import Best, ModelSpec
from longwave.models.base.weights import W, WeightGroup


@dataclass(frozen=True)
class LinOSSWeights:
    """Â and s, (M, 1, d), and B's real and imaginary part, (M, d, p)."""

    A: Tensor
    s: Tensor
    B_re: Tensor
    B_im: Tensor


class LinearOscillators(Recurrence[W], Generic[W]):
    """Base of linear oscillators: complex positions x and velocities z, B, and the read-out of positions."""

    STATE = ("x_re", "x_im", "z_re", "z_im")
    OUTPUTS = 2

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return A and s (d,), B_re and B_im (d, p)."""
        p, d = self.input_size, self.hidden_size
        return {"A": (d,), "s": (d,), "B_re": (d, p), "B_im": (d, p)}

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight``: U(0, 1), and U(−1/√p, 1/√p) for B."""
        bound = self.input_size**-0.5
        low, high = (-bound, bound) if name.startswith("B") else (0.0, 1.0)
        nn.init.uniform_(weight, low, high, generator=generator)

    def draw_readout(self, weight: Tensor, bias: Tensor, generator: Generator | None) -> None:
        """Fill the read-out, C: U(−1/√d, 1/√d), bias 0."""
        bound = self.hidden_size**-0.5
        nn.init.uniform_(weight, -bound, bound, generator=generator)
        bias.zero_()


class LinOSS(LinearOscillators[LinOSSWeights]):
    """Linear oscillatory state-space layer, (T, B, p) to (T, B, 2d).

    Source: Rusch and Rus 2025 (arXiv:2410.03943) as in its authors' code, with Δ trained; positions x and
    velocities z of d complex oscillators, A = ReLU(Â), Δ = σ(s)::

        z[n] = S (z[n-1] + Δ (B u[n] − A x[n-1])),   S = 1/(1 + Δ² A)      scheme im
        z[n] = z[n-1] + Δ (B u[n] − A x[n-1])                              scheme imex
        x[n] = x[n-1] + Δ z[n]

    Eigenvalues have |λ|² = S with ``im``, and |λ| = 1 with ``imex`` while Δ² A < 4, as at the start; beyond that, one
    is outside the unit circle. Â and s start as U(0, 1), B as U(−1/√p, 1/√p) in each part. The read-out sees Re x and
    Im x, and starts as U(−1/√d, 1/√d) with bias 0. D u and the output map belong to the residual block, see
    ``base.block``. Â and s have no weight decay. Trainable parameters: 2dp + 2d.

    Args:
        scheme: ``im``, implicit, which is dissipative; ``imex``, implicit-explicit, which conserves energy while
            Δ² A < 4.
        input_size, hidden_size, members, batch_first: See ``Recurrence``.
    """

    WEIGHTS = LinOSSWeights
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {"scheme": ("im", "imex")}
    GROUPS: ClassVar[Mapping[str, WeightGroup]] = {"recurrent": WeightGroup(("A", "s"), decay=False)}
    scheme: str

    def drive(self, x: Tensor, w: LinOSSWeights) -> tuple[Tensor, ...]:
        """Return Re and Im of B u."""
        return affine(w.B_re, x), affine(w.B_im, x)

    def step(self, u: tuple[Tensor, ...], state: State, w: LinOSSWeights) -> State:
        """Return Re and Im of x[n], then of z[n]."""
        x_re, x_im, z_re, z_im = state
        A, dt = relu(w.A), sigmoid(w.s)
        z_re, z_im = z_re + dt * (u[0] - A * x_re), z_im + dt * (u[1] - A * x_im)
        if self.scheme == "im":
            S = 1 / (1 + dt * dt * A)
            z_re, z_im = S * z_re, S * z_im
        return x_re + dt * z_re, x_im + dt * z_im, z_re, z_im


MODEL = ModelSpec(
    name="linoss",
    title="LinOSS",
    family="state space",
    source="Rusch and Rus, ICLR 2025, arXiv:2410.03943",
    layer=LinOSS,
    lr=learning_rate(1e-4, 1e-1),
    count=lambda p, d, q, **_: 2 * d * p + 2 * d + (2 * d + 1) * q,
    best=(Best("eigenworms", 64, {"lr": 1e-3}, "in 2 blocks of width 128 with time as an input, other splits"),),
    best_source="Rusch and Rus 2025, best settings",
    printed={"im": {}, "imex": {"scheme": "imex"}},
)
