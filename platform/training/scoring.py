"""Metrics of a split for each member of a pack, summed over pieces of the split."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from longwave.models.base.network import Network
from longwave.tasks.base.batch import Batch
from longwave.tasks.base.metric import Metric
from longwave.tasks.base.spec import TaskSpec

CHUNK, CHUNK_NUMBERS = 128, 2**23
"""Maximal examples, and outputs of a member, scored at a time."""


def scored(network: Network, task: TaskSpec, split: Batch) -> Tensor:
    """Return the task's metric on ``split`` for each member, (M,) float64."""
    return measured(network, [task.metric], split)[0]


@torch.no_grad()
def measured(network: Network, metrics: Sequence[Metric], split: Batch) -> Tensor:
    """Return several metrics on ``split``, (metrics, M) float64, of the same outputs."""
    network.eval()
    state = None
    # In float64, so that the last pieces of a long split are not lost to rounding.
    total = torch.zeros(len(metrics), 2, network.members, dtype=torch.float64, device=network.bias.device)
    size = min(CHUNK, max(1, CHUNK_NUMBERS // (network.bias.shape[1] * split.read_positions)))
    for piece in split.pieces(size):
        outputs, last = piece.shared(network.members).answers(network.run, state)
        state = last if split.CARRIED else None
        total += torch.stack([torch.stack(metric.of(outputs, piece)) for metric in metrics])
    return torch.stack([m.finish(part[0] / part[1]) for m, part in zip(metrics, total, strict=True)])
