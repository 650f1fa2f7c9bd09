"""RWKV-7: a memory whose rows decay, and which erases along one key while it writes along another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, e
from typing import ClassVar

import torch
from torch import Generator, Tensor, exp, nn, sigmoid, tanh
from torch.nn.functional import layer_norm, normalize

from longwave.models.base.algebra import affine
from longwave.models.base.heads import by_head, head_sizes, outer, read
from longwave.models.base.layer import State
from longwave.models.base.matrix_recurrence import MatrixRecurrence
from longwave.models.base.param import OptionValue, learning_rate
from longwave.models.base.spec import ModelSpec
from longwave.models.base.weights import WeightGroup
from longwave.models.kernels.matrix.form import Form

FASTEST = e**-0.5
"""Largest rate −log w of a row."""
EPSILON = 1e-5
"""Epsilon of the norm's variance, times the width of a head."""
BOUNDS = {"R": 0.5, "K": 0.05, "V": 0.5}
"""Bounds of the initial maps, times √p."""


@dataclass(frozen=True)
class RWKV7Weights:
    """R and K (M, k, p), V (M, d, p), maps of low rank (M, r, p) and (M, k or d, r), vectors (M, 1, k or d)."""

    R: Tensor
    K: Tensor
    V: Tensor
    w0: Tensor
    w1: Tensor
    w2: Tensor
    a0: Tensor
    a1: Tensor
    a2: Tensor
    g1: Tensor
    g2: Tensor
    k_k: Tensor
    k_a: Tensor
    r_k: Tensor
    scale: Tensor
    shift: Tensor


class RWKV7(MatrixRecurrence[RWKV7Weights]):
    """Time mixing of RWKV-7, (T, B, p) to (T, B, d).

    Source: Peng et al. 2025 (arXiv:2503.14456) and the authors' code (BlinkDL/RWKV-LM), for a first layer; with a
    matrix S for each of H heads, which are ⌈d/heads⌉ wide, and at least two, as a norm of one number is trivial::

        r, k, v = R x, K x, V x                    κ = k k_k / ‖k k_k‖           a = σ(a0 + a2 a1 x)
        w = exp(−e^(−1/2) σ(w0 + w2 tanh(w1 x)))   k̃ = k (1 + (a − 1) k_a)       g = g2 σ(g1 x)
        S[n] = diag(w) S[n-1] − (a κ) (S[n-1]ᵀ κ)ᵀ + k̃ vᵀ
        o[n] = g (norm(S[n]ᵀ r) scale + shift + (Σ r k̃ r_k) v)

    norm(·) takes mean and variance of each head. The code's token shift, a separate convolution over two steps for each
    map, is replaced by the single convolution of a residual block, ``conv = 2``; the output map also belongs to the
    block, see ``base.block``. Low-rank maps have the rank ⌈2.5 √d⌉ for a and w and ⌈5 √d⌉ for g, which the code rounds
    to multiples of 32. If ``heads`` does not divide d, the last head has fewer columns and is padded with zeros.

    R and V start as U(−1/(2√p), 1/(2√p)), K as a tenth of that; w1, a1 and g1 as 0, w2, a2 and g2 orthogonal with gain
    0.1; w0 from −5.5 to 0.5 and a0 from −0.39 to 0.01 over all features, each with a quadratic term within a head, k_k
    from 0.76 to 0.66, k_a as 1.02, r_k as −0.04, scale as 1, shift as 0. Only R, K and V have weight decay, and w0 has
    twice the learning rate. The read-out sees o. Trainable parameters: 2pk + pd + (2r + s) p + 2rk + sd + 5k + 2d for k
    rows of all heads and the ranks r and s.

    Args: ``heads``, 4, 1, 2 or 8 at most; for the others see ``Recurrence``.
    """

    WEIGHTS = RWKV7Weights
    STATE = ("S",)
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {"heads": (4, 1, 2, 8)}
    GROUPS: ClassVar[Mapping[str, WeightGroup]] = {
        "decay": WeightGroup(("w0",), rate=2.0, decay=False),
        "others": WeightGroup(
            ("w1", "w2", "a0", "a1", "a2", "g1", "g2", "k_k", "k_a", "r_k", "scale", "shift"), decay=False
        ),
    }
    heads: int

    def form(self) -> Form:
        """Return H matrices (w, w), and the axes of r, w, k̃, v, κ and a."""
        heads, width = wide_heads(self.hidden_size, self.heads)
        drives = {"r": "i", "decay": "i", "k": "i", "v": "j", "kappa": "i", "a": "i"}
        return Form(heads, width, width, {"S": "ij"}, drives)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes given in the docstring of the weights."""
        p, d = self.input_size, self.hidden_size
        (heads, width), (r, s) = wide_heads(d, self.heads), ranks(d)
        keys = heads * width
        low = {"w0": (keys,), "w1": (r, p), "w2": (keys, r), "a0": (keys,), "a1": (r, p), "a2": (keys, r)}
        vectors = {**dict.fromkeys(("k_k", "k_a", "r_k"), (keys,)), "scale": (d,), "shift": (d,)}
        return {"R": (keys, p), "K": (keys, p), "V": (d, p), **low, "g1": (s, p), "g2": (d, s), **vectors}

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight`` as the authors' code does in a first layer."""
        if name in BOUNDS:
            bound = BOUNDS[name] * self.input_size**-0.5
            nn.init.uniform_(weight, -bound, bound, generator=generator)
        elif name in ("w2", "a2", "g2"):
            nn.init.orthogonal_(weight, 0.1, generator=generator)
        elif name in ("w0", "a0", "k_k"):
            ramp = torch.linspace(0, 1, len(weight))
            bend = torch.linspace(-1, 1, self.form().rows).repeat(self.form().heads)
            bend = bend * bend.abs()
            starts = {"w0": 6 * ramp - 5.5 + 2.5 * bend, "a0": 0.4 * ramp - 0.39 + 0.3 * bend, "k_k": 0.76 - 0.1 * ramp}
            weight.copy_(starts[name])
        else:
            weight.fill_({"k_a": 1.02, "r_k": -0.04, "scale": 1.0}.get(name, 0.0))

    def drive(self, x: Tensor, w: RWKV7Weights) -> tuple[Tensor, ...]:
        """Return r, w, k̃, v, κ and a."""
        r, k, changed, v, a = self._mixed(x, w)
        decay = exp(-FASTEST * sigmoid(affine(w.w2, tanh(affine(w.w1, x)), w.w0)))
        decay, scale = (by_head(part, r.shape[-2]) for part in (decay, w.k_k))
        return r, decay, changed, v, normalize(k * scale.unsqueeze(1), dim=-1), a

    def _mixed(self, x: Tensor, w: RWKV7Weights) -> tuple[Tensor, ...]:
        """Return r, k, k̃, v and a by heads."""
        k, a = affine(w.K, x), sigmoid(affine(w.a2, affine(w.a1, x), w.a0))
        changed = k * (1 + (a - 1) * w.k_a.unsqueeze(1))
        heads = self.form().heads
        return tuple(by_head(part, heads) for part in (affine(w.R, x), k, changed, affine(w.V, x), a))

    def step(self, u: tuple[Tensor, ...], state: State, constants: tuple[Tensor, ...]) -> tuple[Tensor, State]:
        """Return S[n]ᵀ r and (S[n],)."""
        (r, decay, k, v, kappa, a), (S,) = u, state
        S = decay.unsqueeze(-1) * S - outer(a * kappa, read(S, kappa)) + outer(k, v)
        return read(S, r), (S,)

    def finish(self, outputs: Tensor, x: Tensor, w: RWKV7Weights) -> Tensor:
        """Return o."""
        r, _, k, v, _ = self._mixed(x, w)
        bonus = (r * k * by_head(w.r_k, r.shape[-2]).unsqueeze(1)).sum(-1, keepdim=True) * v
        columns = outputs.shape[-1]
        normed = layer_norm(outputs, (columns,), eps=columns * EPSILON)
        rows, bonus = (part.flatten(-2)[..., : self.hidden_size] for part in (normed, bonus))
        gate = affine(w.g2, sigmoid(affine(w.g1, x)))
        return gate * (rows * w.scale.unsqueeze(1) + w.shift.unsqueeze(1) + bonus)


def wide_heads(d: int, heads: int) -> tuple[int, int]:
    """Return ``head_sizes``, with few enough heads that each has two columns."""
    return head_sizes(d, min(heads, max(d // 2, 1)))


def ranks(d: int) -> tuple[int, int]:
    """Return the rank of the maps of a and w, and that of g."""
    return ceil(2.5 * d**0.5), ceil(5 * d**0.5)


def count(p: int, d: int, q: int, heads: int = 4, **_: OptionValue) -> int:
    """Return the trainable parameters of the layer and its read-out."""
    (heads, width), (r, s) = wide_heads(d, heads), ranks(d)
    keys = heads * width
    return p * (2 * keys + d + 2 * r + s) + 2 * r * keys + s * d + 5 * keys + 2 * d + (d + 1) * q


MODEL = ModelSpec(
    name="rwkv7",
    title="RWKV-7",
    family="attention",
    source="Peng et al. 2025, arXiv:2503.14456, and the authors' code",
    layer=RWKV7,
    lr=learning_rate(1e-4, 1e-1),
    count=count,
)
