"""GraphSAGE: stacked layers that combine a node with the mean of its neighbours."""

from __future__ import annotations

from longwave.models.base.geometric import lacks
from longwave.models.base.param import OptionValue, learning_rate
from longwave.models.base.spec import ModelSpec
from longwave.models.gcn import PlainConvolutions, plain_count


class GraphSAGE(PlainConvolutions):
    """GraphSAGE with the mean over neighbours.

    Source: Hamilton et al. 2017 (arXiv:1706.02216), Algorithm 1, as PyG's ``SAGEConv``, without normalisation::

        X_i[n] = ReLU(W[n] mean of X_j[n-1] over the edges from j to i + b[n] + U[n] X_i[n-1]),    X[0] the features

    The mean over no edges is 0. Weights start as torch.nn.Linear's. The read-out sees X[L].
    Trainable parameters: 2 d p + d + (L − 1) (2 d² + d).

    Args:
        layers: L.
        dropout: Share of X[1] ... X[L-1] set to zero in training.
        input_size, hidden_size, members: See ``Layer``.
    """

    KIND = "sage"


def _count(p: int, d: int, q: int, layers: int = 2, **_: OptionValue) -> int:
    return plain_count("sage", p, d, q, layers)


MODEL = ModelSpec(
    name="graphsage",
    title="GraphSAGE",
    family="message passing",
    source="Hamilton et al., NeurIPS 2017, arXiv:1706.02216, Algorithm 1",
    layer=GraphSAGE,
    lr=learning_rate(1e-4, 1e-1),
    count=_count,
    printed={"mean": {}},
    lacks=lacks,
)
