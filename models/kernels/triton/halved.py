"""The same loops with half the memory per step: drives and values saved for the backward pass are in bfloat16.

Sums, states, outputs and gradients stay float32, in registers and outside. The cost is a relative error of 1/256 in
stored values; a trial's ``precision`` records it.
"""

from __future__ import annotations

from functools import partial

import torch

from longwave.models.kernels.cells import Cell
from longwave.models.kernels.triton import run
from longwave.models.kernels.triton.run import backward, kept_shapes

__all__ = ["backward", "flavour", "forward", "kept_shapes", "kept_types", "obstacle"]
OLDEST = (8, 0)
"""The oldest GPU that rounds to bfloat16."""

forward = partial(run.forward, storage=torch.bfloat16)


def kept_types(cell: Cell) -> tuple[torch.dtype, torch.dtype]:
    """Return the types of the values saved by ``forward``. UnICORNN's last z, which determines the rest, is float32."""
    return torch.bfloat16, torch.float32 if cell.plan is None else torch.bfloat16


def obstacle(cell: Cell, hidden: int, device: torch.device) -> str:
    """Return why the loop cannot run on ``device``; empty if it can."""
    if device.type == "cuda" and (capability := torch.cuda.get_device_capability(device)) < OLDEST:
        return f"bfloat16 needs a GPU of capability {OLDEST}, this is {capability}"
    if cell.outputs > 1:
        return f"the cell outputs {cell.outputs} states, some of which would be stored in bfloat16"
    return run.obstacle(cell, hidden, device)


def flavour(cell: Cell, hidden: int) -> str:
    """Return the schedule's name, and why it is used."""
    return f"{run.flavour(cell, hidden)} Drives and saved values are stored in bfloat16."
