"""MLP: a perceptron at each node of a graph, which ignores the edges."""

from __future__ import annotations

from longwave.models.base.param import OptionValue, learning_rate
from longwave.models.base.spec import ModelSpec
from longwave.models.gcn import PlainConvolutions, plain_count


class MLP(PlainConvolutions):
    """Perceptron at each node, without edges.

    Source: the baseline of graph papers::

        X_i[n] = ReLU(W[n] X_i[n-1] + b[n]),    X[0] the features

    Weights start as torch.nn.Linear's. The read-out sees X[L]. Trainable parameters: d p + d + (L − 1) (d² + d).

    Args:
        layers: L.
        dropout: Share of X[1] ... X[L-1] set to zero in training.
        input_size, hidden_size, members: See ``Layer``.
    """

    KIND = "linear"


def _count(p: int, d: int, q: int, layers: int = 2, **_: OptionValue) -> int:
    return plain_count("linear", p, d, q, layers)


MODEL = ModelSpec(
    name="mlp",
    title="MLP",
    family="plain",
    source="baseline of Pei et al., ICLR 2020, arXiv:2002.05287",
    layer=MLP,
    lr=learning_rate(1e-4, 1e-1),
    count=_count,
)
