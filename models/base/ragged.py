"""Sequences of different lengths through one layer: padded at the end, or packed as in torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from longwave.models.base.layer import State
from longwave.models.base.sequence import SequenceLayer


def checked_lengths(lengths: Tensor | Sequence[int], x: Tensor) -> Tensor:
    """Return the lengths (B,) int64 of padded sequences x (B, T, p).

    Raises:
        ValueError: They are not one whole number per sequence, from 1 to T.
    """
    rule = f"lengths must be {len(x)} whole numbers from 1 to {x.shape[1]}"
    try:
        tensor = torch.as_tensor(lengths)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{rule}, got {lengths!r:.80}.") from error
    whole = not (tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool)
    if not whole or tensor.shape != x.shape[:1] or not 1 <= int(tensor.min()) <= int(tensor.max()) <= x.shape[1]:
        raise ValueError(f"{rule}, got {tensor.dtype} {tensor.tolist()!r:.80}.")
    return tensor.to(device=x.device, dtype=torch.int64)


def run_ragged(
    layer: SequenceLayer[Any], x: Tensor, state: State | None, lengths: Tensor | None
) -> tuple[Tensor, State]:
    """Return the outputs (B, T, d), zero after each sequence's end, and the state at each end.

    Sequences that have not ended run together from one length to the next.

    Args:
        layer: Batch first, without members.
        x: (B, T, p), padded at the end.
        state: Initial state; zeros by default.
        lengths: (B,); None if all have T steps.
    """
    if lengths is None:
        made: tuple[Tensor, State] = layer(x, state)
        return made
    if not layer.state_shapes():
        outputs, _ = layer(x)
        steps = torch.arange(x.shape[1], device=x.device).expand(x.shape[:2])
        return outputs * (steps < lengths.unsqueeze(1)).unsqueeze(-1), ()
    if state is None:
        state = tuple(x.new_zeros(len(x), *shape) for shape in layer.state_shapes().values())
    pieces, begin, running = list[Tensor](), 0, torch.arange(len(x), device=x.device)
    for end in torch.unique(lengths).tolist():
        outputs, ends = layer(x[running, begin:end], tuple(s[running] for s in state))
        state = tuple(s.index_copy(0, running, e) for s, e in zip(state, ends, strict=True))
        padded = outputs.new_zeros(len(x), *outputs.shape[1:])
        pieces.append(padded.index_copy(0, running, outputs))
        begin, running = end, running[lengths[running] > end]
    if (missing := x.shape[1] - begin) > 0:
        pieces.append(pieces[-1].new_zeros(len(x), missing, pieces[-1].shape[-1]))
    return torch.cat(pieces, 1), state


def reversed_in_time(x: Tensor, lengths: Tensor | None) -> Tensor:
    """Return sequences (B, T, p) reversed, each within its own length; the padding stays at the end."""
    if lengths is None:
        return x.flip(1)
    steps = torch.arange(x.shape[1], device=x.device).expand(x.shape[:2])
    ends = lengths.unsqueeze(1)
    index = torch.where(steps < ends, ends - 1 - steps, steps)
    return x.gather(1, index.unsqueeze(-1).expand_as(x))


def ends_of(outputs: Tensor, lengths: Tensor | None) -> Tensor:
    """Return the outputs of each sequence's last step, (B, d)."""
    if lengths is None:
        return outputs[:, -1]
    return outputs[torch.arange(len(outputs), device=outputs.device), lengths - 1]


def unpacked(x: PackedSequence) -> tuple[Tensor, Tensor]:
    """Return packed sequences as x (B, T, p), zero-padded, and their lengths, in the order before packing."""
    padded, lengths = torch.nn.utils.rnn.pad_packed_sequence(x, batch_first=True)
    return padded, lengths


def packed_as(outputs: Tensor, like: PackedSequence) -> PackedSequence:
    """Return outputs (B, T, d) packed in the order of ``like``."""
    order = like.sorted_indices
    ordered = outputs if order is None else outputs[order]
    data = torch.cat([ordered[:count, t] for t, count in enumerate(like.batch_sizes.tolist())])
    return PackedSequence(data, like.batch_sizes, like.sorted_indices, like.unsorted_indices)
