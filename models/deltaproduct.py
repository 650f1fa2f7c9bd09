"""DeltaProduct: several delta rules a step, whose product can rotate a state, not only reflect it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from torch import Tensor, sigmoid

from longwave.models.base.algebra import affine
from longwave.models.base.heads import head_sizes, overwrite, read
from longwave.models.base.layer import State
from longwave.models.base.param import OptionValue, learning_rate
from longwave.models.base.spec import ModelSpec
from longwave.models.base.weights import WeightGroup
from longwave.models.deltanet import RATES, DeltaNetWeights, Heads
from longwave.models.kernels.matrix.form import Form

PARTS = {"k": "i", "v": "j", "beta": ""}
"""Inputs of a delta rule, and their axes."""


@dataclass(frozen=True)
class DeltaProductWeights(DeltaNetWeights):
    """As DeltaNet's, with K (M, nHw, p), V (M, nd, p) and B (M, nH, p) for n products."""


P = TypeVar("P", bound=DeltaProductWeights)


class DeltaRules(Heads[P], Generic[P]):
    """Base of DeltaProduct without and with a decay."""

    STATE = ("S",)
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {
        "products": (2, 1, 3, 4),
        "heads": (4, 1, 2, 8),
        "eigenvalues": ("-1-1", "0-1"),
    }
    GROUPS: ClassVar[Mapping[str, WeightGroup]] = {"norms": WeightGroup(("scale",), decay=False)}
    products: int
    eigenvalues: str

    def form(self) -> Form:
        """Return H matrices (w, w), and the axes of q and of k, v and β of each product."""
        heads, width = self.head_sizes
        each = {f"{name}{k}": axes for k in range(1, self.products + 1) for name, axes in PARTS.items()}
        return Form(heads, width, width, {"S": "ij"}, {"q": "i", **each})

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return Q (Hw, p), K (nHw, p), V (nd, p), B (nH, p), scale (w,)."""
        p, d, n, (heads, width) = self.input_size, self.hidden_size, self.products, self.head_sizes
        maps = {"Q": (heads * width, p), "K": (n * heads * width, p), "V": (n * d, p), "B": (n * heads, p)}
        return {**maps, "scale": (width,)}

    def drive(self, x: Tensor, w: P) -> tuple[Tensor, ...]:
        """Return q, then k, v and β of each product."""
        parts = list[Tensor]()
        for K, V, B in zip(*(weight.chunk(self.products, 1) for weight in (w.K, w.V, w.B)), strict=True):
            q, k, v = self.look_up(x, w.Q, K, V)
            parts += [k, v, RATES[self.eigenvalues] * sigmoid(affine(B, x))]
        return (q, *parts)

    def step(self, u: tuple[Tensor, ...], state: State, constants: tuple[Tensor, ...]) -> tuple[Tensor, State]:
        """Return S[n]ᵀ q and (S[n],)."""
        (q, *parts), (S,) = u, state
        for k, v, beta in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            S = overwrite(S, k, v, beta)
        return read(S, q), (S,)

    def finish(self, outputs: Tensor, x: Tensor, w: P) -> Tensor:
        """Return o."""
        return self.normed(outputs, w.scale)


class DeltaProduct(DeltaRules[DeltaProductWeights]):
    """Linear attention by products of delta rules, (T, B, p) to (T, B, d).

    Source: Siems et al. 2025 (arXiv:2502.10297); as DeltaNet, but S goes through the delta rules of n = ``products``
    keys, values and rates before it is read::

        S ← S + βᵢ kᵢ (vᵢ − Sᵀ kᵢ)ᵀ  for i = 1 … n        o = norm(Sᵀ q) s

    The step's matrix is the product of all 1 − βᵢ kᵢ kᵢᵀ; two of them with β = 2 rotate S in the plane of their keys.
    Initialisation, norm, read-out and the parts of a residual block are DeltaNet's. Trainable parameters:
    pHw + n (pHw + pd + pH) + w.

    Args:
        products: Delta rules per step.
        heads: Number of heads, at most.
        eigenvalues: Range of 1 − β; the paper uses both.
        input_size, hidden_size, members, batch_first: See ``Recurrence``.
    """

    WEIGHTS = DeltaProductWeights


def count(p: int, d: int, q: int, heads: int = 4, products: int = 2, **_: OptionValue) -> int:
    """Return the trainable parameters of the layer and its read-out."""
    heads, width = head_sizes(d, heads)
    return p * (heads * width + products * (heads * width + d + heads)) + width + (d + 1) * q


MODEL = ModelSpec(
    name="deltaproduct",
    title="DeltaProduct",
    family="attention",
    source="Siems et al., NeurIPS 2025, arXiv:2502.10297",
    layer=DeltaProduct,
    lr=learning_rate(1e-4, 1e-1),
    count=count,
)
