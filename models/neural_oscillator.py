"""General neural oscillator: y'' = tanh(W y + V u + b), in two symplectic discretisations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, sin, tanh

from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.param import OptionValue, Param, learning_rate
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import ModelSpec

DT = Param("dt", "Δt", 0.01, 1.0, True, "steps", "Time step of the discretised oscillators.")
OSCILLATOR: Mapping[str, tuple[OptionValue, ...]] = {"scheme": ("imex", "symplectic"), "activation": ("tanh", "sin")}
ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = {"tanh": tanh, "sin": sin}


@dataclass(frozen=True)
class OscillatorWeights:
    """V, W, b, Δt."""

    V: Tensor
    W: Tensor
    b: Tensor
    dt: Tensor


class NeuralOscillator(Recurrence[OscillatorWeights]):
    """General neural oscillator, (T, B, p) to (T, B, d).

    Source: Lanthaler, Rusch, Mishra 2023 (arXiv:2305.08753), in the thesis eq. 4.1: y'' = s(W y + V u + b), at rest
    at the start. With ``scheme="imex"``, the implicit-explicit Euler method of coRNN and UnICORNN (Remark 4.2.3),
    which for this system is the symplectic Euler method, of order 1::

        z[n] = z[n-1] + Δt s(W y[n-1] + V x[n] + b)                y[n] = y[n-1] + Δt z[n]

    With ``scheme="symplectic"``, the Störmer-Verlet method, of order 2 for inputs constant over a step::

        v = z[n-1] + Δt/2 s(W y[n-1] + V x[n] + b)
        y[n] = y[n-1] + Δt v                                       z[n] = v + Δt/2 s(W y[n] + V x[n] + b)

    The source has no experiments and specifies no initialisation: weights and biases start as U(−1/√d, 1/√d). The
    read-out sees y. Trainable parameters: d² + dp + d.

    Args:
        dt: Δt > 0, in input steps.
        scheme: ``"imex"`` or ``"symplectic"``.
        activation: s, ``"tanh"`` or ``"sin"``; both have s(0) = 0 and s'(0) = 1, as the source requires.
        input_size, hidden_size, members, batch_first: See ``Recurrence``.
    """

    WEIGHTS = OscillatorWeights
    STATE = ("y", "z")
    PARAMS = (DT,)
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = OSCILLATOR
    scheme: str
    activation: str

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return V (d, p), W (d, d), b (d,)."""
        p, d = self.input_size, self.hidden_size
        return {"V": (d, p), "W": (d, d), "b": (d,)}

    def drive(self, x: Tensor, w: OscillatorWeights) -> tuple[Tensor, ...]:
        """Return V x + b."""
        return (affine(w.V, x, w.b),)

    def step(self, u: tuple[Tensor, ...], state: State, w: OscillatorWeights) -> State:
        """Return (y[n], z[n])."""
        s = ACTIVATIONS[self.activation]
        return oscillate(lambda y: s(affine(w.W, y, u[0])), state, w.dt, self.scheme)


def oscillate(force: Callable[[Tensor], Tensor], state: State, dt: Tensor, scheme: str) -> State:
    """Return (y[n], z[n]) of y'' = force(y) after one step of ``scheme``."""
    y, z = state
    if scheme == "imex":
        z = z + dt * force(y)
        return y + dt * z, z
    middle = z + dt / 2 * force(y)
    y = y + dt * middle
    return y, middle + dt / 2 * force(y)


MODEL = ModelSpec(
    name="neural_oscillator",
    title="Neural oscillator",
    family="oscillator",
    source="Lanthaler, Rusch, Mishra, NeurIPS 2023, arXiv:2305.08753; thesis, eq. 4.1",
    layer=NeuralOscillator,
    lr=learning_rate(1e-4, 1e-1),
    count=lambda p, d, q, **_: d * d + d * p + d + (d + 1) * q,
)
