"""Batches for a pack: each member meets the training data in the order its own seed gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from longwave.platform.records.identity import derive_seed
from longwave.platform.records.trial import TrialConfig
from longwave.tasks.base.data import Data, Split

Batch = tuple[Tensor, Tensor]
"""Inputs (M, T, B, p) or tokens (M, T, B), and targets (M, B), (M, B, q), (M, T, B) or (M, T, B, q)."""
STRANDS = 10
"""Strands a text is folded into for scoring."""


def time_major(inputs: Tensor, targets: Tensor, every_step: bool) -> Batch:
    """Turn (..., B, T, p) into (..., T, B, p), tokens likewise, and the targets where every step has one."""
    return _swapped(inputs), _swapped(targets) if every_step else targets


def _swapped(tensor: Tensor) -> Tensor:
    """Return values (..., B, T, p) or classes (..., B, T) with batch and time in each other's place."""
    return tensor.transpose(-3, -2) if tensor.is_floating_point() else tensor.transpose(-2, -1)


def epoch_batches(
    configs: Sequence[TrialConfig], data: Data, epoch: int, every_step: bool, skip: int = 0
) -> Iterator[Batch]:
    """Yield the batches of one epoch, from step ``skip`` on.

    The order depends on a member's seed and on the epoch alone, so a trial meets the same batches alone, in a pack,
    and after a restart in the middle of an epoch.

    Args:
        configs: The members' trials; they agree in batch and steps.
        data: A training split on the pack's device, or a stream.
        epoch: From 1.
        every_step: Whether targets have a time axis.
        skip: Steps already done.
    """
    first, device = configs[0], data.valid.inputs.device
    if data.train is not None and data.segment:
        for inputs, targets in list(segments(data.train, data.segment, first.batch))[skip:]:
            yield inputs.expand(len(configs), *inputs.shape), targets.expand(len(configs), *targets.shape)
    elif data.train is not None:
        orders = torch.stack([_order(c.seed, epoch, len(data.train.inputs)) for c in configs]).to(device)
        for index in orders.split(first.batch, 1)[skip:]:
            yield time_major(*data.train.take(index), every_step)
    elif data.stream is not None:
        everything = torch.arange(first.batch)
        for step in range(skip, first.steps or 1):
            fresh = [data.stream(derive_seed(c.seed, "stream", epoch, step), first.batch) for c in configs]
            inputs, targets = (torch.stack(part) for part in zip(*(s.take(everything) for s in fresh), strict=True))
            yield time_major(inputs.to(device), targets.to(device), every_step)


def chunks(split: Split, every_step: bool, segment: int | None = None, size: int = 128) -> Iterator[Batch]:
    """Yield a whole split in pieces, without a members axis: ``size`` sequences each, or segments of a text."""
    if segment:
        yield from segments(split, segment, min(STRANDS, split.inputs.shape[1]))
    else:
        for inputs, targets in split.pieces(size):
            yield time_major(inputs, targets, every_step)


def segments(split: Split, length: int, strands: int) -> Iterator[Batch]:
    """Yield a text, (1, T), folded into ``strands`` of equal length, as segments (length, strands) in order.

    What does not fill a whole strand is left out; the last segment may be shorter.

    Raises:
        ValueError: The text has fewer steps than there are strands.
    """
    index = torch.zeros(1, dtype=torch.int64, device=split.inputs.device)
    inputs, targets = (part[0] for part in split.take(index))
    if not (steps := len(inputs) // strands):
        raise ValueError(f"A text of {len(inputs)} steps cannot be folded into {strands} strands.")
    folded = [part[: steps * strands].view(strands, steps) for part in (inputs, targets)]
    for start in range(0, steps, length):
        yield folded[0][:, start : start + length].T, folded[1][:, start : start + length].T


def _order(seed: int, epoch: int, n: int) -> Tensor:
    # On the CPU, whose generator gives the same order wherever the pack trains.
    return torch.randperm(n, generator=torch.Generator().manual_seed(derive_seed(seed, "order", epoch)))
