"""What a task feeds: splits of sequences, and how batches are taken from them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor

NOT_ASKED = -100
"""Class at a step where nothing is asked; a value is NaN there."""


@dataclass(frozen=True)
class Tail:
    """Steps of noise that follow every sequence. They are never held once a sequence.

    Attributes:
        values: (S, p): the shape, and with ``law="fixed"`` the noise itself, one block for all sequences.
        law: ``"fixed"``, or ``"normal"``: fresh N(0, 1) for each sequence, always the same for the same sequence.
        seed: Decides the fresh noise, below 256; another for each split. torch reads the low 32 bits of a seed.
    """

    values: Tensor
    law: Literal["fixed", "normal"] = "fixed"
    seed: int = 0

    def of(self, index: Tensor) -> Tensor:
        """Return the noise of the sequences ``index``, (..., S, p)."""
        if self.law == "fixed":
            return self.values.expand(*index.shape, *self.values.shape)
        blocks = [
            torch.randn(self.values.shape, generator=torch.Generator().manual_seed(self.seed * 2**24 + k))
            for k in index.flatten().tolist()
        ]
        return torch.stack(blocks).view(*index.shape, *self.values.shape).to(self.values)


@dataclass(frozen=True)
class Split:
    """Sequences and what is asked of them.

    Attributes:
        inputs: (N, T, p) float32; or uint8, fed as value / 255; or tokens (N, T) of an integer type.
        targets: (N,) int64 classes or (N, q) float32 values asked at the last step; or, where every step is read
            out, (N, T) int64 classes or (N, T, q) float32 values, with −100 or NaN at steps where nothing is asked.
        tail: Noise that follows the inputs.
    """

    inputs: Tensor
    targets: Tensor
    tail: Tail | None = None

    def __post_init__(self) -> None:
        tokens = self.inputs.ndim == 2 and not self.inputs.is_floating_point()
        if not (self.inputs.ndim == 3 or tokens) or len(self.inputs) != len(self.targets) or len(self.inputs) == 0:
            shapes = f"{tuple(self.inputs.shape)} and {tuple(self.targets.shape)}"
            raise ValueError(f"A split needs inputs (N, T, p) or tokens (N, T), and N > 0 targets, got {shapes}.")

    @property
    def length(self) -> int:
        """Steps T of a sequence, the tail included."""
        return self.inputs.shape[1] + (len(self.tail.values) if self.tail else 0)

    def take(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Return inputs as they are fed, (..., T, p) floats or (..., T) int64, and targets, for ``index`` (...)."""
        x, target = self.inputs[index], self.targets[index]
        if x.ndim == index.ndim + 1:
            return x.long(), target
        if not x.is_floating_point():
            x = x.to(self.tail.values if self.tail else torch.get_default_dtype()) / 255
        return (torch.cat([x, self.tail.of(index).to(x)], -2) if self.tail else x), target

    def pieces(self, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the whole split as ``take`` gives it, ``size`` sequences at a time."""
        for index in torch.arange(len(self.inputs), device=self.inputs.device).split(size):
            yield self.take(index)

    def to(self, device: torch.device | str, dtype: torch.dtype = torch.float32) -> Split:
        """Return the split on ``device``, its floats in ``dtype``."""

        def moved(tensor: Tensor) -> Tensor:
            return tensor.to(device, dtype) if tensor.is_floating_point() else tensor.to(device)

        tail = self.tail and Tail(moved(self.tail.values), self.tail.law, self.tail.seed)
        return Split(moved(self.inputs), moved(self.targets), tail)


@dataclass(frozen=True)
class Data:
    """Everything a task feeds: fixed splits, or a stream of fresh training batches.

    Attributes:
        valid, test: The same for every training seed.
        train: The training split; ``None`` for a stream.
        stream: ``stream(seed, n)`` gives n fresh training sequences; equal arguments give equal sequences.
        segment: For a text: steps of a segment of truncated backpropagation. Each split then is one long sequence
            (1, T), folded into as many strands as a batch has rows, and the state is carried from segment to segment.
        embedding: Start of the token embedding, (V, p), or None for N(0, 1).
    """

    valid: Split
    test: Split
    train: Split | None = None
    stream: Callable[[int, int], Split] | None = None
    segment: int | None = None
    embedding: Tensor | None = None

    def __post_init__(self) -> None:
        if (self.train is None) == (self.stream is None):
            raise ValueError("Give Data either a training split or a stream, not both or neither.")

    @cached_property
    def version(self) -> str:
        """First 12 hex digits of the SHA-256 of the tensors fed; a stream counts with one sample."""
        train = self.train or self.stream(0, 16)  # type: ignore[misc]
        digest = hashlib.sha256(f"{self.segment}".encode() if self.segment else b"")
        for split in (train, self.valid, self.test):
            tensors = [split.inputs, split.targets]
            if split.tail:
                digest.update(f"{split.tail.law}{split.tail.seed}".encode())
                tensors.append(split.tail.values)
            for tensor in tensors:
                _update(digest, tensor)
        if self.embedding is not None:
            _update(digest, self.embedding)
        return digest.hexdigest()[:12]

    def to(self, device: torch.device | str, dtype: torch.dtype = torch.float32) -> Data:
        """Return the data on ``device``, floats in ``dtype``."""
        stream = self.stream
        moved = {f.name: getattr(self, f.name) for f in fields(self)}
        moved |= {k: moved[k] and moved[k].to(device, dtype) for k in ("valid", "test", "train")}
        return Data(**{**moved, "stream": stream and (lambda seed, n: stream(seed, n).to(device, dtype))})


def _update(digest: hashlib._Hash, tensor: Tensor) -> None:
    """Add a tensor's type, shape and numbers to a hash, some sequences at a time: it may be memory-mapped."""
    digest.update(f"{tensor.dtype}{tuple(tensor.shape)}".encode())
    for part in tensor.split(4096):
        digest.update(part.contiguous().numpy().tobytes())
