"""Batches for a pack: each member meets the training data in the order its own seed gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from longwave.platform.records import TrialConfig, derive_seed
from longwave.tasks.spec import Data, Split

Batch = tuple[Tensor, Tensor]
"""Inputs (M, T, B, p), and targets (M, B), (M, B, q) or (M, T, B, q)."""


def time_major(inputs: Tensor, targets: Tensor, every_step: bool) -> Batch:
    """Turn (..., B, T, p) into (..., T, B, p), and the targets likewise where every step has one."""
    return inputs.transpose(-3, -2), targets.transpose(-3, -2) if every_step else targets


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
    if data.train is not None:
        orders = torch.stack([_order(c.seed, epoch, len(data.train.inputs)) for c in configs]).to(device)
        for index in orders.split(first.batch, 1)[skip:]:
            yield time_major(data.train.inputs[index], data.train.targets[index], every_step)
    elif data.stream is not None:
        for step in range(skip, first.steps or 1):
            fresh = [data.stream(derive_seed(c.seed, "stream", epoch, step), first.batch) for c in configs]
            inputs, targets = torch.stack([s.inputs for s in fresh]), torch.stack([s.targets for s in fresh])
            yield time_major(inputs.to(device), targets.to(device), every_step)


def chunks(split: Split, every_step: bool, size: int = 128) -> Iterator[Batch]:
    """Yield a whole split in pieces of ``size`` sequences, without a members axis."""
    for inputs, targets in zip(split.inputs.split(size), split.targets.split(size), strict=True):
        yield time_major(inputs, targets, every_step)


def _order(seed: int, epoch: int, n: int) -> Tensor:
    return torch.randperm(n, generator=torch.Generator().manual_seed(derive_seed(seed, "order", epoch)))
