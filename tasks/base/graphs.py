"""Graphs: nodes with features and edges between them, with targets per node or per graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import torch
from torch import Tensor

from longwave.tasks.base.batch import NO_TARGET, Batch
from longwave.tasks.base.data import Data


@dataclass(frozen=True)
class Graphs(Batch):
    """Graphs of at most V nodes and E edges, padded.

    Of one graph whose nodes are split (transductive), each split is one example: the same nodes and edges, and
    targets that are ``NO_TARGET``, or NaN, at the nodes of the other splits. See ``one_graph``; for graphs of several
    sizes, ``pad_graphs``.

    Attributes:
        nodes: (N, V, p) float features; or kinds of nodes, tokens (N, V) of an integer type.
        real: (N, V) bool, False for padding.
        edges: (N, E, 2) int64: source and receiving node; V at both ends is padding. An undirected edge is listed
            twice, once each way; self-loops and repeated edges are kept.
        targets: Of the nodes, (N, V) int64 classes or (N, V, q) float32 values; or of the graphs, (N,) or (N, q).

    Raises:
        ValueError: Shapes do not fit, an edge ends at no node, or padding has a target.
    """

    INPUTS: ClassVar[tuple[str, ...]] = ("nodes",)

    nodes: Tensor
    real: Tensor
    edges: Tensor
    targets: Tensor

    def __post_init__(self) -> None:
        n, v = self.real.shape if self.real.ndim == 2 else (0, 0)
        axes = tuple(self.targets.shape[:-1] if self.targets.is_floating_point() else self.targets.shape)
        fits = self.nodes.shape[:2] == (n, v) and self.nodes.ndim == 2 + self.nodes.is_floating_point()
        if not (
            n and v and fits and axes in ((n, v), (n,)) and self.edges.ndim == 3 and self.edges.shape[::2] == (n, 2)
        ):
            shapes = ", ".join(str(tuple(t.shape)) for t in (self.nodes, self.real, self.edges, self.targets))
            raise ValueError(f"Graphs need nodes (N, V, p), real (N, V), edges (N, E, 2) and N targets, got {shapes}.")
        self._check_edges(v)
        if self.of_nodes and (self._scored & ~self.real).any():
            row = int((self._scored & ~self.real).any(1).nonzero()[0])
            raise ValueError(f"Padding nodes must not have a target, but graph {row} has such a node.")

    @property
    def positions(self) -> int:
        """Nodes V of a graph."""
        return self.real.shape[-1]

    @property
    def of_nodes(self) -> bool:
        """Whether targets are per node, not per graph."""
        return self.targets.ndim - self.targets.is_floating_point() == self.real.ndim

    def numbers(self, outputs: int) -> int:
        """Return about how many numbers training stores per graph, besides a layer's states."""
        return super().numbers(outputs) + 4 * self.edges[0].numel()

    def identifying_fields(self) -> tuple[Tensor, ...]:
        """Return nodes, edges and which nodes have targets: splits of one graph's nodes then count as different."""
        return (self.nodes, self.edges, self._scored)

    def take(self, index: Tensor) -> Self:
        """Return the graphs ``index``, (...), as a network takes them; a single graph is not copied."""
        if len(self) > 1:
            batch = super().take(index)
        else:
            batch = self._with(**{k: t.expand(*index.shape, *t.shape[1:]) for k, t in self._tensors().items()})
        return batch if self.nodes.is_floating_point() else batch._with(nodes=batch.nodes.long())

    def _check_edges(self, v: int) -> None:
        """Raise ValueError if an end of an edge is not a node of its graph."""
        ends = self.edges.flatten(1)
        if ends.numel() and (ends.min() < 0 or ends.max() > v):
            got = f"{int(ends.min())} to {int(ends.max())}"
            raise ValueError(f"An edge must join nodes 0 to {v - 1}, or be {v} at both ends for none, got {got}.")
        exists = torch.cat([self.real, self.real.new_zeros(len(self.real), 1)], 1)
        begin, end = exists.gather(1, ends).view_as(self.edges).unbind(-1)
        padding = (self.edges == v).all(-1)
        wrong = ~padding & ~(begin & end)
        if wrong.any():
            row, edge = wrong.nonzero()[0].tolist()
            got = f"{self.edges[row, edge].tolist()} of graph {row}"
            raise ValueError(f"An edge must not end at a padding node, got {got}.")

    @property
    def _scored(self) -> Tensor:
        if self.targets.is_floating_point():
            return ~self.targets.isnan().all(-1)
        return self.targets != NO_TARGET


def one_graph(
    nodes: Tensor, edges: Tensor, targets: Tensor, train: Tensor, valid: Tensor, test: Tensor
) -> Data[Graphs]:
    """Return one graph whose nodes are split.

    Args:
        nodes: (V, p) features.
        edges: (2, E) int64, in PyTorch Geometric's form: row 0 from, row 1 to.
        targets: (V,) classes or (V, q) values.
        train, valid, test: (V,) bool, which nodes have targets.
    """
    real = torch.ones(1, len(nodes), dtype=torch.bool)
    none = torch.nan if targets.is_floating_point() else NO_TARGET

    def split(mask: Tensor) -> Graphs:
        rows = mask.unsqueeze(-1) if targets.is_floating_point() else mask
        split_targets = torch.where(rows, targets, torch.full_like(targets, none))
        return Graphs(nodes.unsqueeze(0), real, edges.mT.contiguous().unsqueeze(0), split_targets.unsqueeze(0))

    return Data(train=split(train), valid=split(valid), test=split(test))


def pad_graphs(nodes: Sequence[Tensor], edges: Sequence[Tensor], targets: Sequence[Tensor] | Tensor) -> Graphs:
    """Return graphs of several sizes as one batch.

    Args:
        nodes: (V_k, p) features, or (V_k,) kinds, of each graph.
        edges: (2, E_k) int64 of each.
        targets: (V_k,) classes or (V_k, q) values of each graph's nodes, a sequence; or of the graphs, a tensor (N,)
            or (N, q).
    """
    size = max(map(len, nodes))
    real = torch.arange(size) < torch.tensor([len(x) for x in nodes]).unsqueeze(1)
    pairs = [e.mT for e in edges]

    def filled(parts: Sequence[Tensor], value: float) -> Tensor:
        return torch.nn.utils.rnn.pad_sequence(list(parts), batch_first=True, padding_value=value)

    if isinstance(targets, Tensor):
        padded_targets = targets
    else:
        padded_targets = filled(targets, torch.nan if targets[0].is_floating_point() else NO_TARGET)
    return Graphs(filled(nodes, 0), real, filled(pairs, size), padded_targets)
