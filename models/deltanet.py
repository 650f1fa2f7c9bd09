"""DeltaNet: linear attention whose memory overwrites the value stored under a key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Generic

from torch import Generator, Tensor, nn, sigmoid
from torch.nn.functional import silu

from longwave.models.base.algebra import affine
from longwave.models.base.heads import by_head, head_sizes, overwrite, read, rms_normed, to_unit
from longwave.models.base.layer import State
from longwave.models.base.matrix_recurrence import MatrixRecurrence
from longwave.models.base.param import OptionValue, learning_rate
from longwave.models.base.spec import ModelSpec
from longwave.models.base.weights import W, WeightGroup
from longwave.models.kernels.matrix.form import Form

STD = 0.02
"""Initial standard deviation of the matrices."""
RATES = {"0-1": 1.0, "-1-1": 2.0}
"""The largest β by the range of the eigenvalues 1 − β."""


@dataclass(frozen=True)
class DeltaNetWeights:
    """Q and K (M, Hw, p), V (M, d, p), B (M, H, p), and the norm's scale (M, 1, w), for H heads of width w."""

    Q: Tensor
    K: Tensor
    V: Tensor
    B: Tensor
    scale: Tensor


class Heads(MatrixRecurrence[W], Generic[W]):
    """Base of layers with ``heads`` heads: d columns, split into heads of w; queries, keys, values and a norm."""

    heads: int

    @property
    def head_sizes(self) -> tuple[int, int]:
        """Heads H, and the columns w of each."""
        return head_sizes(self.hidden_size, self.heads)

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight``: N(0, 0.02²), and 1 for the norm's scale."""
        weight.fill_(1.0) if name == "scale" else nn.init.normal_(weight, 0.0, STD, generator=generator)

    def look_up(self, x: Tensor, Q: Tensor, K: Tensor, V: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries and keys (M, T, B, H, I), of length 1/√I and 1, and values (M, T, B, H, w)."""
        heads, _ = self.head_sizes
        q, k, v = (by_head(silu(affine(weight, x)), heads) for weight in (Q, K, V))
        return to_unit(q) * q.shape[-1] ** -0.5, to_unit(k), v

    def normed(self, outputs: Tensor, scale: Tensor) -> Tensor:
        """Return the outputs of all heads (M, T, B, H, w), each with mean square 1, concatenated (M, T, B, d)."""
        rows = rms_normed(outputs) * scale[:, :, None, None]
        return rows.flatten(-2)[..., : self.hidden_size]


class DeltaNet(Heads[DeltaNetWeights]):
    """Linear attention by the delta rule, (T, B, p) to (T, B, d).

    Source: Schlag et al. 2021 (arXiv:2102.11174) and Yang et al. 2024 (arXiv:2406.06484) as in flash-linear-attention;
    with a matrix S for each of H heads, which are w = ⌈d/heads⌉ wide::

        q, k = SiLU(Q x)/‖SiLU(Q x)‖ w^(−1/2), SiLU(K x)/‖SiLU(K x)‖       v = SiLU(V x)       β = σ(B x)
        S[n] = S[n-1] + β k (v − S[n-1]ᵀ k)ᵀ                                o[n] = norm(S[n]ᵀ q) s

    so that S stores v under k where β = 1. The step's matrix 1 − β k kᵀ has the eigenvalue 1 − β along k; with
    ``eigenvalues`` of −1 to 1 (Grazzi et al. 2025, arXiv:2411.12537) β is twice as large, and S can change its sign.
    norm(·) divides each head by its root mean square. If ``heads`` does not divide d, the last head has fewer columns
    and is padded with zeros.

    Q, K, V and B start as N(0, 0.02²), s as 1, without weight decay. The read-out sees o; output map, short convolution
    and gated map belong to the residual block, see ``base.block``. Trainable parameters: 2pHw + pd + pH + w.

    Args:
        heads: Number of heads, at most.
        eigenvalues: Range of 1 − β.
        input_size, hidden_size, members, batch_first: See ``Recurrence``.
    """

    WEIGHTS = DeltaNetWeights
    STATE = ("S",)
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {"heads": (4, 1, 2, 8), "eigenvalues": tuple(RATES)}
    GROUPS: ClassVar[Mapping[str, WeightGroup]] = {"norms": WeightGroup(("scale",), decay=False)}
    eigenvalues: str

    def form(self) -> Form:
        """Return H matrices (w, w), and the axes of q, k, v and β."""
        heads, width = self.head_sizes
        return Form(heads, width, width, {"S": "ij"}, {"q": "i", "k": "i", "v": "j", "beta": ""})

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return Q and K (Hw, p), V (d, p), B (H, p), scale (w,)."""
        p, d, (heads, width) = self.input_size, self.hidden_size, self.head_sizes
        return {"Q": (heads * width, p), "K": (heads * width, p), "V": (d, p), "B": (heads, p), "scale": (width,)}

    def drive(self, x: Tensor, w: DeltaNetWeights) -> tuple[Tensor, ...]:
        """Return q, k, v and β."""
        return (*self.look_up(x, w.Q, w.K, w.V), RATES[self.eigenvalues] * sigmoid(affine(w.B, x)))

    def step(self, u: tuple[Tensor, ...], state: State, constants: tuple[Tensor, ...]) -> tuple[Tensor, State]:
        """Return S[n]ᵀ q and (S[n],)."""
        q, k, v, beta = u
        S = overwrite(state[0], k, v, beta)
        return read(S, q), (S,)

    def finish(self, outputs: Tensor, x: Tensor, w: DeltaNetWeights) -> Tensor:
        """Return o."""
        return self.normed(outputs, w.scale)


def count(p: int, d: int, q: int, heads: int = 4, **_: OptionValue) -> int:
    """Return the trainable parameters of the layer and its read-out."""
    heads, width = head_sizes(d, heads)
    return p * (2 * heads * width + d + heads) + width + (d + 1) * q


MODEL = ModelSpec(
    name="deltanet",
    title="DeltaNet",
    family="attention",
    source="Yang et al., NeurIPS 2024, arXiv:2406.06484; Grazzi et al., ICLR 2025, arXiv:2411.12537",
    layer=DeltaNet,
    lr=learning_rate(1e-4, 1e-1),
    count=count,
    printed={"eig [0,1]": {}, "eig [-1,1]": {"eigenvalues": "-1-1"}},
)
