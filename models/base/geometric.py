"""PyTorch Geometric, an optional package: its import, its layers without weights, and a pack's edges."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor, nn

from longwave.tasks.base.graphs import Graphs

HEADS = 4
"""Heads of graph attention, as in the authors' code of GraphCON and G²."""


def lacks() -> str:
    """Return how to install PyTorch Geometric, in one line; empty if it is installed."""
    return "" if find_spec("torch_geometric") else "Graph models need PyTorch Geometric: pip install 'longwave[graphs]'"


@dataclass(frozen=True)
class Links:
    """The edges of all graphs of a batch and of all members, as one graph of disjoint copies.

    Attributes:
        edges: (2, E) int64, from and to; nodes are numbered by member, then by graph.
        nodes: Number of nodes, padding included, M B V.
    """

    edges: Tensor
    nodes: int

    @classmethod
    def of(cls, batch: Graphs) -> Links:
        """Return the edges of a batch with a members axis."""
        copies, v = batch.edges.flatten(0, -3), batch.positions
        begins = torch.arange(len(copies), device=copies.device)[:, None, None] * v
        exists = (copies < v).all(-1)
        return cls((copies + begins)[exists].mT, len(copies) * v)

    @cached_property
    def normalised(self) -> tuple[Tensor, Tensor]:
        """The edges with a self-loop per node, (2, E'), and 1/√(d_i d_j) of each, (E',) float64, as PyG's gcn_norm."""
        edges, weights = pyg("nn.conv.gcn_conv").gcn_norm(self.edges, None, self.nodes, dtype=torch.float64)
        return edges, weights

    @cached_property
    def looped(self) -> Tensor:
        """The edges with exactly one self-loop per node, (2, E')."""
        return self.normalised[0]


@cache
def blank_layer(name: str, channels: int = 1) -> Any:
    """Return a layer of PyG without its own linear maps and biases; attention's vectors are passed at each call."""
    kinds, settings = pyg("nn"), dict[str, Any]()
    if name == "GCNConv":
        settings = {"normalize": False}
    elif name == "SAGEConv":
        settings = {"root_weight": False}
    else:
        settings = {"heads": HEADS, "add_self_loops": False}
    with torch.random.fork_rng(devices=[]):
        layer = getattr(kinds, name)(1, channels, bias=False, **settings)
    setattr(layer, "lin_l" if name == "SAGEConv" else "lin", nn.Identity())
    return layer


@cache
def pyg(part: str) -> Any:
    """Return a module of PyTorch Geometric, which warns of torch.jit when it is first imported.

    Raises:
        ValueError: It is not installed; the message says how to install it.
    """
    if missing := lacks():
        raise ValueError(missing)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module(f"torch_geometric.{part}")
