"""Batches for a pack: each member gets the training data in the order of its seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from longwave.platform.records.identity import derive_seed
from longwave.platform.records.trial import TrialConfig
from longwave.tasks.base.batch import Batch
from longwave.tasks.base.data import Data

Fed = TypeVar("Fed", bound=Batch)


def epoch_batches(configs: Sequence[TrialConfig], data: Data[Fed], epoch: int, skip: int = 0) -> Iterator[Fed]:
    """Yield the batches of one epoch, with a members axis, from step ``skip`` on.

    The order depends only on a member's seed and the epoch, so a trial gets the same batches alone, in a pack, and
    after a restart within an epoch.

    Args:
        configs: Trials of the members, which agree in batch and steps.
        data: A training split on the pack's device, or a stream.
        epoch: From 1.
        skip: Steps already done.
    """
    first = configs[0]
    if data.train is not None:
        orders = torch.stack([_order(c.seed, epoch, len(data.train)) for c in configs])
        yield from data.train.epoch(orders, first.batch, skip)
    elif data.stream is not None:
        all_examples, device = torch.arange(first.batch), data.valid.targets.device
        for step in range(skip, first.steps or 1):
            seeds = [derive_seed(c.seed, "stream", epoch, step) for c in configs]
            batches = [data.stream(seed, first.batch).take(all_examples) for seed in seeds]
            yield type(batches[0]).stacked(batches).to(device)


def _order(seed: int, epoch: int, n: int) -> Tensor:
    # On the CPU, whose generator gives the same order for all devices.
    return torch.randperm(n, generator=torch.Generator().manual_seed(derive_seed(seed, "order", epoch)))
