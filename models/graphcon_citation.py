"""GraphCON in the form of its authors' code for citation graphs: learned sources and gates, no activation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Generator, Tensor, nn, relu, sigmoid

from longwave.models.base.algebra import affine
from longwave.models.base.couplings import Attention, Conv, conv_shapes, count_conv, draw_conv
from longwave.models.base.geometric import Links, lacks
from longwave.models.base.graph import GraphLayer
from longwave.models.base.layer import Generators
from longwave.models.base.param import OptionValue, Param, learning_rate
from longwave.models.base.spec import Best, ModelSpec

START = 1e-5
"""Initial query and key weights, so that attention starts uniform."""
TIME = Param("time", "T", 1.0, 20.0, False, "layers", "Integration time, in steps of 1.", "authors' sweeps", most=1000)


@dataclass(frozen=True)
class CitationWeights:
    """The encoder, the gates a, b1 and b2, T, and the attention or the convolution."""

    We: Tensor
    be: Tensor
    a: Tensor
    b1: Tensor
    b2: Tensor
    time: Tensor
    conv: Conv | None = None
    Q: Tensor | None = None
    q: Tensor | None = None
    K: Tensor | None = None
    k: Tensor | None = None


class CitationGraphCON(GraphLayer[CitationWeights]):
    """GraphCON as in the latest commit of the authors' code, for Cora, Citeseer and Pubmed.

    Source: github.com/tk-rusch/GraphCON, 3326c48, built on that of GRAND; γ = α = 1, no Δt::

        v = x = e = We (features) + be
        v ← v + h ((1 − σ(b1)) (A x − x − v) + σ(b1) e)
        x ← x + h ((1 − σ(b2)) σ(a) v + σ(b2) e)

    in steps h = 1, the last one shortened so that they sum to T; no gradient flows into e as a source. σ is the
    logistic function, a, b1, b2 are trained from 0: at the start dx/dt = ¼ v + ½ e, not v as in eq. 7.4. A is one
    attention matrix, computed once from e: heads averaged, weights that sum to 1 over the outgoing edges of a node, for
    Cora and Citeseer, or over its incoming ones, for Pubmed. With ``coupling="gcn"`` a graph convolution of x replaces
    A x. The read-out sees ReLU(x); input and output dropout are settings of the training.

    The code's query and key weights start at 1e-5, the encoder and their biases as torch.nn.Linear. Self-loops are
    GRAND's default. Not included: its early stopping in time, which selects the integration time, up to 3 T, by
    validation accuracy. Trainable parameters: d p + d + 3, and 2 (a d + a) or d² + d; the code's own count includes
    unused tensors.

    Args:
        time: 0 < T ≤ 1000.
        coupling: ``"tran"`` or ``"gcn"``.
        heads: Of the attention.
        width: Size a of query and key, all heads together.
        over: Over which edges of a node attention sums to 1: outgoing, ``"contributing"``, or incoming,
            ``"receiving"``.
        input_size, hidden_size, members: See ``Layer``.
    """

    WEIGHTS = CitationWeights
    PARAMS = (TIME,)
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {
        "coupling": ("tran", "gcn"),
        "heads": (8, 1),
        "width": (128, 16, 32, 64, 8),
        "over": ("contributing", "receiving"),
    }
    coupling: str
    heads: int
    width: int
    over: str

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return We (d, p), be (d,), a, b1, b2 (1,), and Q, K (a, d), q, k (a,) or the convolution's."""
        p, d, a = self.input_size, self.hidden_size, self.width
        shapes: dict[str, tuple[int, ...]] = {"We": (d, p), "be": (d,), "a": (1,), "b1": (1,), "b2": (1,)}
        if self.coupling == "gcn":
            return {**shapes, **conv_shapes("gcn", 1, d, d, "conv_")}
        return {**shapes, "Q": (a, d), "q": (a,), "K": (a, d), "k": (a,)}

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight``: gates 0, Q and K 1e-5, a convolution as PyG's, all else as torch.nn.Linear's."""
        if name in ("a", "b1", "b2"):
            weight.zero_()
        elif name in ("Q", "K"):
            weight.fill_(START)
        elif name.startswith("conv_"):
            draw_conv("gcn", name.removeprefix("conv_"), weight, self.hidden_size, generator)
        else:
            bound = (self.hidden_size if name in ("q", "k") else self.input_size) ** -0.5
            nn.init.uniform_(weight, -bound, bound, generator=generator)

    def weights(self, tensors: Mapping[str, Tensor]) -> CitationWeights:
        """Return the weights, the convolution as one."""
        conv: dict[str, Any] = {"conv": Conv.of(tensors, "conv_")} if self.coupling == "gcn" else {}
        return super().weights({**tensors, **conv})

    def states(self, x: Tensor, links: Links, w: CitationWeights, generators: Generators) -> Iterator[Tensor]:
        """Yield ReLU(x) at the start and after each step, (M, N, d)."""
        start = affine(w.We, x, w.be)
        v = x = start
        source = start.detach()
        mix = self._mixing(start, links, w)
        forced, lifted, speed = sigmoid(w.b1), sigmoid(w.b2), sigmoid(w.a)
        yield relu(x)
        for n in range(int(torch.ceil(w.time.detach()).max())):
            h = (w.time - n).clamp(0, 1)
            v = v + h * ((1 - forced) * (mix(x) - x - v) + forced * source)
            x = x + h * ((1 - lifted) * speed * v + lifted * source)
            yield relu(x)

    def _mixing(self, start: Tensor, links: Links, w: CitationWeights) -> Callable[[Tensor], Tensor]:
        """Return x ↦ A x, or the convolution."""
        if w.conv is not None:
            return partial(w.conv, "gcn", links=links, k=0)
        assert w.Q is not None and w.q is not None and w.K is not None and w.k is not None
        return Attention(w.Q, w.q, w.K, w.k).of(start, links, self.heads, self.over)


def _count(p: int, d: int, q: int, coupling: str = "tran", width: int = 128, **_: OptionValue) -> int:
    mixed = count_conv("gcn", d, d) if coupling == "gcn" else 2 * (width * d + width)
    return d * p + d + 3 + mixed + (d + 1) * q


MODEL = ModelSpec(
    name="graphcon_citation",
    title="GraphCON, code for citation graphs",
    family="oscillator",
    source="the authors' code, github.com/tk-rusch/GraphCON, 3326c48; not the equations in print",
    layer=CitationGraphCON,
    lr=learning_rate(1e-3, 1e-1, "authors' sweeps"),
    count=_count,
    best=(
        Best("cora", 80, {"lr": 0.01334134134134134, "time": 18.294754260552843}),
        Best("citeseer", 80, {"lr": 0.006036036036036037, "time": 7.874113442879092, "width": 32}),
        Best("pubmed", 128, {"lr": 0.02522522522522523, "time": 12.942327880200853, "width": 16, "heads": 1}),
    ),
    printed={"tran": {}, "gcn": {"coupling": "gcn"}},
    best_source="the authors' code, good_params_graphCON.py",
    lacks=lacks,
)
