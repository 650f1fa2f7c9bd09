"""GCN: stacked graph convolutions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from torch import Generator, Tensor

from longwave.models.base.couplings import Conv, activated, conv_shapes, count_conv, draw_conv
from longwave.models.base.geometric import Links, lacks
from longwave.models.base.graph import DROPOUT, GraphLayer
from longwave.models.base.layer import Generators
from longwave.models.base.param import OptionValue, learning_rate
from longwave.models.base.spec import ModelSpec


@dataclass(frozen=True)
class PlainWeights:
    """The convolution from p to d channels, and L − 1 from d to d."""

    first: Conv
    others: Conv | None


class PlainConvolutions(GraphLayer[PlainWeights]):
    """Stacked convolutions, X[n] = σ(F[n](X[n-1])) with X[0] the features. Subclasses set ``KIND``.

    The read-out sees X[L]; dropout acts on the X between layers.
    """

    KIND: ClassVar[str]
    WEIGHTS = PlainWeights
    PARAMS = (DROPOUT,)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the first convolution's weights, ``first_...``, and those of all others stacked, ``rest_...``."""
        p, d, more = self.input_size, self.hidden_size, self.layers - 1
        others = conv_shapes(self.KIND, more, d, d, "rest_") if more else {}
        return conv_shapes(self.KIND, 1, p, d, "first_") | others

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight`` as PyG does."""
        part, _, weight_name = name.partition("_")
        draw_conv(self.KIND, weight_name, weight, self.input_size if part == "first" else self.hidden_size, generator)

    def weights(self, tensors: Mapping[str, Tensor]) -> PlainWeights:
        """Return the convolutions."""
        rest = Conv.of(tensors, "rest_") if self.layers > 1 else None
        return PlainWeights(Conv.of(tensors, "first_"), rest)

    def states(self, x: Tensor, links: Links, w: PlainWeights, generators: Generators) -> Iterator[Tensor]:
        """Yield X[1] ... X[L], (M, N, d)."""
        x = activated(self.KIND, w.first(self.KIND, x, links, 0))
        yield x
        for k in range(self.layers - 1):
            assert w.others is not None
            x = activated(self.KIND, w.others(self.KIND, self.dropped(x, generators), links, k))
            yield x


def plain_count(kind: str, p: int, d: int, q: int, layers: int = 2) -> int:
    """Return the trainable parameters of L convolutions and the read-out."""
    return count_conv(kind, p, d) + (layers - 1) * count_conv(kind, d, d) + (d + 1) * q


class GCN(PlainConvolutions):
    """Graph convolutional network.

    Source: Kipf and Welling 2017 (arXiv:1609.02907), eq. 2, as PyG's ``GCNConv``::

        X[n] = ReLU(D^-1/2 (A + I) D^-1/2 X[n-1] W[n] + b[n]),    X[0] the features

    Each node has one self-loop; d_i counts the edges that end at i with it. W starts Glorot-uniform, b as 0. The
    read-out sees X[L]: where the paper's last convolution gives the classes, here an affine map of each node does.
    Trainable parameters: d p + d + (L − 1) (d² + d).

    Args:
        layers: L.
        dropout: Share of X[1] ... X[L-1] set to zero in training.
        input_size, hidden_size, members: See ``Layer``.
    """

    KIND = "gcn"


def _count(p: int, d: int, q: int, layers: int = 2, **_: OptionValue) -> int:
    return plain_count("gcn", p, d, q, layers)


MODEL = ModelSpec(
    name="gcn",
    title="GCN",
    family="message passing",
    source="Kipf and Welling, ICLR 2017, arXiv:1609.02907, eq. 2",
    layer=GCN,
    lr=learning_rate(1e-4, 1e-1),
    count=_count,
    lacks=lacks,
)
