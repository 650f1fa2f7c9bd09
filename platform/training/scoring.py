"""What a split scores: the task's metric for each member of a pack, added up over pieces of the split."""

from __future__ import annotations

import torch
from torch import Tensor

from longwave.models.base.network import Network
from longwave.tasks.base.batch import Batch
from longwave.tasks.base.spec import TaskSpec

CHUNK, CHUNK_NUMBERS = 128, 2**23
"""Most examples, and most outputs of a member, scored at a time."""


@torch.no_grad()
def scored(network: Network, task: TaskSpec, split: Batch) -> Tensor:
    """Return the task's metric on ``split`` for each member, (M,) float64."""
    network.eval()
    state = None
    # In float64, or the last pieces of a long split would be rounded to the sum of the first.
    total = torch.zeros(2, network.members, dtype=torch.float64, device=network.bias.device)
    size = min(CHUNK, max(1, CHUNK_NUMBERS // (task.outputs * split.asked_places)))
    for piece in split.pieces(size):
        outputs, last = network.run(piece.shared(network.members), state)
        state = last if split.CARRIED else None
        total += torch.stack(task.metric.sums(outputs, piece.asked))
    return task.metric.finish(total[0] / total[1])
