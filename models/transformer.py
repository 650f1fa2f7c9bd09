"""Causal Transformer with rotary positions: the reference model without a recurrence."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import ClassVar

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import scaled_dot_product_attention, silu

from longwave.models.base.algebra import affine
from longwave.models.base.layer import Generators, State
from longwave.models.base.param import OptionValue, learning_rate
from longwave.models.base.sequence import SequenceLayer
from longwave.models.base.spec import ModelSpec
from longwave.models.base.weights import WeightGroup

BASE = 10_000.0
"""Base of the rotary angles."""
EPSILON = 1e-6
"""Epsilon of the norms' mean square."""
STD = 0.02
"""Initial standard deviation of the weights."""

Weights = dict[str, Tensor]


class Transformer(SequenceLayer[Weights]):
    """Transformer with rotary positions and gated maps, (T, B, p) to (T, B, d).

    Source: Vaswani et al. 2017 (arXiv:1706.03762) with RoPE of Su et al. 2021 (arXiv:2104.09864), root mean square
    norms and SwiGLU, as in flash-linear-attention's baseline. With u⁰ = E x + e, layer k = 1 … L is::

        v = norm(uᵏ⁻¹)         a = uᵏ⁻¹ + O softmax(R(Q v) · R(K v) / √w, causal) V v
        z = norm(a)            uᵏ = a + W_down (SiLU(W_gate z) W_up z)

    and the read-out sees norm(uᴸ), at the last step if the target is one value. R rotates the pairs of each head, w
    wide, by angles n · 10000^(−2i/w) at step n. If 2 · heads does not divide d, the width of a head is rounded up to an
    even number. W_gate and W_up have ⌈d/3⌉ · 8 units. No state is carried between calls. It costs T² products, so it
    suits short sequences. Second derivatives need ``torch.nn.attention.sdpa_kernel(SDPBackend.MATH)`` around the call:
    torch's fused attention has none on CPUs.

    All weights start as N(0, 0.02²), O and W_down as N(0, 0.02²/(2L)), E and e as torch.nn.Linear's; scales of norms as
    1, without weight decay. Trainable parameters: dp + d + L (4da + 3df + 2d) + d for heads of total width a and f
    units.

    Args:
        layers: L.
        heads: Heads of the attention.
        input_size, hidden_size, members, batch_first: See ``Recurrence``.
    """

    WEIGHTS = dict
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {"layers": (2, 1, 3, 4, 6), "heads": (4, 1, 2, 8)}
    GROUPS: ClassVar[Mapping[str, WeightGroup]] = {"norms": WeightGroup(("before", "between", "behind"), decay=False)}
    layers: int
    heads: int

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of encoder, layers and the last norm; the weights of layer k end in k."""
        p, d = self.input_size, self.hidden_size
        a, f = sizes(d, self.heads)
        layer = {"before": (d,), "Q": (a, d), "K": (a, d), "V": (a, d), "O": (d, a)}
        layer |= {"between": (d,), "gate": (f, d), "up": (f, d), "down": (d, f)}
        numbered = {f"{name}{k}": shape for k in range(1, self.layers + 1) for name, shape in layer.items()}
        return {"E": (d, p), "e": (d,), **numbered, "behind": (d,)}

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight`` as described in the class."""
        kind = self.kind(name)
        if kind in ("E", "e"):
            bound = self.input_size**-0.5
            nn.init.uniform_(weight, -bound, bound, generator=generator)
        elif weight.ndim == 1:
            weight.fill_(1.0)
        else:
            std = STD * (2 * self.layers) ** -0.5 if kind in ("O", "down") else STD
            nn.init.normal_(weight, 0.0, std, generator=generator)

    def kind(self, name: str) -> str:
        """Return the name of a weight inside its layer."""
        return name.rstrip("0123456789")

    def weights(self, tensors: Mapping[str, Tensor]) -> Weights:
        """Return the weights by name."""
        return dict(tensors)

    def scan(self, x: Tensor, state: State, w: Weights, generators: Generators) -> tuple[Tensor, State]:
        """Return the outputs (M, T, B, d) for x (M, T, B, p), and no state."""
        u = affine(w["E"], x, w["e"])
        turn = rotation(x.shape[1], w["Q1"].shape[1] // self.heads, u)
        for k in range(1, self.layers + 1):
            v = _normed(u, w[f"before{k}"])
            q, key, value = (self._by_head(affine(w[f"{name}{k}"], v)) for name in "QKV")
            attended = scaled_dot_product_attention(rotated(q, turn), rotated(key, turn), value, is_causal=True)
            by_member = attended.unflatten(0, u.shape[:3:2])
            u = u + affine(w[f"O{k}"], by_member.permute(0, 3, 1, 2, 4).flatten(3))
            z = _normed(u, w[f"between{k}"])
            u = u + affine(w[f"down{k}"], silu(affine(w[f"gate{k}"], z)) * affine(w[f"up{k}"], z))
        return _normed(u, w["behind"]), ()

    def _by_head(self, rows: Tensor) -> Tensor:
        """Return (M · B, heads, T, w) of (M, T, B, heads · w): given five dimensions, torch would store T² scores."""
        return rows.reshape(*rows.shape[:-1], self.heads, -1).permute(0, 2, 3, 1, 4).flatten(0, 1)


def sizes(d: int, heads: int) -> tuple[int, int]:
    """Return the total width of the heads, each even, and the units of the gated map."""
    return 2 * ceil(d / (2 * heads)) * heads, 8 * ceil(d / 3)


def rotation(steps: int, width: int, like: Tensor) -> Tensor:
    """Return cosine and sine of the rotary angles, (2, T, w / 2)."""
    rates = BASE ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angles = torch.outer(torch.arange(steps, dtype=torch.float64), rates)
    return torch.stack([angles.cos(), angles.sin()]).to(like)


def rotated(rows: Tensor, turn: Tensor) -> Tensor:
    """Return (..., T, w) with the pair (i, i + w/2) of each step rotated by its angle."""
    (cos, sin), (a, b) = turn, rows.chunk(2, -1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


def _normed(u: Tensor, scale: Tensor) -> Tensor:
    size = (u.square().mean(-1, keepdim=True) + EPSILON).sqrt()
    return u / size * scale.unsqueeze(1)


def count(p: int, d: int, q: int, layers: int = 2, heads: int = 4, **_: OptionValue) -> int:
    """Return the trainable parameters of the layer and its read-out."""
    a, f = sizes(d, heads)
    return d * p + d + layers * (4 * d * a + 3 * d * f + 2 * d) + d + (d + 1) * q


MODEL = ModelSpec(
    name="transformer",
    title="Transformer",
    family="attention",
    source="Vaswani et al., NeurIPS 2017, arXiv:1706.03762; Su et al. 2021, arXiv:2104.09864",
    layer=Transformer,
    lr=learning_rate(1e-4, 1e-1),
    count=count,
)
