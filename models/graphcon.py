"""GraphCON: oscillators at the nodes of a graph, coupled over its edges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from torch import Generator, Tensor, nn

from longwave.models.base.algebra import affine
from longwave.models.base.couplings import Attention, Conv, activated, count_conv
from longwave.models.base.geometric import HEADS, Links, lacks
from longwave.models.base.graph import DROPOUT, EncodedLayer, depths
from longwave.models.base.layer import Generators
from longwave.models.base.param import OptionValue, Param, learning_rate
from longwave.models.base.spec import Best, ModelSpec

WHERE = "thesis, section 7.4 and Fig. 7.3"
DT = Param("dt", "Δt", 0.1, 1.0, True, "layers", "Time step of a layer; paper: 1.", "", searched=False, default=1.0)
GAMMA = Param("gamma", "γ", 0.0, 2.0, False, "1", "Squared frequency.", WHERE, zero=True, default=1.0)
ALPHA = Param("alpha", "α", 0.0, 2.0, False, "1", "Damping of the velocity.", WHERE, zero=True, default=1.0)


@dataclass(frozen=True)
class GraphCONWeights:
    """The encoder, the convolutions or the attention, the residual map R and r, and Δt, γ, α."""

    We: Tensor
    be: Tensor
    dt: Tensor
    gamma: Tensor
    alpha: Tensor
    conv: Conv | None = None
    R: Tensor | None = None
    r: Tensor | None = None
    Q: Tensor | None = None
    q: Tensor | None = None
    K: Tensor | None = None
    k: Tensor | None = None


class GraphCON(EncodedLayer[GraphCONWeights]):
    """Graph-coupled oscillator network.

    Source: Rusch et al. 2022 (arXiv:2202.02296), thesis eq. 7.4::

        X[0] = Y[0] = We x + be
        Y[n] = Y[n-1] + Δt (σ(F[n](X[n-1])) − γ X[n-1] − α Y[n-1])
        X[n] = X[n-1] + Δt Y[n]

    F is a convolution as PyG's layers: ``"gcn"`` (eq. 7.5) or ``"gat"``, with σ ReLU, or for attention ELU and the
    mean of four neighbouring channels as in ``gat``. With ``"tran"`` F = A X without weights and σ the identity; A is
    computed once, from X[0], by scaled dot products with four heads, averaged; its rows sum to 1. The read-out sees
    X[L]. Dropout acts on X and on Y, each with its own mask, after each layer and before the first.

    The authors' code differs by experiment: on WebKB, superpixels and ZINC all layers share one convolution
    (``shared``), and there is a ``residual`` within σ; on WebKB X[0] = Y[0] is the ReLU of the encoder and all weights
    start as U(−1/√d, 1/√d) (``webkb``). On Cora, Citeseer and Pubmed it is another model: ``graphcon_citation``.

    With constant nodes, γ = 1 and rows of A that sum to 1, (X, Y) = (c, 0), c ≥ 0, is a steady state. Linear stability
    for α = 0: γ Δt² < 4. Without damping the Dirichlet energy does not decay; with α > 0 it may (the thesis'
    Remark 7.2.6 is about constant shifts, not about the energy). Trainable parameters: d p + d, and those of the
    convolutions: GCN d² + d, attention 4 (d² + 3 d) each, ``tran`` 8 (d² + d) in all; residual d² + d, with attention
    4 (d² + d), ``"map"`` 16 d² + 4 d.

    Args:
        dt: Δt > 0.
        gamma, alpha: γ, α ≥ 0.
        dropout: Share of X and of Y set to zero in training.
        layers: L.
        coupling: ``"gcn"``, ``"gat"`` or ``"tran"``.
        shared: Whether all layers share one convolution.
        residual: What is added to F(X) within σ: nothing; ``"plus"``: R X + r (superpixels); ``"difference"``:
            R X + r − W X (ZINC, and version 2 on WebKB); ``"map"``: −(R W X + r) (version 1 there).
        webkb: Whether to initialise as on WebKB.
        input_size, hidden_size, members: See ``Layer``.

    Raises:
        ValueError: A residual with ``tran``, which has no W.
    """

    WEIGHTS = GraphCONWeights
    PARAMS = (DT, GAMMA, ALPHA, DROPOUT)
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {
        "layers": depths(2),
        "coupling": ("gcn", "gat", "tran"),
        "shared": (False, True),
        "residual": ("none", "plus", "difference", "map"),
        "webkb": (False, True),
    }
    coupling: str
    residual: str
    webkb: bool

    @classmethod
    def check_options(cls, options: Mapping[str, OptionValue]) -> None:
        """Refuse a residual with ``tran``, which has no W."""
        if options["coupling"] == "tran" and options["residual"] != "none":
            raise ValueError(f"coupling tran takes residual none, got {options['residual']!r}.")

    def conv_kinds(self) -> dict[str, str]:
        """Return the coupling, unless it is ``tran``, which has no convolution."""
        return {} if self.coupling == "tran" else {"conv_": self.coupling}

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the encoder's, the convolutions' or the attention's weights, and those of the residual map."""
        d = self.hidden_size
        if self.coupling == "tran":
            a = HEADS * d
            return {**super().shapes(), "Q": (a, d), "q": (a,), "K": (a, d), "k": (a,)}
        if self.residual == "none":
            return super().shapes()
        wide = d * HEADS if self.coupling == "gat" else d
        return {**super().shapes(), "R": (wide, wide if self.residual == "map" else d), "r": (wide,)}

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight`` as its kind says; on WebKB all except biases as U(−1/√d, 1/√d)."""
        if self.webkb and name not in ("be", "r", "conv_b"):
            nn.init.uniform_(weight, -(self.hidden_size**-0.5), self.hidden_size**-0.5, generator=generator)
        else:
            super().draw(name, weight, hyper, generator)

    def states(self, x: Tensor, links: Links, w: GraphCONWeights, generators: Generators) -> Iterator[Tensor]:
        """Yield X[0] ... X[L], (M, N, d)."""
        start = affine(w.We, x, w.be)
        start = start.relu() if self.webkb else start
        x, y = self.dropped(start, generators), self.dropped(start, generators)
        yield x
        if w.conv is None:
            assert w.Q is not None and w.q is not None and w.K is not None and w.k is not None
            mix = Attention(w.Q, w.q, w.K, w.k).of(x, links, HEADS, "receiving")
        for n in range(self.layers):
            force = mix(x) if w.conv is None else activated(self.coupling, self.messages(x, links, w, n))
            y = y + w.dt * (force - w.gamma * x - w.alpha * y)
            x = x + w.dt * y
            x, y = self.dropped(x, generators), self.dropped(y, generators)
            yield x

    def messages(self, x: Tensor, links: Links, w: GraphCONWeights, n: int) -> Tensor:
        """Return the argument of σ in layer n, from 0: F(X), with the residual."""
        assert w.conv is not None
        messages = w.conv(self.coupling, x, links, n)
        if w.R is None:
            return messages
        if self.residual == "map":
            return messages - affine(w.R, w.conv.linear(x, n), w.r)
        messages = messages + affine(w.R, x, w.r)
        return messages - w.conv.linear(x, n) if self.residual == "difference" else messages


def _count(p: int, d: int, q: int, layers: int = 2, coupling: str = "gcn", shared: bool = False, **more: str) -> int:
    total, residual = d * p + d + (d + 1) * q, more.get("residual", "none")
    if coupling == "tran":
        return total + 2 * HEADS * (d * d + d)
    wide = HEADS * d if coupling == "gat" else d
    mapped = {"none": 0, "map": wide * wide + wide}.get(residual, wide * d + wide)
    return total + (1 if shared else layers) * count_conv(coupling, d, d) + mapped


_CODE = "webkb, shared, residual difference, on Cornell map; the script ignores the listed dropout and uses 0.3"

MODEL = ModelSpec(
    name="graphcon",
    title="GraphCON",
    family="oscillator",
    source="Rusch, Chamberlain, Rowbottom, Mishra and Bronstein, ICML 2022, arXiv:2202.02296; thesis, eqs. 7.4 and 7.5",
    layer=GraphCON,
    lr=learning_rate(1e-4, 1e-1),
    count=_count,
    best=(
        Best("texas", 256, {"lr": 1.55e-3, "gamma": 0.0, "alpha": 0.0}, _CODE),
        Best("wisconsin", 64, {"lr": 3.56e-3, "gamma": 0.0, "alpha": 0.0}, _CODE),
        Best("cornell", 256, {"lr": 7.21e-3, "gamma": 0.0, "alpha": 0.0, "layers": 1}, _CODE),
        Best("zinc", 220, {"lr": 1.59e-3, "gamma": 1.115, "alpha": 0.215, "layers": 22}, "shared, residual difference"),
    ),
    best_source="the authors' code, github.com/tk-rusch/GraphCON, best_params.py and run_GNN.py",
    printed={
        "gcn": {"shared": True, "residual": "difference", "webkb": True},
        "gat": {"coupling": "gat", "shared": True, "residual": "plus", "webkb": True},
    },
    lacks=lacks,
)
