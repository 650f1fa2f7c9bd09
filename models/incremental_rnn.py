"""Incremental RNN: each step evolves an increment of the state towards an equilibrium."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from torch import Generator, Tensor, nn, tanh

from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.param import OptionValue, Param, learning_rate
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import ModelSpec

ALPHA = Param("alpha", "α", 0.1, 2.0, True, "1/step", "Decay of increment and state together.")


@dataclass(frozen=True)
class IncrementalWeights:
    """The weights, the K steps η, (M, 1, K), and α."""

    V: Tensor
    W: Tensor
    b: Tensor
    eta: Tensor
    alpha: Tensor


class IncrementalRNN(Recurrence[IncrementalWeights]):
    """Incremental recurrent network, (T, B, p) to (T, B, d).

    Source: Kag, Zhang, Saligrama 2020 (RNNs incrementally evolving on an equilibrium manifold), written from memory,
    not compared with the paper's text. At each input step K Euler steps evolve an increment g from 0::

        g ← g + η_k (tanh(W (g + h[n-1]) + V x[n] + b) − α (g + h[n-1])),   k = 1 … K;        h[n] = g

    The differential equation is certain: at its equilibrium g + h[n-1] does not depend on h[n-1], so ∂h[n]/∂h[n-1] =
    −I, the paper's theorem. How the authors count parameters is not: no printed count fits. Here α is a hyper-parameter
    and the K steps η are trained. V, W and b start as U(−1/√d, 1/√d), η as 1/K. The read-out sees h.
    Trainable parameters: d² + dp + d + K.

    Args:
        alpha: α > 0, in 1/step.
        euler_steps: K.
        input_size, hidden_size, members, batch_first: See ``Recurrence``.
    """

    WEIGHTS = IncrementalWeights
    STATE = ("h",)
    PARAMS = (ALPHA,)
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {"euler_steps": (5, 1, 2, 10)}
    euler_steps: int

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return V (d, p), W (d, d), b (d,), eta (K,)."""
        p, d = self.input_size, self.hidden_size
        return {"V": (d, p), "W": (d, d), "b": (d,), "eta": (self.euler_steps,)}

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight``."""
        if name == "eta":
            nn.init.constant_(weight, 1 / self.euler_steps)
        else:
            super().draw(name, weight, hyper, generator)

    def drive(self, x: Tensor, w: IncrementalWeights) -> tuple[Tensor, ...]:
        """Return V x + b."""
        return (affine(w.V, x, w.b),)

    def step(self, u: tuple[Tensor, ...], state: State, w: IncrementalWeights) -> State:
        """Return (h[n],)."""
        (h,) = state
        total = h
        for eta in w.eta.split(1, -1):
            total = total + eta * (tanh(affine(w.W, total, u[0])) - w.alpha * total)
        return (total - h,)


MODEL = ModelSpec(
    name="incremental_rnn",
    title="Incremental RNN",
    family="plain",
    source="Kag, Zhang, Saligrama, ICLR 2020",
    layer=IncrementalRNN,
    lr=learning_rate(1e-4, 1e-1),
    count=lambda p, d, q, euler_steps=5, **_: d * d + d * p + d + euler_steps + (d + 1) * q,
)
