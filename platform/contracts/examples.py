"""Small examples of the kinds that layers read, and what a layer computes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from longwave.models.base.layer import Generators, Layer
from longwave.platform.contracts.rule import NotMeant
from longwave.platform.contracts.small import draw_normal
from longwave.tasks.base.batch import NOT_ASKED, Batch
from longwave.tasks.base.graphs import Graphs, pad_graphs
from longwave.tasks.base.sequences import Sequences

PADDING = 9.0
"""What follows a sequence that is shorter than others of its batch."""


@dataclass(frozen=True)
class Example:
    """A sequence or a graph.

    Attributes:
        values: (T, p) or (V, p).
        edges: (2, E) int64 of a graph; None for a sequence.
    """

    values: Tensor
    edges: Tensor | None = None

    def __len__(self) -> int:
        return len(self.values)


def make_examples(layer: Layer[Any], sizes: Sequence[int]) -> list[Example]:
    """Return an example of each size, of the kind that a layer reads.

    Raises:
        NotMeant: It reads neither sequences nor graphs.
    """
    values = [draw_normal(size, layer.input_size, seed=k) for k, size in enumerate(sizes)]
    if issubclass(Sequences, layer.READS):
        return [Example(x) for x in values]
    if issubclass(Graphs, layer.READS):
        return [Example(x, _ring_edges(len(x))) for x in values]
    raise NotMeant(f"it reads {layer.READS.__name__}, and this is checked of sequences and graphs")


def batch_of(given: Sequence[Example], each: bool) -> Batch:
    """Return examples as one batch without a members axis; ``each``: asked at each step or node, else once."""
    classes = [torch.zeros(len(example), dtype=torch.int64) for example in given]
    once = torch.zeros(len(given), dtype=torch.int64)
    values = [example.values for example in given]
    edges = [example.edges for example in given if example.edges is not None]
    if edges:
        return pad_graphs(values, edges, classes if each else once)
    lengths = torch.tensor([*map(len, given)])
    ragged = lengths if lengths.min() < lengths.max() else None
    targets = pad_sequence(classes, batch_first=True, padding_value=NOT_ASKED) if each else once
    return Sequences(pad_sequence(values, batch_first=True, padding_value=PADDING), targets, lengths=ragged)


def features_of(
    layer: Layer[Any], given: Sequence[Example], each: bool = True, generators: Generators = None
) -> list[Tensor]:
    """Return what a read-out sees of each example of a batch, of a layer without members.

    That is (T, d) or (V, d) where each step or node is asked, else (d,) of the last step or the whole graph.
    """
    seen, _ = layer.features(batch_of(given, each), None, generators)
    rows = seen.transpose(0, 1) if each and given[0].edges is None else seen
    return [rows[k, : len(example)] if each else rows[k] for k, example in enumerate(given)]


def _ring_edges(nodes: int) -> Tensor:
    """Return the edges of a ring of nodes, both ways; none for a lone node."""
    here = torch.arange(nodes if nodes > 1 else 0)
    there = (here + 1) % max(nodes, 1)
    return torch.stack([torch.cat([here, there]), torch.cat([there, here])])
