"""AL-RNN: an almost linear RNN, in which only the last few units are rectified."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Generator, Tensor, nn, relu, where

from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.param import OptionValue, learning_rate
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import ModelSpec


@dataclass(frozen=True)
class ALRNNWeights:
    """A, W, h and C, and a mask of the rectified units, 1 or 0."""

    A: Tensor
    W: Tensor
    h: Tensor
    C: Tensor
    rectified: Tensor


class ALRNN(Recurrence[ALRNNWeights]):
    """Almost-linear recurrent network of dynamical systems reconstruction, (T, B, p) to (T, B, d).

    Source: Brenner et al. 2024 (arXiv:2410.14240), eq. 2, and the authors' code; inputs as in their other piecewise
    linear networks::

        z[n] = A z[n-1] + W Φ(z[n-1]) + h + C x[n]

    A is diagonal, and Φ is a ReLU on the last P units and the identity on all others, so that the states fall into 2^P
    regions, each with linear dynamics. A starts as the diagonal of RᵀR/d + 1 by its largest eigenvalue, for R of
    N(0, 1), W as N(0, 0.01²), h as 0, C Xavier-uniform, U(−k, k) with k² = 6/(p + d). The read-out sees z. Trainable
    parameters: d² + dp + 2d.

    No published result of it is available here.

    Args: ``rectified``, P, of d units at most; for the others see ``Recurrence``. The authors use P = 2 of 20 units for
    the Lorenz system.
    """

    WEIGHTS = ALRNNWeights
    STATE = ("z",)
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {"rectified": (2, 1, 3, 5, 10)}
    rectified: int

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return A and h (d,), W (d, d), C (d, p)."""
        p, d = self.input_size, self.hidden_size
        return {"A": (d,), "W": (d, d), "h": (d,), "C": (d, p)}

    def weights(self, tensors: Mapping[str, Tensor]) -> ALRNNWeights:
        """Return the weights, and which units are rectified."""
        d = self.hidden_size
        rectified = torch.zeros_like(tensors["h"][:1])
        rectified[..., max(d - self.rectified, 0) :] = 1.0
        return super().weights({**tensors, "rectified": rectified})

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight`` as the code does."""
        d = self.hidden_size
        if name == "A":
            r = torch.empty(d, d).normal_(generator=generator)
            full = r.mT @ r / d + torch.eye(d)
            weight.copy_(full.diagonal() / torch.linalg.eigvalsh(full).max())
        elif name == "C":
            nn.init.xavier_uniform_(weight, generator=generator)
        else:
            nn.init.normal_(weight, 0.0, 0.01 if name == "W" else 0.0, generator=generator)

    def drive(self, x: Tensor, w: ALRNNWeights) -> tuple[Tensor, ...]:
        """Return C x + h."""
        return (affine(w.C, x, w.h),)

    def step(self, u: tuple[Tensor, ...], state: State, w: ALRNNWeights) -> State:
        """Return (z[n],)."""
        (z,) = state
        return (w.A * z + affine(w.W, where(w.rectified > 0, relu(z), z), u[0]),)


MODEL = ModelSpec(
    name="al_rnn",
    title="AL-RNN",
    family="plain",
    source="Brenner et al., NeurIPS 2024, arXiv:2410.14240, eq. 2",
    layer=ALRNN,
    lr=learning_rate(1e-4, 1e-1),
    count=lambda p, d, q, **_: d * d + d * p + 2 * d + (d + 1) * q,
)
