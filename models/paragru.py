"""ParaGRU: a GRU with diagonal recurrent weights, so that Newton's method can solve it in parallel over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Generator, Tensor, lerp, nn, sigmoid, tanh

from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.param import learning_rate
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import ModelSpec


@dataclass(frozen=True)
class ParaGRUWeights:
    """B, b and the diagonal a of the gates z and r and of the candidate h."""

    Bz: Tensor
    bz: Tensor
    az: Tensor
    Br: Tensor
    br: Tensor
    ar: Tensor
    Bh: Tensor
    bh: Tensor
    ah: Tensor


class ParaGRU(Recurrence[ParaGRUWeights]):
    """GRU with diagonal recurrent weights, (T, B, p) to (T, B, d).

    Source: Danieli et al. 2025, ParaRNN (arXiv:2510.21450), and the authors' code (apple/ml-pararnn) with one head::

        z, r = σ(az h[n-1] + Bz x[n] + bz), σ(ar h[n-1] + Br x[n] + br)
        h̃    = tanh(ah (r h[n-1]) + Bh x[n] + bh)                        h[n] = (1 − z) h[n-1] + z h̃

    a starts as N(0, 4/(5d)), B Xavier-uniform, U(−k, k) with k² = 6/(p + d), bz falls evenly from 0 in the first unit
    to −1 in the last, and the other biases are 0. The read-out sees h. Trainable parameters: 3 (dp + 2d).

    Args: see ``Recurrence``.
    """

    WEIGHTS = ParaGRUWeights
    STATE = ("h",)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return B (d, p), b and a (d,), of z, r and h."""
        p, d = self.input_size, self.hidden_size
        return {kind + gate: shape for gate in "zrh" for kind, shape in (("B", (d, p)), ("b", (d,)), ("a", (d,)))}

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight`` as in the authors' code."""
        draw_diagonal(name, weight, "bz", generator)

    def drive(self, x: Tensor, w: ParaGRUWeights) -> tuple[Tensor, ...]:
        """Return B x + b of z, r and h̃."""
        return affine(w.Bz, x, w.bz), affine(w.Br, x, w.br), affine(w.Bh, x, w.bh)

    def step(self, u: tuple[Tensor, ...], state: State, w: ParaGRUWeights) -> State:
        """Return (h[n],)."""
        (uz, ur, uh), (h,) = u, state
        r = sigmoid(w.ar * h + ur)
        return (lerp(h, tanh(w.ah * (r * h) + uh), sigmoid(w.az * h + uz)),)


def draw_diagonal(name: str, weight: Tensor, ramp: str, generator: Generator | None) -> None:
    """Fill a weight of ParaRNN's cells: the matrices B, the diagonals a and c, the biases b.

    Args:
        name: The weight's; its first letter is the kind.
        weight: Tensor to fill, (d, p) or (d,).
        ramp: Name of the bias that falls from 0 to −1.
        generator: For random numbers.
    """
    if name[0] == "B":
        nn.init.xavier_uniform_(weight, generator=generator)
    elif name[0] == "b":
        weight.copy_(torch.linspace(0, -float(name == ramp), len(weight)))
    else:
        nn.init.normal_(weight, 0.0, 2 / (5 * len(weight)) ** 0.5, generator=generator)


MODEL = ModelSpec(
    name="paragru",
    title="ParaGRU",
    family="gated scan",
    source="Danieli et al., ICLR 2026, arXiv:2510.21450, and the authors' code",
    layer=ParaGRU,
    lr=learning_rate(1e-4, 1e-1),
    count=lambda p, d, q, **_: 3 * (d * p + 2 * d) + (d + 1) * q,
)
