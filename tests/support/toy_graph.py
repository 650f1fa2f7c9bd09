"""Neighbours: a task on graphs, all in one file. Tests put a copy of it among the tasks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import ClassVar

import torch
from torch import Tensor

from longwave.tasks.base.batch import NO_TARGET, Batch
from longwave.tasks.base.data import Data
from longwave.tasks.base.losses import ACCURACY, cross_entropy
from longwave.tasks.base.spec import Recipe, TaskSpec, check_variant
from longwave.tasks.trivial.constant import Majority

NODES, EDGES = 7, 12
"""Largest number of nodes and of edges of a graph."""


@dataclass(frozen=True)
class Graphs(Batch):
    """Graphs of at most V nodes and E edges, padded.

    Attributes:
        nodes: (N, V, p), features of each node.
        real: (N, V) bool, False for padding.
        edges: (N, E, 2) int64, from node to node; V is padding.
        targets: Classes of the nodes, (N, V) int64, or of the graphs, (N,).
    """

    INPUTS: ClassVar[tuple[str, ...]] = ("nodes",)

    nodes: Tensor
    real: Tensor
    edges: Tensor
    targets: Tensor

    @property
    def positions(self) -> int:
        """Nodes of a graph."""
        return self.nodes.shape[-2]

    @property
    def of_nodes(self) -> bool:
        """Whether each node has a class, not the graph as a whole."""
        return self.targets.ndim == self.real.ndim


def graphs(n: int, seed: int, of_nodes: bool) -> Graphs:
    """Return n random graphs; a node's class is whether the sum of its neighbours' features is positive.

    The class of a graph is whether most of its nodes have class 1.
    """
    g = torch.Generator().manual_seed(seed)
    count = torch.randint(3, NODES + 1, (n, 1), generator=g)
    real = torch.arange(NODES) < count
    nodes = torch.randn(n, NODES, 1, generator=g).masked_fill(~real.unsqueeze(-1), 99.0)
    edges = (torch.rand(n, EDGES, 2, generator=g) * count.unsqueeze(-1)).long()
    edges[torch.rand(n, EDGES, generator=g) < 0.3] = NODES
    received = torch.zeros(n, NODES + 1)
    padded = torch.cat([nodes[..., 0], torch.zeros(n, 1)], 1)
    received.scatter_add_(1, edges[..., 1], padded.gather(1, edges[..., 0]))
    classes = (received[:, :NODES] > 0).long().masked_fill(~real, NO_TARGET)
    whole = ((classes == 1).sum(1) * 2 > count.squeeze(1)).long()
    return Graphs(nodes, real, edges, classes if of_nodes else whole)


@cache
def _load(variant: str) -> Data[Graphs]:
    check_variant("toy_graph", variant, ("nodes", "graphs"))
    make = partial(graphs, of_nodes=variant == "nodes")
    return Data(train=make(200, 1), valid=make(90, 2), test=make(140, 3))


TASK = TaskSpec(
    name="toy_graph",
    title="Neighbours",
    family="graphs",
    summary="The sign of the sum of a node's neighbours.",
    inputs=1,
    outputs=2,
    targets="at every node",
    loss=cross_entropy,
    metric=ACCURACY,
    chance=50.0,
    load=_load,
    recipes={"": Recipe(hidden=8, batch=20, epochs=15, source="this test")},
    source="this test",
    licence="generated, none",
    length="up to 7 nodes",
    lag="one edge",
    variant="nodes",
    variants="nodes or graphs",
    baselines={"majority": Majority(2)},
)
