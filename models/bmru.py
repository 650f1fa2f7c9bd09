"""BMRU: bistable units, which the input sets to one of two values or leaves unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from torch import Generator, Tensor, nn, sigmoid, tanh

from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.param import learning_rate
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import ModelSpec


@dataclass(frozen=True)
class BMRUWeights:
    """Maps of the candidate and of the threshold, and the amplitude α."""

    Wx: Tensor
    bx: Tensor
    Wbeta: Tensor
    bbeta: Tensor
    alpha: Tensor


class BMRU(Recurrence[BMRUWeights]):
    """Bistable memory recurrent unit, (T, B, p) to (T, B, d).

    Source: after the abstract of De Geeter et al. 2026 (arXiv:2601.09495); the equations are our reading of it::

        ĥ = Wx x[n] + bx        β = |Wβ x[n] + bβ|        z = 1 if |ĥ| > β else 0
        h[n] = z α sign(ĥ) + (1 − z) h[n-1]

    so that a state stays exactly ±α as long as no input exceeds the threshold. The gradient is straight-through:
    it replaces z by σ(|ĥ| − β) and the sign by tanh(ĥ). That choice is ours, and so is the initialisation: weights and
    biases as torch.nn.Linear's, U(−1/√p, 1/√p), and α as 1. The read-out sees h. Trainable parameters: 2 (dp + d) + d.

    Neither equation nor gradient was compared with the paper's text. Its cumulative successors, CMRU and αCMRU
    (Brandoit et al. 2026, arXiv:2605.11855), are left out, as their equations were not available.

    No published result of it is available here.

    Args: see ``Recurrence``.
    """

    WEIGHTS = BMRUWeights
    STATE = ("h",)
    SURROGATE: ClassVar[bool] = True

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return Wx and Wβ (d, p), bx, bβ and α (d,)."""
        p, d = self.input_size, self.hidden_size
        return {"Wx": (d, p), "bx": (d,), "Wbeta": (d, p), "bbeta": (d,), "alpha": (d,)}

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight`` with U(−1/√p, 1/√p), or α with 1."""
        bound = self.input_size**-0.5
        low, high = (1.0, 1.0) if name == "alpha" else (-bound, bound)
        nn.init.uniform_(weight, low, high, generator=generator)

    def drive(self, x: Tensor, w: BMRUWeights) -> tuple[Tensor, ...]:
        """Return ĥ, and the value whose modulus is β."""
        return affine(w.Wx, x, w.bx), affine(w.Wbeta, x, w.bbeta)

    def step(self, u: tuple[Tensor, ...], state: State, w: BMRUWeights) -> State:
        """Return (h[n],)."""
        candidate, beta = u
        above = candidate.abs() - beta.abs()
        z = straight_through((above > 0).to(above.dtype), sigmoid(above))
        return (z * (w.alpha * straight_through(candidate.sign(), tanh(candidate))) + (1 - z) * state[0],)


def straight_through(value: Tensor, soft: Tensor) -> Tensor:
    """Return ``value``, bit for bit, with the gradient of ``soft``."""
    return value.detach() + (soft - soft.detach())


MODEL = ModelSpec(
    name="bmru",
    title="BMRU",
    family="gated scan",
    source="De Geeter et al. 2026, arXiv:2601.09495",
    layer=BMRU,
    lr=learning_rate(1e-4, 1e-1),
    count=lambda p, d, q, **_: 2 * (d * p + d) + d + (d + 1) * q,
)
