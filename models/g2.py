"""G²: gradient gating, which slows down the channels of a node that differ little from its neighbours'."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, tanh

from longwave.models.base.algebra import affine
from longwave.models.base.couplings import COUPLINGS, Conv, activated, count_conv
from longwave.models.base.geometric import Links, lacks
from longwave.models.base.graph import EncodedLayer, depths
from longwave.models.base.layer import Generators
from longwave.models.base.param import OptionValue, Param, learning_rate
from longwave.models.base.spec import ModelSpec

TABLE = "thesis, Table 8.4"
P = Param("p", "p", 1.0, 5.0, False, "1", "Power of the differences that set the rates.", TABLE, default=2.0)
ALPHA = Param(
    "alpha",
    "α",
    0.001,
    1.0,
    True,
    "1",
    "Power of the rates: 1 is G², 0 the plain network.",
    "thesis, Fig. 8.6",
    zero=True,
    most=1.0,
    searched=False,
)


@dataclass(frozen=True)
class GatingWeights:
    """The encoder, the convolution, a separate one for the rates if there is one, p, and α if given."""

    We: Tensor
    be: Tensor
    conv: Conv
    p: Tensor
    gate: Conv | None = None
    alpha: Tensor | None = None


class G2(EncodedLayer[GatingWeights]):
    """Gradient gating.

    Source: Rusch et al. 2022 (arXiv:2210.00513), thesis eq. 8.4, in the form of the authors' code::

        X[0] = ReLU(We x + be)
        U    = σ(F̂(X[n-1]))
        τ_ik = tanh(mean over the edges from i to j of |U_jk − U_ik|^p)
        X[n] = (1 − τ) X[n-1] + τ σ(F(X[n-1]))

    F and F̂ are convolutions as PyG's layers; σ is ReLU, for attention ELU and the mean of four neighbouring channels,
    as in ``gat``. The mean is over outgoing edges of i, while F uses incoming ones: the same on undirected graphs. A
    node without outgoing edges keeps X[0]. All layers share one convolution, as in the code. The read-out sees X[L].
    Convolutions start as PyG's, the encoder as torch.nn.Linear.

    0 ≤ τ ≤ 1, so each channel of X[n] lies between those of X[0] and of σ(F). Trainable parameters: d p + d and those
    of one convolution: GCN d² + d, GraphSAGE 2 d² + d, attention 4 (d² + 3 d); twice with ``second``; L times without
    ``shared``.

    Args:
        p: Power, > 0.
        alpha: τ^α in place of τ, 0 ≤ α ≤ 1; by default α = 1.
        coupling: F: ``"gcn"``, ``"gat"`` or ``"sage"``.
        layers: L.
        second: Whether F̂ is a separate convolution, not F.
        aggregate: ``"mean"``, or ``"sum"`` as in eq. 8.4.
        rate: ``"multi"``, or ``"single"``, the ablation of eq. 8.26: τ_i = tanh(mean of ‖U_j − U_i‖_p) for all k.
        shared: Whether all layers share one convolution.
        input_size, hidden_size, members: See ``Layer``.
    """

    WEIGHTS = GatingWeights
    PARAMS = (P, ALPHA)
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {
        "layers": depths(2),
        "coupling": COUPLINGS,
        "second": (False, True),
        "aggregate": ("mean", "sum"),
        "rate": ("multi", "single"),
        "shared": (True, False),
    }
    coupling: str
    second: bool
    aggregate: str
    rate: str

    def conv_kinds(self) -> dict[str, str]:
        """Return the coupling of F, and with ``second`` of F̂."""
        return {"conv_": self.coupling, **({"gate_": self.coupling} if self.second else {})}

    def states(self, x: Tensor, links: Links, w: GatingWeights, generators: Generators) -> Iterator[Tensor]:
        """Yield X[0] ... X[L], (M, N, d)."""
        x = affine(w.We, x, w.be).relu()
        yield x
        for k in range(self.layers):
            proposed = activated(self.coupling, w.conv(self.coupling, x, links, k))
            u = proposed if w.gate is None else activated(self.coupling, w.gate(self.coupling, x, links, k))
            x = torch.lerp(x, proposed, self.rates(u, links, w))
            yield x

    def rates(self, u: Tensor, links: Links, w: GatingWeights) -> Tensor:
        """Return τ, (M, N, d), or (M, N, 1) with a single rate."""
        flat, (begin, end) = u.flatten(0, 1), links.edges
        apart = (flat[end] - flat[begin]).abs()
        p = w.p.expand(-1, u.shape[1], 1).flatten(0, 1)[begin]
        rates = _power(apart, p)
        if self.rate == "single":
            rates = _power(rates.sum(-1, keepdim=True), 1 / p)
        total = rates.new_zeros(links.nodes, rates.shape[-1]).index_add(0, begin, rates)
        if self.aggregate == "mean":
            count = torch.bincount(begin, minlength=links.nodes).clamp_min(1)
            total = total / count.unsqueeze(-1)
        tau = tanh(total).unflatten(0, u.shape[:2])
        return tau if w.alpha is None else torch.where(w.alpha > 0, _power(tau, w.alpha), 1.0)


def _power(x: Tensor, p: Tensor) -> Tensor:
    """Return x^p for x ≥ 0 and p > 0; its derivative at 0 is set to 0; for p < 1 it does not exist.

    By exp and log, which together cost a third of torch.pow of two tensors and its derivative.
    """
    positive = x > 0
    return (p * torch.where(positive, x, 1.0).log()).exp() * positive


def _count(
    p: int, d: int, q: int, layers: int = 2, coupling: str = "gcn", second: bool = False, shared: bool = True, **_: str
) -> int:
    convs = (2 if second else 1) * (1 if shared else layers)
    return d * p + d + convs * count_conv(coupling, d, d) + (d + 1) * q


MODEL = ModelSpec(
    name="g2",
    title="G²",
    family="gated",
    source="Rusch, Chamberlain, Mahoney, Bronstein and Mishra, ICLR 2023, arXiv:2210.00513; thesis, eq. 8.4",
    layer=G2,
    lr=learning_rate(1e-4, 1e-2, TABLE),
    count=_count,
    printed={
        "gcn": {},
        "gat": {"coupling": "gat"},
        "graphsage": {"coupling": "sage"},
        "graphsage_single_rate": {"coupling": "sage", "rate": "single"},
    },
    lacks=lacks,
)
