"""Messages from a node's neighbours: PyTorch Geometric's graph layers, for all members of a pack at once.

The members' graphs are disjoint copies in one large graph, in which PyG passes the messages; the linear maps, which
differ by member, are batched products. CPU time in ms, forward and backward, on one thread of an AMD EPYC, torch 2.15,
PyG 2.8, for M members, V nodes, E edges, d channels, L layers (M, V, E, d, L); the loop calls PyG's layer once per
member, vmap uses ``Owned``, the leading axis shares the edges::

                  (5, 300, 3000, 16, 8)      (5, 2708, 10556, 64, 2)    (16, 300, 3000, 64, 4)
                  GCN   GraphSAGE  GAT       GCN   GraphSAGE  GAT       GCN   GraphSAGE  GAT
    disjoint      5.7   5.2        26        34    32         66        38    34         84
    loop          8.6   12         41        27    31         56        31    38         85
    vmap          20    15         41        68    55         101       97    79         139
    leading axis  11    -          -         48    -          -         68    -          -

Hence disjoint copies: faster on small graphs and hardly slower on large ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Generator, Tensor, nn
from torch.func import functional_call
from torch.nn.functional import elu

from longwave.models.base.algebra import affine
from longwave.models.base.geometric import HEADS, Links, blank_layer, pyg

Shapes = dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class Conv:
    """The weights of n convolutions, from i to o channels, and those of graph attention's H heads.

    Attributes:
        W: (M, n, o, i), for attention (M, n, H o, i).
        b: (M, n, o), for attention (M, n, H o).
        U: (M, n, o, i), of the node itself, for GraphSAGE.
        source, target: (M, n, H, o), for attention.
    """

    W: Tensor
    b: Tensor
    U: Tensor | None = None
    source: Tensor | None = None
    target: Tensor | None = None

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor], prefix: str = "") -> Conv:
        """Return the weights among ``tensors`` that have the names of ``conv_shapes`` after ``prefix``."""
        weights = {name: tensors[prefix + name] for name in cls.__annotations__ if prefix + name in tensors}
        return cls(**weights)

    def linear(self, x: Tensor, k: int) -> Tensor:
        """Return W x of convolution ``k``, without edges and bias, for x (M, N, i)."""
        return affine(self.W[:, k % self.W.shape[1]], x)

    def __call__(self, kind: str, x: Tensor, links: Links, k: int) -> Tensor:
        """Return F(x) of convolution ``k``, or of the last if there are fewer, (M, N, o) or (M, N, H o)."""
        k %= self.W.shape[1]
        return MESSAGES[kind](self, x, links, k) + self.b[:, k].unsqueeze(1)


def conv_shapes(kind: str, n: int, i: int, o: int, prefix: str = "") -> Shapes:
    """Return the shapes of n convolutions' weights of one member: ``linear``, ``gcn``, ``gat`` or ``sage``."""
    wide = o * HEADS if kind == "gat" else o
    shapes: Shapes = {"W": (n, wide, i), "b": (n, wide)}
    if kind == "sage":
        shapes["U"] = (n, o, i)
    if kind == "gat":
        shapes |= {"source": (n, HEADS, o), "target": (n, HEADS, o)}
    return {prefix + name: shape for name, shape in shapes.items()}


def count_conv(kind: str, i: int, o: int) -> int:
    """Return the trainable parameters of one convolution."""
    shapes = conv_shapes(kind, 1, i, o).values()
    return sum(torch.Size(shape).numel() for shape in shapes)


def draw_conv(kind: str, name: str, weight: Tensor, inputs: int, generator: Generator | None) -> None:
    """Fill one member's weight of ``conv_shapes`` in place as PyG does.

    That is Glorot-uniform, biases 0, for GCN and attention; as torch.nn.Linear's for GraphSAGE and ``linear``.
    """
    if kind in ("gcn", "gat"):
        if name == "b":
            weight.zero_()
            return
        fans = weight.shape[-1] + weight.shape[-2]
        bound = (6 / fans) ** 0.5
    else:
        bound = inputs**-0.5
    nn.init.uniform_(weight, -bound, bound, generator=generator)


def activated(kind: str, u: Tensor) -> Tensor:
    """Return σ(u): ReLU; for attention ELU, then the mean of H neighbouring channels, (M, N, H o) to (M, N, o).

    Like the authors' code, it averages neighbouring channels, not heads.
    """
    return elu(u).unflatten(-1, (-1, HEADS)).mean(-1) if kind == "gat" else u.relu()


def _linear(conv: Conv, x: Tensor, links: Links, k: int) -> Tensor:
    return conv.linear(x, k)


def _gcn(conv: Conv, x: Tensor, links: Links, k: int) -> Tensor:
    edges, weights = links.normalised
    messages = blank_layer("GCNConv")(conv.linear(x, k).flatten(0, 1), edges, weights.to(x.dtype))
    return _members(messages, x)


def _sage(conv: Conv, x: Tensor, links: Links, k: int) -> Tensor:
    assert conv.U is not None
    messages = _members(blank_layer("SAGEConv")(x.flatten(0, 1), links.edges), x)
    return conv.linear(messages, k) + affine(conv.U[:, k], x)


def _gat(conv: Conv, x: Tensor, links: Links, k: int) -> Tensor:
    assert conv.source is not None and conv.target is not None
    attention = {"att_src": conv.source[:, k], "att_dst": conv.target[:, k]}
    each = {name: a.repeat_interleave(x.shape[1], 0) for name, a in attention.items()}
    inputs = (conv.linear(x, k).flatten(0, 1), links.looped)
    return _members(functional_call(blank_layer("GATConv", conv.source.shape[-1]), each, inputs), x)


def _members(messages: Tensor, x: Tensor) -> Tensor:
    """Return the messages to all nodes, (M N, o), as (M, N, o)."""
    unflattened: Tensor = messages.unflatten(0, x.shape[:2])
    return unflattened


@dataclass(frozen=True)
class Attention:
    """Weights of attention by scaled dot products, with H heads of total width a: Q, K (M, a, d) and q, k (M, 1, a)."""

    Q: Tensor
    q: Tensor
    K: Tensor
    k: Tensor

    def of(self, x: Tensor, links: Links, heads: int, over: str) -> MixingMatrix:
        """Return the mean over heads of softmax((Q x_i + q) · (K x_j + k) / √(a / H)), for x (M, N, d).

        Args:
            x: Features of the nodes.
            links: The edges; each node also gets one self-loop.
            heads: H.
            over: Whether weights sum to 1 over a node's incoming edges, ``receiving``, or its outgoing ones,
                ``contributing``.
        """
        queries, keys = affine(self.Q, x, self.q).flatten(0, 1), affine(self.K, x, self.k).flatten(0, 1)
        begin, end = links.looped
        products = (queries[end] * keys[begin]).unflatten(-1, (heads, -1))
        scores = products.sum(-1) / products.shape[-1] ** 0.5
        index = end if over == "receiving" else begin
        shares = pyg("utils").softmax(scores, index, num_nodes=links.nodes).mean(-1)
        return MixingMatrix(links.looped, shares)


@dataclass(frozen=True)
class MixingMatrix:
    """A fixed mixing matrix A: edges (2, E) and their weights, (E,)."""

    edges: Tensor
    shares: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """Return A x, for x (M, N, d)."""
        return _members(blank_layer("GCNConv")(x.flatten(0, 1), self.edges, self.shares), x)


MESSAGES = {"linear": _linear, "gcn": _gcn, "gat": _gat, "sage": _sage}
COUPLINGS = ("gcn", "gat", "sage")
