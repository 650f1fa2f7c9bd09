"""expRNN: a recurrent network with an orthogonal matrix, the exponential of a skew-symmetric one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Generator, Tensor, nn, relu

from longwave.models.base.algebra import affine, skew
from longwave.models.base.layer import State
from longwave.models.base.param import learning_rate
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import ModelSpec


@dataclass(frozen=True)
class ExpWeights:
    """B = exp(A), (M, d, d), V, b."""

    B: Tensor
    V: Tensor
    b: Tensor


class ExpRNN(Recurrence[ExpWeights]):
    """Recurrent network with orthogonal recurrence, (T, B, p) to (T, B, d).

    Source: Lezcano-Casado and Martínez-Rubio 2019 (arXiv:1901.08428), written from memory, not compared with
    the paper's text; the parameter counts quoted elsewhere confirm its form::

        h[n] = modReLU(exp(A) h[n-1] + V x[n])            modReLU(u) = sign(u) ReLU(|u| + b),   A = M − Mᵀ

    Only the d (d − 1)/2 entries above M's diagonal are stored. A starts block-diagonal with rotations by angles of
    U(−π, π) (Henaff et al. 2016, one of the paper's two initialisations), V Kaiming-normal, b as U(−0.01, 0.01). The
    read-out sees h. Trainable parameters: d (d − 1)/2 + dp + d.

    Args: see ``Recurrence``.
    """

    WEIGHTS = ExpWeights
    STATE = ("h",)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return V (d, p), b (d,), M (d(d−1)/2,)."""
        p, d = self.input_size, self.hidden_size
        return {"V": (d, p), "b": (d,), "M": (d * (d - 1) // 2,)}

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight`` as in the paper."""
        if name == "V":
            nn.init.normal_(weight, 0.0, (2 / self.input_size) ** 0.5, generator=generator)
        elif name == "b":
            nn.init.uniform_(weight, -0.01, 0.01, generator=generator)
        else:
            d = self.hidden_size
            angles = torch.empty(d // 2).uniform_(-math.pi, math.pi, generator=generator)
            full = torch.zeros(d, d)
            full[range(0, d - 1, 2), range(1, d, 2)] = angles
            weight.copy_(full[tuple(torch.triu_indices(d, d, 1))])

    def weights(self, tensors: Mapping[str, Tensor]) -> ExpWeights:
        """Return the weights, exp(A) among them."""
        A = skew(tensors["M"], self.hidden_size)
        exact = torch.promote_types(A.dtype, torch.float32)  # torch's matrix_exp returns NaN in 16 bits
        return super().weights({**tensors, "B": torch.matrix_exp(A.to(exact)).to(A.dtype)})

    def drive(self, x: Tensor, w: ExpWeights) -> tuple[Tensor, ...]:
        """Return V x."""
        return (affine(w.V, x),)

    def step(self, u: tuple[Tensor, ...], state: State, w: ExpWeights) -> State:
        """Return (h[n],)."""
        h = affine(w.B, state[0], u[0])
        return (h.sign() * relu(h.abs() + w.b),)


MODEL = ModelSpec(
    name="exprnn",
    title="expRNN",
    family="orthogonal",
    source="Lezcano-Casado and Martínez-Rubio, ICML 2019, arXiv:1901.08428",
    layer=ExpRNN,
    lr=learning_rate(1e-4, 1e-1),
    count=lambda p, d, q, **_: d * (d - 1) // 2 + d * p + d + (d + 1) * q,
)
