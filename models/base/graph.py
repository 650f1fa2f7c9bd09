"""Layers over graphs: from nodes and edges to the input of the read-out, per node or per graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Generic
from weakref import WeakKeyDictionary

import torch
from torch import Generator, Tensor, nn

from longwave.models.base.couplings import Conv, conv_shapes, draw_conv
from longwave.models.base.dropout import dropped
from longwave.models.base.geometric import Links
from longwave.models.base.layer import Generators, Layer, State
from longwave.models.base.param import OptionValue, Param
from longwave.models.base.weights import W
from longwave.tasks.base.batch import Batch
from longwave.tasks.base.graphs import Graphs

DEPTHS = (1, 2, 3, 4, 5, 6, 8, 10, 13, 14, 16, 22, 32, 64, 100, 128, 1000)
"""Numbers of layers of graph models: those in papers, and powers of 2."""
DROPOUT = Param(
    "dropout",
    "p",
    0.0,
    0.6,
    False,
    "1",
    "Share of the features set to zero in training after each layer.",
    zero=True,
    most=1.0,
    searched=False,
)

_links: WeakKeyDictionary[Any, tuple[Tensor, Links]] = WeakKeyDictionary()
"""By layer: the edges of its last batch, and the links computed from them."""


def depths(default: int) -> tuple[OptionValue, ...]:
    """Return the choices of ``layers``, the default first."""
    return (default, *(n for n in DEPTHS if n != default))


class GraphLayer(Layer[W], Generic[W]):
    """A layer over graphs. Subclasses define ``WEIGHTS``, ``shapes`` and ``states``.

    The graphs of all members are disjoint copies in one; see ``couplings``. Padded nodes have no edges. If targets are
    per graph, the read-out sees the sum over its nodes.
    """

    READS = Graphs
    OPTIONS: ClassVar[Mapping[str, tuple[OptionValue, ...]]] = {"layers": depths(2)}
    layers: int

    def states(self, x: Tensor, links: Links, w: W, generators: Generators) -> Iterator[Tensor]:
        """Yield the read-out's input, (M, N, d), after each layer, and before the first if that has d features.

        Args:
            x: Features of all nodes of each member's graphs, (M, N, p).
            links: Their edges.
            w: The weights.
            generators: One per member, for dropout in training.
        """
        raise NotImplementedError

    def trace(self, batch: Graphs, generators: Generators = None) -> Iterator[Tensor]:
        """Yield ``states`` of a batch, (M, B, V, d) each, without a members axis if the layer has none.

        Raises:
            ValueError: The batch differs from the layer in members or features.
        """
        lone, members = self.members is None, self.members or 1
        with_members = batch.shared(1) if lone else batch
        axes = tuple(with_members.nodes.shape)
        if len(axes) != 4 or axes[0] != members or axes[-1] != self.input_size:
            shape = f"({'' if lone else f'{members}, '}B, V, {self.input_size})"
            raise ValueError(f"{type(self).__name__}: nodes must be {shape}, got {tuple(batch.nodes.shape)}.")
        if with_members.nodes.dtype != self.dtype:
            rule = f"nodes must have the weights' dtype {self.dtype}, got {with_members.nodes.dtype}"
            raise ValueError(f"{type(self).__name__}: {rule}.")
        x = with_members.nodes.masked_fill(~with_members.real.unsqueeze(-1), 0.0).flatten(1, 2)
        for state in self.states(x, self._linked(with_members), self.weights(self.lifted_tensors()), generators):
            by_graph = state.unflatten(1, axes[1:3])
            yield by_graph.squeeze(0) if lone else by_graph

    def features(self, batch: Batch, state: State | None = None, generators: Generators = None) -> tuple[Tensor, State]:
        """Return the read-out's input, (M, B, V, d) for nodes or (M, B, d) for graphs, and no state; see ``Layer``."""
        if not isinstance(batch, Graphs):
            raise ValueError(f"{type(self).__name__} reads Graphs, got {type(batch).__name__}.")
        for outputs in self.trace(batch, generators):
            final = outputs
        return final if batch.of_nodes else (final * batch.real.unsqueeze(-1)).sum(-2), ()

    def dropped(self, x: Tensor, generators: Generators) -> Tensor:
        """Return x, (M, N, d), with a share set to zero in training if there is a ``dropout``."""
        rate = getattr(self, "dropout", None) if self.training else None
        return x if rate is None else dropped(x, rate.to(x.dtype), generators, per_step=True)

    def _linked(self, batch: Graphs) -> Links:
        """Return the batch's links, reused from the previous call if the edges are the same."""
        known = _links.get(self)
        if known is None or known[0].device != batch.edges.device or not torch.equal(known[0], batch.edges):
            _links[self] = known = (batch.edges, Links.of(batch))
        return known[1]


class EncodedLayer(GraphLayer[W], Generic[W]):
    """A graph layer whose layers all have d channels, after an encoder e = We x + be of each node.

    Subclasses define ``conv_kinds``: the kind of convolution by the prefix of its weights.
    """

    shared: bool

    def conv_kinds(self) -> dict[str, str]:
        """Return the kind of each convolution by the prefix of its weights' names."""
        raise NotImplementedError

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return We (d, p), be (d,) and the weights of the convolutions: one, or one per layer."""
        p, d, n = self.input_size, self.hidden_size, 1 if self.shared else self.layers
        shapes: dict[str, tuple[int, ...]] = {"We": (d, p), "be": (d,)}
        for prefix, kind in self.conv_kinds().items():
            shapes |= conv_shapes(kind, n, d, d, prefix)
        return shapes

    def draw(self, name: str, weight: Tensor, hyper: Mapping[str, float], generator: Generator | None) -> None:
        """Fill ``weight``: the encoder as torch.nn.Linear, convolutions as in PyG."""
        for prefix, kind in self.conv_kinds().items():
            if name.startswith(prefix) and name.removeprefix(prefix) in Conv.__annotations__:
                return draw_conv(kind, name.removeprefix(prefix), weight, self.hidden_size, generator)
        bound = (self.input_size if name in ("We", "be") else self.hidden_size) ** -0.5
        nn.init.uniform_(weight, -bound, bound, generator=generator)

    def weights(self, tensors: Mapping[str, Tensor]) -> W:
        """Return the weights for the equations, those of each convolution as one ``Conv``, by prefix."""
        convs: dict[str, Any] = {prefix.rstrip("_"): Conv.of(tensors, prefix) for prefix in self.conv_kinds()}
        return super().weights({**tensors, **convs})
