"""HORN: a recurrent network of damped harmonic oscillators, coupled by their velocities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from torch import Generator, Tensor, nn, tanh

from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.param import OptionValue, Param, learning_rate
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import Best, ModelSpec

ALPHA = Param("alpha", "α", 0.01, 1.0, True, "1", "Excitability: gain of the force.", default=0.04)
OMEGA = Param("omega", "ω", 0.02, 1.0, True, "1/step", "Natural frequency.", default=0.224)
GAMMA = Param("gamma", "γ", 0.001, 0.1, True, "1/step", "Damping.", zero=True, default=0.01)
DT = Param("dt", "h", 0.1, 1.0, False, "steps", "Time step.", searched=False, default=1.0)


@dataclass(frozen=True)
class HORNWeights:
    """V, W, b with c added; h, α, ω and γ, per unit in a heterogeneous network."""

    V: Tensor
    W: Tensor
    b: Tensor
    dt: Tensor
    alpha: Tensor
    omega: Tensor
    gamma: Tensor


class HORN(Recurrence[HORNWeights]):
    """Harmonic oscillator recurrent network, (T, B, p) to (T, B, d).

    Source: Effenberger et al. 2025 (PNAS 122(4); first bioRxiv 2022.11.29.518360), and the authors' code::

        y[n] = y[n-1] + h (α tanh(V x[n] + b + (W y[n-1] + c) / √d) − 2γ y[n-1] − ω² x[n-1])
        x[n] = x[n-1] + h y[n]

    with the position x of an oscillator, which the read-out sees, and its velocity y, which couples it to the others.
    h, α, ω and γ are not trained; in a heterogeneous network each unit has its own ω and γ, the given ones times U(1/2,
    2). Weights and biases start as torch.nn.Linear's: V and b as U(−1/√p, 1/√p), W and c as U(−1/√d, 1/√d). Without
    force the oscillators are stable for γ h < 1 and (ω h)² < 4 (1 − γ h). Trainable parameters: d² + dp + 2d.

    No published result of it is available here.

    Args:
        alpha: α > 0.
        omega: ω > 0, in radians per time unit.
        gamma: γ ≥ 0.
        dt: h > 0, time units per input step.
        heterogeneous: Whether ω and γ differ by unit.
        input_size, hidden_size, members, batch_first: See ``Recurrence``.
    """

    WEIGHTS = HORNWeights
    STATE = ("x", "y")
    PARAMS = (ALPHA, OMEGA, GAMMA, DT)
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {"heterogeneous": (False, True)}
    heterogeneous: bool

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return V (d, p), W (d, d), b and c (d,), and the factors of ω and γ (d,)."""
        p, d = self.input_size, self.hidden_size
        return {"V": (d, p), "b": (d,), "W": (d, d), "c": (d,), **dict.fromkeys(sorted(self.untrained()), (d,))}

    def untrained(self) -> frozenset[str]:
        """Return the names of the factors of ω and γ, if the network is heterogeneous."""
        return frozenset({"omega_factor", "gamma_factor"}) if self.heterogeneous else frozenset()

    def weights(self, tensors: Mapping[str, Tensor]) -> HORNWeights:
        """Return the weights: W and c divided by √d, ω and γ of each unit."""
        W, c = (tensors[name] * self.hidden_size**-0.5 for name in "Wc")
        per_unit = {
            name: tensors[name] * tensors[f"{name}_factor"] for name in ("omega", "gamma") if self.heterogeneous
        }
        return super().weights({**tensors, "W": W, "b": tensors["b"] + c, **per_unit})

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight`` as torch.nn.Linear's, or as factors of U(1/2, 2)."""
        bound = (self.input_size if name in "Vb" else self.hidden_size) ** -0.5
        low, high = (0.5, 2.0) if name.endswith("factor") else (-bound, bound)
        nn.init.uniform_(weight, low, high, generator=generator)

    def drive(self, x: Tensor, w: HORNWeights) -> tuple[Tensor, ...]:
        """Return V x + b + c / √d."""
        return (affine(w.V, x, w.b),)

    def step(self, u: tuple[Tensor, ...], state: State, w: HORNWeights) -> State:
        """Return (x[n], y[n]), by the symplectic Euler rule."""
        x, y = state
        y = y + w.dt * (w.alpha * tanh(affine(w.W, y, u[0])) - 2 * w.gamma * y - w.omega * w.omega * x)
        return x + w.dt * y, y


MODEL = ModelSpec(
    name="horn",
    title="HORN",
    family="oscillator",
    source="Effenberger et al., PNAS 2025, bioRxiv 2022.11.29.518360, and the authors' code",
    layer=HORN,
    lr=learning_rate(1e-4, 1e-1),
    count=lambda p, d, q, **_: d * d + d * p + 2 * d + (d + 1) * q,
    best=(
        Best(
            "smnist",
            32,
            {"lr": 0.01, "alpha": 0.04, "omega": 0.224, "gamma": 0.01},
            "defaults of the authors' program; ω = 2π/28, the period of image rows; AdamW",
        ),
    ),
    best_source="the authors' code, mnist training program",
)
