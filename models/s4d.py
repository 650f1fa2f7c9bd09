"""S4D: a diagonal state-space model of each channel, discretised by zero-order hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log, pi
from typing import ClassVar

import torch
from torch import Generator, Tensor, cos, exp, nn, sin

from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.matrix_recurrence import MatrixRecurrence
from longwave.models.base.param import OptionValue, learning_rate
from longwave.models.base.spec import ModelSpec
from longwave.models.base.time_steps import draw_log_steps
from longwave.models.base.weights import WeightGroup
from longwave.models.kernels.matrix.form import Form


@dataclass(frozen=True)
class S4DWeights:
    """X (M, d, p), b, log Δ and D (M, 1, d), and log(−Re A), Im A and C of N/2 states of each channel (M, d, N/2)."""

    X: Tensor
    b: Tensor
    log_dt: Tensor
    A_re: Tensor
    A_im: Tensor
    C_re: Tensor
    C_im: Tensor
    D: Tensor


class S4D(MatrixRecurrence[S4DWeights]):
    """Diagonal state-space layer, (T, B, p) to (T, B, d).

    Source: Gu et al. 2022 (arXiv:2206.11893) as in the authors' minimal code: each of d channels has N/2 complex
    states, one of each conjugate pair, and its own step Δ::

        u = X x + b        h[n] = λ h[n-1] + u[n],  λ = exp(Δ A)        y[n] = 2 Re(C (λ − 1)/A h[n]) + D u[n]

    with A = −exp(A_re) + i A_im. X and b are the linear map before the paper's layer. A starts as −1/2 + iπk, from
    k = 0 to N/2 − 1, log Δ uniform between log 0.001 and log 0.1, C as complex and D as real standard normal numbers, X
    and b as torch.nn.Linear's. Δ and A have a tenth of the learning rate and no weight decay. The read-out sees y;
    nonlinearity and output map belong to the residual block, see ``base.block``. Trainable parameters: dp + 3d + 2dN.

    Args:
        states: N.
        input_size, hidden_size, members, batch_first: See ``Recurrence``.
    """

    WEIGHTS = S4DWeights
    STATE = ("re", "im")
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {"states": (64, 4, 16, 32, 128)}
    GROUPS: ClassVar[Mapping[str, WeightGroup]] = {
        "recurrent": WeightGroup(("log_dt", "A_re", "A_im"), rate=0.1, decay=False)
    }
    states: int

    def form(self) -> Form:
        """Return one matrix (N/2, d) for each part, and the axes of u, λ, 2C (λ − 1)/A and D."""
        matrices = dict.fromkeys(("decay_re", "decay_im", "read_re", "read_im"), "ij")
        states = dict.fromkeys(self.STATE, "ij")
        return Form(1, self.states // 2, self.hidden_size, states, {"u": "j"}, {**matrices, "D": "j"})

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return X (d, p), b, log_dt and D (d,), A and C (d, N/2) in two parts each."""
        d, n = self.hidden_size, self.states // 2
        matrices = dict.fromkeys(("A_re", "A_im", "C_re", "C_im"), (d, n))
        return {"X": (d, self.input_size), "b": (d,), "log_dt": (d,), **matrices, "D": (d,)}

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight`` as in the authors' code."""
        if name in ("X", "b"):
            bound = self.input_size**-0.5
            nn.init.uniform_(weight, -bound, bound, generator=generator)
        elif name == "log_dt":
            draw_log_steps(weight, generator)
        elif name == "A_re":
            weight.fill_(log(0.5))
        elif name == "A_im":
            weight.copy_(pi * torch.arange(self.states // 2).expand_as(weight))
        else:
            nn.init.normal_(weight, 0.0, 1.0 if name == "D" else 0.5**0.5, generator=generator)

    def constants(self, w: S4DWeights) -> tuple[Tensor, ...]:
        """Return Re λ, Im λ, Re and Im of 2C (λ − 1)/A, and D."""
        re, im, dt = -exp(w.A_re.mT), w.A_im.mT, exp(w.log_dt)
        growth, angle = re * dt, im * dt
        # λ − 1 = exp(a + i b) − 1, without cancellation.
        half = sin(angle / 2)
        less_re, less_im = torch.expm1(growth) * cos(angle) - 2 * half * half, exp(growth) * sin(angle)
        square = (re * re + im * im) / 2
        k_re, k_im = (less_re * re + less_im * im) / square, (less_im * re - less_re * im) / square
        C_re, C_im = w.C_re.mT, w.C_im.mT
        read = (C_re * k_re - C_im * k_im, C_re * k_im + C_im * k_re)
        matrices = (exp(growth) * cos(angle), exp(growth) * sin(angle), *read)
        return (*(m.unsqueeze(1).unsqueeze(1) for m in matrices), w.D.unsqueeze(1))

    def drive(self, x: Tensor, w: S4DWeights) -> tuple[Tensor, ...]:
        """Return u."""
        return (affine(w.X, x, w.b).unsqueeze(-2),)

    def step(self, u: tuple[Tensor, ...], state: State, constants: tuple[Tensor, ...]) -> tuple[Tensor, State]:
        """Return y[n], and Re and Im of h[n]."""
        (u_n,), (re, im), (a, b, read_re, read_im, D) = u, state, constants
        re, im = a * re - b * im + u_n.unsqueeze(-2), b * re + a * im
        return (read_re * re - read_im * im).sum(-2) + D * u_n, (re, im)


MODEL = ModelSpec(
    name="s4d",
    title="S4D",
    family="state space",
    source="Gu et al., NeurIPS 2022, arXiv:2206.11893, and the authors' minimal code",
    layer=S4D,
    lr=learning_rate(1e-4, 1e-1),
    count=lambda p, d, q, states=64, **_: d * p + 3 * d + 2 * d * states + (d + 1) * q,
)
