"""Mamba: a state-space model whose step, input and output maps depend on the input."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import ClassVar

import torch
from torch import Generator, Tensor, exp, nn
from torch.nn.functional import silu, softplus

from longwave.models.base.algebra import affine
from longwave.models.base.heads import outer, read
from longwave.models.base.layer import State
from longwave.models.base.matrix_recurrence import MatrixRecurrence
from longwave.models.base.param import OptionValue, learning_rate
from longwave.models.base.spec import ModelSpec
from longwave.models.base.time_steps import draw_time_steps
from longwave.models.base.weights import WeightGroup
from longwave.models.kernels.matrix.form import Form


@dataclass(frozen=True)
class MambaWeights:
    """Maps of the input (M, d, p), of x to δ, B and C (M, r + 2N, d), of δ to Δ (M, d, r), and vectors (M, 1, d).

    A_log is (M, d, N).
    """

    X: Tensor
    Z: Tensor
    W: Tensor
    dt: Tensor
    dt_bias: Tensor
    A_log: Tensor
    D: Tensor


class Mamba(MatrixRecurrence[MambaWeights]):
    """Selective state-space layer with its gate, (T, B, p) to (T, B, d).

    Source: Gu and Dao 2023 (arXiv:2312.00752), Algorithm 2 and the authors' code, where d is the inner width E; each of
    d channels has N states, with B discretised by Euler's rule::

        x, z = SiLU(X u), SiLU(Z u)       δ, B, C = W x       Δ = softplus(dt δ + b)       A = −exp(A_log)
        h[n] = exp(Δ A) h[n-1] + Δ x B                            y[n] = (h[n] C + D x) z

    With ``eigenvalues`` of −1 to 1 (Grazzi et al. 2025, arXiv:2411.12537) 2 exp(Δ A) − 1 replaces exp(Δ A).

    A_log starts as log 1 … log N, D as 1, b as softplus⁻¹(Δ₀) with log Δ₀ uniform between log 0.001 and log 0.1,
    dt as U(−1/√r, 1/√r) and the other maps as torch.nn.Linear's, with r = ⌈p/16⌉. A_log, D and b have no
    weight decay. The read-out sees y; the short convolution and the output map belong to the residual block, see
    ``base.block``; there the convolution acts on the block's features, not on x, so z sees it too. Trainable
    parameters: 2dp + d (r + 2N) + dr + dN + 2d.

    Args:
        states: N.
        eigenvalues: Range of the decays.
        input_size, hidden_size, members, batch_first: See ``Recurrence``.
    """

    WEIGHTS = MambaWeights
    STATE = ("h",)
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {
        "states": (16, 4, 8, 32, 64, 128, 256),
        "eigenvalues": ("0-1", "-1-1"),
    }
    GROUPS: ClassVar[Mapping[str, WeightGroup]] = {"rates": WeightGroup(("A_log", "D", "dt_bias"), decay=False)}
    states: int
    eigenvalues: str

    def form(self) -> Form:
        """Return one matrix (N, d), and the axes of Δ, x, B, C, A and D."""
        drives, constants = {"dt": "j", "x": "j", "B": "i", "C": "i"}, {"A": "ij", "D": "j"}
        return Form(1, self.states, self.hidden_size, {"h": "ij"}, drives, constants)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return X and Z (d, p), W (r + 2N, d), dt (d, r), dt_bias and D (d,), A_log (d, N)."""
        p, d, n, r = self.input_size, self.hidden_size, self.states, rank(self.input_size)
        maps = {"X": (d, p), "Z": (d, p), "W": (r + 2 * n, d), "dt": (d, r)}
        return {**maps, "dt_bias": (d,), "A_log": (d, n), "D": (d,)}

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight`` as in the authors' code."""
        if name == "A_log":
            weight.copy_(torch.arange(1, self.states + 1).log().expand_as(weight))
        elif name == "D":
            weight.fill_(1.0)
        elif name == "dt_bias":
            draw_time_steps(weight, generator)
        else:
            bound = weight.shape[-1] ** -0.5
            nn.init.uniform_(weight, -bound, bound, generator=generator)

    def constants(self, w: MambaWeights) -> tuple[Tensor, ...]:
        """Return A and D."""
        return -exp(w.A_log.mT).unsqueeze(1).unsqueeze(1), w.D.unsqueeze(1)

    def drive(self, x: Tensor, w: MambaWeights) -> tuple[Tensor, ...]:
        """Return Δ, x, B and C."""
        x, n = silu(affine(w.X, x)), self.states
        low, B, C = affine(w.W, x).split([w.dt.shape[-1], n, n], -1)
        dt = softplus(affine(w.dt, low, w.dt_bias))
        return tuple(part.unsqueeze(-2) for part in (dt, x, B, C))

    def step(self, u: tuple[Tensor, ...], state: State, constants: tuple[Tensor, ...]) -> tuple[Tensor, State]:
        """Return h[n] C + D x and (h[n],)."""
        (dt, x, B, C), (A, D) = u, constants
        decay = exp(dt.unsqueeze(-2) * A)
        decay = 2 * decay - 1 if self.eigenvalues == "-1-1" else decay
        h = decay * state[0] + outer(B, dt * x)
        return read(h, C) + D * x, (h,)

    def finish(self, outputs: Tensor, x: Tensor, w: MambaWeights) -> Tensor:
        """Return y."""
        return outputs.flatten(-2) * silu(affine(w.Z, x))


def rank(p: int) -> int:
    """Return the rank r of the map to the time steps."""
    return ceil(p / 16)


def count(p: int, d: int, q: int, states: int = 16, **_: OptionValue) -> int:
    """Return the trainable parameters of the layer and its read-out."""
    r = rank(p)
    return 2 * d * p + d * (r + 2 * states) + d * r + d * states + 2 * d + (d + 1) * q


MODEL = ModelSpec(
    name="mamba",
    title="Mamba",
    family="state space",
    source="Gu and Dao, COLM 2024, arXiv:2312.00752; Grazzi et al., ICLR 2025, arXiv:2411.12537",
    layer=Mamba,
    lr=learning_rate(1e-4, 1e-1),
    count=count,
    printed={"S6 inside": {}, "eig [0,1]": {}, "eig [-1,1]": {"eigenvalues": "-1-1"}},
)
