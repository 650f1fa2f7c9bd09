"""GAT: stacked layers of graph attention."""

from __future__ import annotations

from longwave.models.base.geometric import lacks
from longwave.models.base.param import OptionValue, learning_rate
from longwave.models.base.spec import ModelSpec
from longwave.models.gcn import PlainConvolutions, plain_count


class GAT(PlainConvolutions):
    """Graph attention network.

    Source: Veličković et al. 2018 (arXiv:1710.10903), eqs. 1 to 5, as PyG's ``GATConv`` with H = 4 heads::

        X[n] = mean of H neighbouring channels of ELU(A(X[n-1]) X[n-1] W[n] + b[n]),    X[0] the features
        A_ij = softmax over the j with an edge to i, and i itself, of LeakyReLU(a · W x_i + c · W x_j)

    The paper concatenates the heads; this one averages four neighbouring channels after ELU, as the authors' code of
    GraphCON and G² does. All weights start Glorot-uniform, b as 0. The read-out sees X[L].
    Trainable parameters: H (d p + 3 d) + (L − 1) H (d² + 3 d).

    Args:
        layers: L.
        dropout: Share of X[1] ... X[L-1] set to zero in training.
        input_size, hidden_size, members: See ``Layer``.
    """

    KIND = "gat"


def _count(p: int, d: int, q: int, layers: int = 2, **_: OptionValue) -> int:
    return plain_count("gat", p, d, q, layers)


MODEL = ModelSpec(
    name="gat",
    title="GAT",
    family="message passing",
    source="Veličković et al., ICLR 2018, arXiv:1710.10903, eqs. 1 to 5",
    layer=GAT,
    lr=learning_rate(1e-4, 1e-1),
    count=_count,
    lacks=lacks,
)
