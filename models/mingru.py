"""minGRU: a GRU whose gate and candidate depend only on the input, so that its recurrence is linear."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from torch import Generator, Tensor, lerp, nn, sigmoid, where

from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.param import OptionValue, learning_rate
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import ModelSpec
from longwave.models.base.weights import WeightGroup


@dataclass(frozen=True)
class MinGRUWeights:
    """Maps of the gate z and of the candidate h."""

    Wz: Tensor
    bz: Tensor
    Wh: Tensor
    bh: Tensor


class MinGRU(Recurrence[MinGRUWeights]):
    """Minimal gated recurrent unit, (T, B, p) to (T, B, d).

    Source: Feng et al. 2024 (arXiv:2410.01201), §3.1, and the authors' code::

        z[n] = σ(Wz x[n] + bz)        h̃[n] = Wh x[n] + bh
        h[n] = (1 − z[n]) h[n-1] + z[n] h̃[n]

    The code's candidate is g(h̃) > 0, with g(v) = v + 1/2 for v ≥ 0 and σ(v) below, so that a scan can work with
    logarithms. Weights and biases start as torch.nn.Linear's, U(−1/√p, 1/√p), and have no weight decay. The read-out
    sees h; the linear map that follows in the paper belongs to the block. Trainable parameters: 2 (dp + d).

    Args: ``candidate``, ``"linear"`` as in the paper, or ``"positive"``; for the others see ``Recurrence``.
    """

    WEIGHTS = MinGRUWeights
    STATE = ("h",)
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {"candidate": ("linear", "positive")}
    GROUPS: ClassVar[Mapping[str, WeightGroup]] = {"gates": WeightGroup(("Wz", "bz", "Wh", "bh"), decay=False)}
    candidate: str

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return Wz and Wh (d, p), bz and bh (d,)."""
        p, d = self.input_size, self.hidden_size
        return {"Wz": (d, p), "bz": (d,), "Wh": (d, p), "bh": (d,)}

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight`` with U(−1/√p, 1/√p)."""
        bound = self.input_size**-0.5
        nn.init.uniform_(weight, -bound, bound, generator=generator)

    def drive(self, x: Tensor, w: MinGRUWeights) -> tuple[Tensor, ...]:
        """Return the logit of z, and the linear candidate."""
        return affine(w.Wz, x, w.bz), affine(w.Wh, x, w.bh)

    def step(self, u: tuple[Tensor, ...], state: State, w: MinGRUWeights) -> State:
        """Return (h[n],)."""
        z, candidate = u
        return (lerp(state[0], positive(candidate) if self.candidate == "positive" else candidate, sigmoid(z)),)


def positive(v: Tensor) -> Tensor:
    """Return g(v) > 0, v + 1/2 for v ≥ 0 and σ(v) below."""
    return where(v >= 0, v + 0.5, sigmoid(v))


MODEL = ModelSpec(
    name="mingru",
    title="minGRU",
    family="gated scan",
    source="Feng et al. 2024, arXiv:2410.01201, §3.1",
    layer=MinGRU,
    lr=learning_rate(1e-4, 1e-1),
    count=lambda p, d, q, **_: 2 * (d * p + d) + (d + 1) * q,
)
