"""Antisymmetric RNN: a forward-Euler step whose Jacobian has eigenvalues close to the imaginary axis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic

import torch
from torch import Generator, Tensor, tanh

from longwave.models.base.algebra import affine, skew
from longwave.models.base.layer import State
from longwave.models.base.param import learning_rate
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import ModelSpec
from longwave.models.base.weights import W
from longwave.models.lipschitz_rnn import EPSILON, GAMMA, SIGMA, draw_small


@dataclass(frozen=True)
class AntisymmetricWeights:
    """A = M − Mᵀ − γ I, (M, d, d), U, b, ε."""

    A: Tensor
    U: Tensor
    b: Tensor
    epsilon: Tensor


class Antisymmetric(Recurrence[W], Generic[W]):
    """Base of the antisymmetric units: the matrix A, their hyper-parameters and their initialisation."""

    STATE = ("h",)
    PARAMS = (EPSILON, GAMMA, SIGMA)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return M (d(d−1)/2,), U (d, p), b (d,)."""
        p, d = self.input_size, self.hidden_size
        return {"U": (d, p), "b": (d,), "M": (d * (d - 1) // 2,)}

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight``: normal for M, as torch.nn.Linear for the others."""
        std = 2**0.5 * hyper["sigma"] / self.hidden_size
        draw_small(name == "M", weight, std, self.input_size, generator)

    def weights(self, tensors: Mapping[str, Tensor]) -> W:
        """Return the weights, A among them."""
        d, M = self.hidden_size, tensors["M"]
        A = skew(M, d) - tensors["gamma"] * torch.eye(d, dtype=M.dtype, device=M.device)
        return super().weights({**tensors, "A": A})


class AntisymmetricRNN(Antisymmetric[AntisymmetricWeights]):
    """Antisymmetric recurrent unit, (T, B, p) to (T, B, d).

    Source: Chang et al. 2019 (arXiv:1902.09689) in the form of Erichson et al. 2021, §7::

        h[n] = h[n-1] + ε tanh((M − Mᵀ − γ I) h[n-1] + U x[n] + b)

    Only the d (d − 1)/2 entries above M's diagonal are stored. They start as N(0, 2 (σd/d)²), the distribution of M −
    Mᵀ for a full M of N(0, (σd/d)²) as in the code of Erichson et al.; U and b as U(−1/√p, 1/√p). The read-out sees h.
    Trainable parameters: d (d − 1)/2 + dp + d.

    Args:
        epsilon: ε > 0, in input steps.
        gamma: γ ≥ 0, diffusion.
        sigma: σd > 0, scale of the initialisation.
        input_size, hidden_size, members, batch_first: See ``Recurrence``.
    """

    WEIGHTS = AntisymmetricWeights

    def drive(self, x: Tensor, w: AntisymmetricWeights) -> tuple[Tensor, ...]:
        """Return U x + b."""
        return (affine(w.U, x, w.b),)

    def step(self, u: tuple[Tensor, ...], state: State, w: AntisymmetricWeights) -> State:
        """Return (h[n],)."""
        (h,) = state
        return (h + w.epsilon * tanh(affine(w.A, h, u[0])),)


MODEL = ModelSpec(
    name="antisymmetric_rnn",
    title="Antisymmetric RNN",
    family="ODE",
    source="Chang et al., ICLR 2019, arXiv:1902.09689; Erichson et al. 2021, arXiv:2006.12070, §7",
    layer=AntisymmetricRNN,
    lr=learning_rate(1e-4, 1e-1),
    count=lambda p, d, q, **_: d * (d - 1) // 2 + d * p + d + (d + 1) * q,
)
