"""Mamba-2: a selective state-space model with one decay per head."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from torch import Generator, Tensor, exp, nn
from torch.nn.functional import silu, softplus

from longwave.models.base.algebra import affine
from longwave.models.base.heads import head_sizes, outer, read, rms_normed
from longwave.models.base.layer import State
from longwave.models.base.matrix_recurrence import MatrixRecurrence
from longwave.models.base.param import OptionValue, learning_rate
from longwave.models.base.spec import ModelSpec
from longwave.models.base.time_steps import draw_time_steps
from longwave.models.base.weights import WeightGroup
from longwave.models.kernels.matrix.form import Form

RATES = (1.0, 16.0)
"""Range of the initial exp(A_log)."""


@dataclass(frozen=True)
class Mamba2Weights:
    """X and Z (M, d, p), B and C (M, N, p), dt (M, H, p), vectors of H and, the norm's scale, of d (M, 1, ·)."""

    X: Tensor
    Z: Tensor
    B: Tensor
    C: Tensor
    dt: Tensor
    dt_bias: Tensor
    A_log: Tensor
    D: Tensor
    scale: Tensor


class Mamba2(MatrixRecurrence[Mamba2Weights]):
    """State-space duality layer with its gate, (T, B, p) to (T, B, d).

    Source: Dao and Gu 2024 (arXiv:2405.21060), §7, and the authors' code, where d is the inner width; each of H heads,
    w = ⌈d/heads⌉ columns wide, has one decay, and all share B and C, so that S is one matrix of N × d::

        x, B, C = SiLU(X u), SiLU(B u), SiLU(C u)       Δ = softplus(dt u + b)       A = −exp(A_log)
        S[n] = exp(Δ A) S[n-1] + Δ B xᵀ                  y[n] = norm((S[n]ᵀ C + D x) SiLU(Z u)) s

    Maps start as torch.nn.Linear's, A_log as log U(1, 16), D and s as 1, b as softplus⁻¹(Δ₀) with log Δ₀ uniform
    between log 0.001 and log 0.1; A_log, D, b and s have no weight decay. If ``heads`` does not divide d,
    the last head has fewer columns. The read-out sees y; short convolution and output map belong to the residual block,
    see ``base.block``. Trainable parameters: 2pd + 2pN + pH + 3H + d.

    Args:
        states: N.
        heads: Number of heads, at most.
        input_size, hidden_size, members, batch_first: See ``Recurrence``.
    """

    WEIGHTS = Mamba2Weights
    STATE = ("S",)
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {"states": (64, 16, 32, 128), "heads": (4, 1, 2, 8)}
    GROUPS: ClassVar[Mapping[str, WeightGroup]] = {
        "norms": WeightGroup(("scale",), decay=False),
        "rates": WeightGroup(("A_log", "D", "dt_bias"), decay=False),
    }
    states: int
    heads: int

    def form(self) -> Form:
        """Return one matrix (N, d), and the axes of Δ, x, B, C, A and D."""
        drives = {"dt": "j", "x": "j", "B": "i", "C": "i"}
        return Form(1, self.states, self.hidden_size, {"S": "ij"}, drives, {"A": "j", "D": "j"})

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return X and Z (d, p), B and C (N, p), dt (H, p), dt_bias, A_log and D (H,), scale (d,)."""
        p, d, n, (heads, _) = self.input_size, self.hidden_size, self.states, head_sizes(self.hidden_size, self.heads)
        maps = {"X": (d, p), "Z": (d, p), "B": (n, p), "C": (n, p), "dt": (heads, p)}
        return {**maps, **dict.fromkeys(("dt_bias", "A_log", "D"), (heads,)), "scale": (d,)}

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight`` as in the authors' code."""
        if name == "A_log":
            nn.init.uniform_(weight, *RATES, generator=generator).log_()
        elif name == "dt_bias":
            draw_time_steps(weight, generator)
        elif name in ("D", "scale"):
            weight.fill_(1.0)
        else:
            bound = self.input_size**-0.5
            nn.init.uniform_(weight, -bound, bound, generator=generator)

    def constants(self, w: Mamba2Weights) -> tuple[Tensor, ...]:
        """Return A and D."""
        return -exp(self._by_column(w.A_log)).unsqueeze(1), self._by_column(w.D).unsqueeze(1)

    def drive(self, x: Tensor, w: Mamba2Weights) -> tuple[Tensor, ...]:
        """Return Δ, x, B and C."""
        dt = self._by_column(softplus(affine(w.dt, x, w.dt_bias)))
        parts = (dt, *(silu(affine(m, x)) for m in (w.X, w.B, w.C)))
        return tuple(part.unsqueeze(-2) for part in parts)

    def _by_column(self, numbers: Tensor) -> Tensor:
        """Return (..., d) of (..., H): each column gets the value of its head."""
        _, width = head_sizes(self.hidden_size, self.heads)
        return numbers.repeat_interleave(width, -1)[..., : self.hidden_size]

    def step(self, u: tuple[Tensor, ...], state: State, constants: tuple[Tensor, ...]) -> tuple[Tensor, State]:
        """Return S[n]ᵀ C + D x and (S[n],)."""
        (dt, x, B, C), (A, D) = u, constants
        S = exp(dt * A).unsqueeze(-2) * state[0] + outer(B, dt * x)
        return read(S, C) + D * x, (S,)

    def finish(self, outputs: Tensor, x: Tensor, w: Mamba2Weights) -> Tensor:
        """Return y."""
        return rms_normed(outputs.flatten(-2) * silu(affine(w.Z, x))) * w.scale.unsqueeze(1)


def count(p: int, d: int, q: int, states: int = 64, heads: int = 4, **_: OptionValue) -> int:
    """Return the trainable parameters of the layer and its read-out."""
    heads, _width = head_sizes(d, heads)
    return p * (2 * d + 2 * states + heads) + 3 * heads + d + (d + 1) * q


MODEL = ModelSpec(
    name="mamba2",
    title="Mamba-2",
    family="state space",
    source="Dao and Gu, ICML 2024, arXiv:2405.21060",
    layer=Mamba2,
    lr=learning_rate(1e-4, 1e-1),
    count=count,
)
