"""Gated DeltaProduct: products of delta rules on a memory that also decays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from torch import Generator, Tensor

from longwave.models.base.heads import head_sizes
from longwave.models.base.layer import State
from longwave.models.base.param import OptionValue, learning_rate
from longwave.models.base.spec import ModelSpec
from longwave.models.base.weights import WeightGroup
from longwave.models.deltaproduct import DeltaProductWeights, DeltaRules
from longwave.models.deltaproduct import count as count_without_decay
from longwave.models.gated_deltanet import decays, draw_decay
from longwave.models.kernels.matrix.form import Form


@dataclass(frozen=True)
class GatedDeltaProductWeights(DeltaProductWeights):
    """And A (M, H, p), A_log and dt_bias (M, 1, H)."""

    A: Tensor
    A_log: Tensor
    dt_bias: Tensor


class GatedDeltaProduct(DeltaRules[GatedDeltaProductWeights]):
    """DeltaProduct with decay, (T, B, p) to (T, B, d).

    Source: Siems et al. 2025 (arXiv:2502.10297); as DeltaProduct, but S decays before its products::

        S ← α S,  α = exp(−exp(A_log) softplus(A x + b))        S ← S + βᵢ kᵢ (vᵢ − Sᵀ kᵢ)ᵀ  for i = 1 … n

    A_log and b start as in Gated DeltaNet, without weight decay, all else as in DeltaProduct. The read-out sees
    o = norm(Sᵀ q) s, without the gate of flash-linear-attention. Trainable parameters: DeltaProduct's and
    pH + 2H.

    Args: see ``DeltaProduct``.
    """

    WEIGHTS = GatedDeltaProductWeights
    GROUPS: ClassVar[Mapping[str, WeightGroup]] = {
        **DeltaRules.GROUPS,
        "rates": WeightGroup(("A_log", "dt_bias"), decay=False),
    }

    def form(self) -> Form:
        """Return the form of DeltaProduct with α after its drives."""
        form = super().form()
        return replace(form, drives={**form.drives, "alpha": ""})

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return DeltaProduct's, A (H, p), A_log and dt_bias (H,)."""
        heads, _ = self.head_sizes
        return {**super().shapes(), "A": (heads, self.input_size), "A_log": (heads,), "dt_bias": (heads,)}

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight`` as in the authors' code."""
        draw_decay(name, weight, generator) or super().draw(name, weight, hyper, generator)

    def drive(self, x: Tensor, w: GatedDeltaProductWeights) -> tuple[Tensor, ...]:
        """Return q, then k, v and β of each product, and α."""
        return (*super().drive(x, w), decays(x, w.A, w.dt_bias, w.A_log))

    def step(self, u: tuple[Tensor, ...], state: State, constants: tuple[Tensor, ...]) -> tuple[Tensor, State]:
        """Return S[n]ᵀ q and (S[n],)."""
        return super().step(u[:-1], (u[-1][..., None, None] * state[0],), constants)


def count(p: int, d: int, q: int, heads: int = 4, **options: OptionValue) -> int:
    """Return the trainable parameters of the layer and its read-out."""
    number, _ = head_sizes(d, heads)
    return count_without_decay(p, d, q, heads, **options) + number * (p + 2)  # type: ignore[arg-type]


MODEL = ModelSpec(
    name="gated_deltaproduct",
    title="Gated DeltaProduct",
    family="attention",
    source="Siems et al., NeurIPS 2025, arXiv:2502.10297",
    layer=GatedDeltaProduct,
    lr=learning_rate(1e-4, 1e-1),
    count=count,
    printed={"eig [-1,1]": {}},
)
