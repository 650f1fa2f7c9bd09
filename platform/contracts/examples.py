"""Small examples of the kinds that layers read, and a layer's features of them."""

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
from longwave.tasks.base.batch import NO_TARGET, Batch
from longwave.tasks.base.graphs import Graphs, pad_graphs
from longwave.tasks.base.sequences import Sequences

PADDING = 9.0
"""Value that pads the shorter sequences of a batch."""


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
    """Return one example of each size, of the kind that the layer reads.

    Raises:
        NotMeant: The layer reads neither sequences nor graphs.
    """
    values = [draw_normal(size, layer.input_size, seed=k) for k, size in enumerate(sizes)]
    if issubclass(Sequences, layer.READS):
        return [Example(x) for x in values]
    if issubclass(Graphs, layer.READS):
        return [Example(x, _ring_edges(len(x))) for x in values]
    raise NotMeant(f"it reads {layer.READS.__name__}, and this is checked of sequences and graphs")


def batch_of(examples: Sequence[Example], each: bool) -> Batch:
    """Return one batch without a members axis, with targets at each step or node (``each``), or one per example."""
    classes = [torch.zeros(len(example), dtype=torch.int64) for example in examples]
    once = torch.zeros(len(examples), dtype=torch.int64)
    values = [example.values for example in examples]
    edges = [example.edges for example in examples if example.edges is not None]
    if edges:
        return pad_graphs(values, edges, classes if each else once)
    lengths = torch.tensor([*map(len, examples)])
    ragged = lengths if lengths.min() < lengths.max() else None
    targets = pad_sequence(classes, batch_first=True, padding_value=NO_TARGET) if each else once
    return Sequences(pad_sequence(values, batch_first=True, padding_value=PADDING), targets, lengths=ragged)


def features_of(
    layer: Layer[Any], examples: Sequence[Example], each: bool = True, generators: Generators = None
) -> list[Tensor]:
    """Return the features of each example of a batch, for a layer without members. They are (T, d) or (V, d) with
    targets at each step or node, else (d,), of the last step or the whole graph.
    """
    read_out_inputs, _ = layer.features(batch_of(examples, each), None, generators)
    rows = read_out_inputs.transpose(0, 1) if each and examples[0].edges is None else read_out_inputs
    return [rows[k, : len(example)] if each else rows[k] for k, example in enumerate(examples)]


def _ring_edges(nodes: int) -> Tensor:
    """Return the edges of a ring of nodes in both directions; none for a single node."""
    sources = torch.arange(nodes if nodes > 1 else 0)
    targets = (sources + 1) % max(nodes, 1)
    return torch.stack([torch.cat([sources, targets]), torch.cat([targets, sources])])
