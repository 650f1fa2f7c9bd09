"""What classifiers of whole sequences share: their rows, their logits, and how a penalty is chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import torch
from torch import Tensor

from longwave.tasks.base.sequences import Sequences

K = TypeVar("K")


def rows(split: Sequences) -> Tensor:
    """Return the sequences as they are fed, (N, T·p) float32."""
    return torch.cat([piece.inputs.flatten(1).float() for piece in split.pieces(1024)])


def logits(classes: Tensor, outputs: int) -> Tensor:
    """Return logits (N, outputs) that say ``classes``, (N,) int64; of one output the sign."""
    if outputs == 1:
        return (2.0 * classes - 1.0).unsqueeze(-1)
    return torch.nn.functional.one_hot(classes, outputs).float()


def most_right(tried: Iterable[K], outputs: Callable[[K], Tensor], classes: Tensor) -> K:
    """Return the first that is right most often: ``outputs`` gives logits (N, q), or (N, 1), for ``classes`` (N,)."""

    def hits(each: K) -> int:
        found = outputs(each)
        said = found.squeeze(-1) > 0 if found.shape[-1] == 1 else found.argmax(-1)
        return int((said == classes).sum())

    return max(tried, key=hits)
