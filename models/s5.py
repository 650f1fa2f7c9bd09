"""S5: a diagonal state-space model with the eigenvalues of HiPPO-LegS, discretised by zero-order hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import ceil
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator, Tensor, cos, exp, nn, sin

from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.param import OptionValue, learning_rate
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import Best, ModelSpec
from longwave.models.base.time_steps import draw_log_steps
from longwave.models.base.weights import WeightGroup

SLOWEST = -1e-4
"""Largest real part of an eigenvalue."""


@dataclass(frozen=True)
class S5Weights:
    """Re Λ, Im Λ and log Δ, (M, 1, d), and B's real and imaginary part, (M, d, p)."""

    L_re: Tensor
    L_im: Tensor
    log_dt: Tensor
    B_re: Tensor
    B_im: Tensor


class S5(Recurrence[S5Weights]):
    """Simplified structured state-space layer, (T, B, p) to (T, B, 2d).

    Source: Smith et al. 2023 (arXiv:2208.04933), with d of the 2d states kept, one of each conjugate pair::

        x[n] = λ x[n-1] + 2 (λ − 1)/Λ (B u[n]),        λ = exp(Λ Δ),   Re Λ ≤ −10⁻⁴

    with a step Δ for each state. The factor 2 is that of the paper's output 2 Re(C x). Λ starts as the eigenvalues of
    the normal part of HiPPO-LegS, of ``blocks`` equal matrices; log Δ is uniform between log 0.001 and log 0.1; B is
    normal with variance 1/(2p) in each part, the distribution of Vᴴ B for the paper's B. The read-out sees Re x and Im
    x, and starts as N(0, 1/(4d)), the distribution of C V, with bias 0. D u and the output map belong to the residual
    block, see ``base.block``. Trainable parameters: 2dp + 3d.

    Λ, Δ and B have a quarter of the learning rate (in the paper a half to a fifth) and no weight decay.

    Args:
        blocks: Number J of matrices from which Λ starts; if J does not divide d, surplus eigenvalues of the last are
            dropped.
        input_size, hidden_size, members, batch_first: See ``Recurrence``.
    """

    WEIGHTS = S5Weights
    STATE = ("re", "im")
    OUTPUTS = 2
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {"blocks": (1, 2, 4, 8, 16)}
    GROUPS: ClassVar[Mapping[str, WeightGroup]] = {
        "recurrent": WeightGroup(("L_re", "L_im", "log_dt", "B_re", "B_im"), rate=0.25, decay=False)
    }
    blocks: int

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return L_re, L_im and log_dt (d,), B_re and B_im (d, p)."""
        p, d = self.input_size, self.hidden_size
        return {"L_re": (d,), "L_im": (d,), "log_dt": (d,), "B_re": (d, p), "B_im": (d, p)}

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight`` as in the paper."""
        if name == "L_re":
            weight.fill_(-0.5)
        elif name == "L_im":
            spectrum = torch.from_numpy(frequencies(2 * ceil(self.hidden_size / self.blocks)))
            weight.copy_(spectrum.repeat(self.blocks)[: self.hidden_size])
        elif name == "log_dt":
            draw_log_steps(weight, generator)
        else:
            nn.init.normal_(weight, 0.0, (2 * self.input_size) ** -0.5, generator=generator)

    def draw_readout(self, weight: Tensor, bias: Tensor, generator: Generator | None) -> None:
        """Fill the read-out, C V: N(0, 1/(4d)), bias 0."""
        nn.init.normal_(weight, 0.0, (4 * self.hidden_size) ** -0.5, generator=generator)
        bias.zero_()

    def drive(self, x: Tensor, w: S5Weights) -> tuple[Tensor, ...]:
        """Return Re and Im of 2 (λ − 1)/Λ B u."""
        re, im = w.L_re.clamp(max=SLOWEST), w.L_im
        growth, angle = re * exp(w.log_dt), im * exp(w.log_dt)
        # λ − 1 = exp(a + i b) − 1, without cancellation.
        half = sin(angle / 2)
        less_re, less_im = torch.expm1(growth) * cos(angle) - 2 * half * half, exp(growth) * sin(angle)
        square = re * re + im * im
        k_re = (2 * (less_re * re + less_im * im) / square).mT
        k_im = (2 * (less_im * re - less_re * im) / square).mT
        return affine(k_re * w.B_re - k_im * w.B_im, x), affine(k_re * w.B_im + k_im * w.B_re, x)

    def step(self, u: tuple[Tensor, ...], state: State, w: S5Weights) -> State:
        """Return Re and Im of x[n]."""
        re, im = state
        dt = exp(w.log_dt)
        size, angle = exp(w.L_re.clamp(max=SLOWEST) * dt), w.L_im * dt
        a, b = size * cos(angle), size * sin(angle)
        return a * re - b * im + u[0], b * re + a * im + u[1]


@cache
def frequencies(n: int) -> NDArray[np.float64]:
    """Return the negative imaginary parts, (n / 2,), of the eigenvalues of the normal part of HiPPO-LegS, (n, n)."""
    root = np.sqrt(2 * np.arange(n) + 1.0)
    normal = -np.tril(np.outer(root, root)) + np.diag(np.arange(n)) + np.outer(root, root) / 2
    skew = (normal - normal.T) / 2
    return np.asarray(np.linalg.eigvalsh(-1j * skew)[: n // 2], np.float64)


MODEL = ModelSpec(
    name="s5",
    title="S5",
    family="state space",
    source="Smith et al., ICLR 2023, arXiv:2208.04933",
    layer=S5,
    lr=learning_rate(1e-4, 1e-1),
    count=lambda p, d, q, **_: 2 * d * p + 3 * d + (2 * d + 1) * q,
    best=(
        Best("eigenworms", 8, {"lr": 1e-4, "blocks": 8}, "in 2 blocks of width 64 with time as an input, other splits"),
    ),
    best_source="Walker et al. 2024, stored settings",
)
