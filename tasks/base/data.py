"""Data of a task: its training, validation and test examples, batches of one kind."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, TypeVar

import torch
from torch import Tensor

from longwave.tasks.base.batch import Batch

B_co = TypeVar("B_co", bound=Batch, covariant=True)


@dataclass(frozen=True)
class Data(Generic[B_co]):
    """The data of a task: fixed splits, or a stream of fresh training batches.

    Attributes:
        valid, test: The same for every training seed.
        train: The training split; ``None`` for a stream.
        stream: ``stream(seed, n)`` gives n fresh training examples, of the same shape for every seed; equal arguments
            give equal examples.
        embedding: Initial token embedding, (V, p), or None for N(0, 1).
    """

    valid: B_co
    test: B_co
    train: B_co | None = None
    stream: Callable[[int, int], B_co] | None = None
    embedding: Tensor | None = None

    def __post_init__(self) -> None:
        if (self.train is None) == (self.stream is None):
            raise ValueError("Give Data either a training split or a stream, not both or neither.")

    def training(self, n: int) -> B_co:
        """Return the training split, or n examples of the stream."""
        return self.stream(0, n) if self.train is None else self.train  # type: ignore[misc]

    @cached_property
    def version(self) -> str:
        """First 12 hex digits of the SHA-256 of the data and their ``rule``; of a stream, of one sample."""
        splits = (self.training(16), self.valid, self.test)
        digest = hashlib.sha256("".join(dict.fromkeys(split.rule for split in splits)).encode())
        for part in (part for split in splits for part in split.content()):
            digest.update(part.encode()) if isinstance(part, str) else _hash_tensor(digest, part)
        if self.embedding is not None:
            _hash_tensor(digest, self.embedding)
        return digest.hexdigest()[:12]

    def repeated(self) -> dict[tuple[str, str], int]:
        """Return how many examples of one split are also in another, by names: ``{("test", "train"): 2, ...}``."""
        splits = {"train": self.train, "valid": self.valid, "test": self.test}
        hashes = {name: mark_inputs(split) for name, split in splits.items() if split is not None}
        pairs = [("valid", "train"), ("test", "train"), ("test", "valid")]
        distinct = {name: set(examples) for name, examples in hashes.items()}
        return {(a, b): sum(example in distinct[b] for example in hashes[a]) for a, b in pairs if b in hashes}

    def to(self, device: torch.device | str, dtype: torch.dtype = torch.float32) -> Data[B_co]:
        """Return the data on ``device``, floats in ``dtype``."""
        train, stream = self.train, self.stream
        return replace(
            self,
            valid=self.valid.to(device, dtype),
            test=self.test.to(device, dtype),
            train=None if train is None else train.to(device, dtype),
            stream=stream and (lambda seed, n: stream(seed, n).to(device, dtype)),
        )


def mark_inputs(split: Batch) -> list[bytes]:
    """Return a hash of each example's inputs, which ignores the targets."""
    inputs = [part.numpy() for part in split.identifying_fields()]
    rows = (b"".join(part[k].tobytes() for part in inputs) for k in range(len(split)))
    return [hashlib.sha256(row).digest() for row in rows]


def _hash_tensor(digest: hashlib._Hash, tensor: Tensor) -> None:
    """Add a tensor's type, shape and numbers to a hash, some examples at a time: it may be memory-mapped."""
    digest.update(f"{tensor.dtype}{tuple(tensor.shape)}".encode())
    for part in tensor.split(4096):
        digest.update(part.contiguous().numpy().tobytes())
