"""Gated DeltaNet: the delta rule on a memory that also decays, with a gated output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import ClassVar

from torch import Generator, Tensor, exp, nn, sigmoid
from torch.nn.functional import silu, softplus

from longwave.models.base.algebra import affine
from longwave.models.base.heads import head_sizes, overwrite, read
from longwave.models.base.layer import State
from longwave.models.base.param import OptionValue, learning_rate
from longwave.models.base.spec import ModelSpec
from longwave.models.base.time_steps import draw_time_steps
from longwave.models.base.weights import WeightGroup
from longwave.models.deltanet import RATES, Heads
from longwave.models.kernels.matrix.form import Form

MOST_RATE = 16.0
"""Largest initial exp(A_log)."""


@dataclass(frozen=True)
class GatedDeltaNetWeights:
    """Q and K (M, Hk, p), V and G (M, d, p), A and B (M, H, p), A_log and dt_bias (M, 1, H), scale (M, 1, w)."""

    Q: Tensor
    K: Tensor
    V: Tensor
    G: Tensor
    A: Tensor
    B: Tensor
    A_log: Tensor
    dt_bias: Tensor
    scale: Tensor


class GatedDeltaNet(Heads[GatedDeltaNetWeights]):
    """Delta rule with decay and an output gate, (T, B, p) to (T, B, d).

    Source: Yang et al. 2025 (arXiv:2412.06464), eq. 10, as in flash-linear-attention; q, k and v as in DeltaNet, but
    queries and keys have ⌈w/2⌉ entries, so that the length of q is ⌈w/2⌉^(−1/2); values have w::

        α = exp(−exp(A_log) softplus(A x + b))        β = σ(B x)
        S[n] = α S[n-1] + β k (v − α S[n-1]ᵀ k)ᵀ       o[n] = norm(S[n]ᵀ q) s SiLU(G x)

    With ``eigenvalues`` of −1 to 1 β is twice as large. All maps start as N(0, 0.02²), A_log as log U(0, 16), b as
    softplus⁻¹(Δ₀) with log Δ₀ uniform between log 0.001 and log 0.1, s as 1; A_log, b and s have no
    weight decay. The read-out sees o; output map, short convolution and gated map belong to the residual block, see
    ``base.block``. Trainable parameters: 2pH⌈w/2⌉ + 2pd + 2pH + 2H + w.

    Args:
        heads: Number of heads, at most.
        eigenvalues: Range of 1 − β.
        input_size, hidden_size, members, batch_first: See ``Recurrence``.
    """

    WEIGHTS = GatedDeltaNetWeights
    STATE = ("S",)
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {"heads": (4, 1, 2, 8), "eigenvalues": tuple(RATES)}
    GROUPS: ClassVar[Mapping[str, WeightGroup]] = {
        "norms": WeightGroup(("scale",), decay=False),
        "rates": WeightGroup(("A_log", "dt_bias"), decay=False),
    }
    eigenvalues: str

    def form(self) -> Form:
        """Return H matrices (⌈w/2⌉, w), and the axes of q, k, v, β and α."""
        heads, width = self.head_sizes
        return Form(heads, ceil(width / 2), width, {"S": "ij"}, {"q": "i", "k": "i", "v": "j", "beta": "", "alpha": ""})

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes given in the docstring of the weights."""
        p, d, (heads, width) = self.input_size, self.hidden_size, self.head_sizes
        keys = (heads * ceil(width / 2), p)
        maps = {"Q": keys, "K": keys, "V": (d, p), "G": (d, p), "A": (heads, p), "B": (heads, p)}
        return {**maps, "A_log": (heads,), "dt_bias": (heads,), "scale": (width,)}

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight`` as in the authors' code."""
        draw_decay(name, weight, generator) or super().draw(name, weight, hyper, generator)

    def drive(self, x: Tensor, w: GatedDeltaNetWeights) -> tuple[Tensor, ...]:
        """Return q, k, v, β and α."""
        beta = RATES[self.eigenvalues] * sigmoid(affine(w.B, x))
        return (*self.look_up(x, w.Q, w.K, w.V), beta, decays(x, w.A, w.dt_bias, w.A_log))

    def step(self, u: tuple[Tensor, ...], state: State, constants: tuple[Tensor, ...]) -> tuple[Tensor, State]:
        """Return S[n]ᵀ q and (S[n],)."""
        q, k, v, beta, alpha = u
        S = overwrite(alpha[..., None, None] * state[0], k, v, beta)
        return read(S, q), (S,)

    def finish(self, outputs: Tensor, x: Tensor, w: GatedDeltaNetWeights) -> Tensor:
        """Return o."""
        return self.normed(outputs, w.scale) * silu(affine(w.G, x))


def decays(x: Tensor, A: Tensor, bias: Tensor, log_rate: Tensor) -> Tensor:
    """Return α, (M, T, B, H), the share of its state that each head keeps."""
    return exp(-exp(log_rate).unsqueeze(1) * softplus(affine(A, x, bias)))


def draw_decay(name: str, weight: Tensor, generator: Generator | None) -> bool:
    """Fill A_log or dt_bias as the code does, and return whether it is one of them."""
    if name == "A_log":
        nn.init.uniform_(weight, 0.0, MOST_RATE, generator=generator).log_()
    elif name == "dt_bias":
        draw_time_steps(weight, generator)
    return name in ("A_log", "dt_bias")


def count(p: int, d: int, q: int, heads: int = 4, **_: OptionValue) -> int:
    """Return the trainable parameters of the layer and its read-out."""
    heads, width = head_sizes(d, heads)
    return p * (2 * heads * ceil(width / 2) + 2 * d + 2 * heads) + 2 * heads + width + (d + 1) * q


MODEL = ModelSpec(
    name="gated_deltanet",
    title="Gated DeltaNet",
    family="attention",
    source="Yang et al., ICLR 2025, arXiv:2412.06464, eq. 10",
    layer=GatedDeltaNet,
    lr=learning_rate(1e-4, 1e-1),
    count=count,
    printed={"eig [-1,1]": {"eigenvalues": "-1-1"}},
)
