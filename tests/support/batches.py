"""Batches for tests: around a layer's input, and random ones of every kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Generator, Tensor
from toy_graph import graphs

from longwave.tasks.base.batch import NO_TARGET, Batch
from longwave.tasks.base.sequences import Sequences, Tail, Text


@dataclass(frozen=True)
class Pairs(Batch):
    """Examples of two inputs, features at p positions and tokens at k others, with one value as the target."""

    INPUTS: ClassVar[tuple[str, ...]] = ("features", "tokens")

    features: Tensor
    tokens: Tensor
    targets: Tensor
    scale: float = 2.0

    @property
    def positions(self) -> int:
        return self.features.shape[-2] + self.tokens.shape[-1]

    @property
    def rule(self) -> str:
        return f"{self.scale}"


NAMES = "last class, last value, values, classes, bytes, fixed tail, normal tail, ragged, ragged values, pairs, graphs"
KINDS = (*NAMES.split(", "), "graphs as a whole")
"""Kinds of examples."""


def batch_of(x: Tensor, every_step: bool = False) -> Sequences:
    """Return a batch with the inputs x, (M, T, B, p) or tokens (M, T, B), and class 0 as all targets."""
    inputs = x.transpose(2, 1)
    return Sequences(inputs, torch.zeros(inputs.shape[: 3 if every_step else 2], dtype=torch.int64))


def example(kind: str, n: int, steps: int = 5, seed: int = 0) -> Batch:
    """Return n random examples."""
    g = Generator().manual_seed(seed)
    x, tokens = torch.randn(n, steps, 2, generator=g), torch.randint(7, (n, steps), generator=g, dtype=torch.int16)
    lengths, classes = torch.randint(1, steps + 1, (n,), generator=g), torch.randint(3, (n, steps), generator=g)
    values, tail = torch.randn(n, steps, 3, generator=g), torch.randn(4, 2, generator=g)
    after = torch.arange(steps) >= lengths.unsqueeze(1)
    pixels = torch.randint(256, x.shape, generator=g).to(torch.uint8)
    return {
        "last class": lambda: Sequences(x, classes[:, 0]),
        "last value": lambda: Sequences(tokens, values[:, 0]),
        "values": lambda: Sequences(x, values),
        "classes": lambda: Sequences(tokens, classes.masked_fill(classes == 2, NO_TARGET)),
        "bytes": lambda: Sequences(pixels, classes[:, 0]),
        "fixed tail": lambda: Sequences(pixels, classes[:, 0], Tail(tail)),
        "normal tail": lambda: Sequences(x, classes[:, 0], Tail(tail, "normal", 3)),
        "ragged": lambda: Sequences(x, classes[:, 0], lengths=lengths),
        "ragged values": lambda: Sequences(x, values.masked_fill(after.unsqueeze(-1), torch.nan), lengths=lengths),
        "pairs": lambda: Pairs(x, tokens[:, :3], values[:, 0]),
        "graphs": lambda: graphs(n, seed, True),
        "graphs as a whole": lambda: graphs(n, seed, False),
    }[kind]()


def text(steps: int, segment: int, seed: int = 0) -> Text:
    """Return a random text."""
    row = torch.randint(7, (1, steps + 1), generator=Generator().manual_seed(seed), dtype=torch.int16)
    return Text(row[:, :-1], row[:, 1:].long(), segment=segment)
