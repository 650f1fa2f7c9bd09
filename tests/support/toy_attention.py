"""Causal attention: no state, no step, and a weight with three axes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from longwave.models.base.algebra import affine
from longwave.models.base.layer import Generators, State
from longwave.models.base.param import learning_rate
from longwave.models.base.sequence import SequenceLayer
from longwave.models.base.spec import ModelSpec


@dataclass(frozen=True)
class AttentionWeights:
    """Q, K and V in one, (M, 3, d, p), and O, (M, d, d)."""

    QKV: Tensor
    O: Tensor  # noqa: E741


class CausalAttention(SequenceLayer[AttentionWeights]):
    """Causal attention: y[n] = O softmax(Q x[n] · K x[m] / √d, m ≤ n) V x[m]."""

    WEIGHTS = AttentionWeights

    def shapes(self) -> dict[str, tuple[int, ...]]:
        p, d = self.input_size, self.hidden_size
        return {"QKV": (3, d, p), "O": (d, d)}

    def scan(self, x: Tensor, state: State, w: AttentionWeights, generators: Generators) -> tuple[Tensor, State]:
        q, k, v = torch.einsum("mtbp,mjdp->jmbtd", x, w.QKV)
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return affine(w.O, y.transpose(1, 2)), ()


MODEL = ModelSpec(
    name="toy_attention",
    title="Causal attention",
    family="toy",
    source="this test",
    layer=CausalAttention,
    lr=learning_rate(1e-3, 1e-2),
    count=lambda p, d, q, **_: 3 * d * p + d * d + (d + 1) * q,
)
