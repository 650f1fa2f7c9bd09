"""Reuse of large buffers: first access to fresh memory from the system costs more than the loop itself."""

from __future__ import annotations

import math
import weakref

import numpy as np
import torch
from torch import Tensor

KEPT = 2**30
"""Most bytes kept for reuse."""
SMALL = 2**18
"""Numbers below which the system's allocator is as good."""
LINE = 16
"""Numbers per cache line."""
_spare: list[np.ndarray] = []


def empty(*shape: int) -> Tensor:
    """Return a float32 tensor, not initialised; its memory is returned here when its last view is deleted."""
    size = math.prod(shape)
    if size < SMALL:
        return torch.empty(shape, dtype=torch.float32, device="cpu")
    fits = [block for block in list(_spare) if size <= block.size <= 2 * size]
    block = min(fits, key=len, default=None)
    if block is None or not _claimed(block):
        block = _fresh(size)
    view = block[:size]
    weakref.finalize(view, _return, block).atexit = False
    return torch.from_numpy(view).view(shape)


def _fresh(size: int) -> np.ndarray:
    """Return a block aligned to a cache line: a vector across two lines needs both."""
    try:
        block = np.empty(size + LINE, np.float32)
    except MemoryError:
        _spare.clear()
        block = np.empty(size + LINE, np.float32)
    skip = -block.ctypes.data // 4 % LINE
    return block[skip : skip + size]


def _claimed(block: np.ndarray) -> bool:
    for k, spare in enumerate(_spare):
        if spare is block:
            del _spare[k]
            return True
    return False


def _return(block: np.ndarray) -> None:
    _spare.append(block)
    while sum(spare.nbytes for spare in _spare) > KEPT:
        del _spare[0]
