"""Large buffers that are used again: memory fresh from the system costs more to touch than the loop itself."""

from __future__ import annotations

import math
import weakref

import numpy as np
import torch
from torch import Tensor

KEPT = 2**30
"""Bytes that wait for their next use at most."""
SMALL = 2**18
"""Numbers below which the system's allocator does as well."""
LINE = 16
"""Numbers of a line of the cache."""
_spare: list[np.ndarray] = []


def empty(*shape: int) -> Tensor:
    """Return a float32 tensor, not initialised; its memory comes back here when the last view of it is gone."""
    size = math.prod(shape)
    if size < SMALL:
        return torch.empty(shape, dtype=torch.float32)
    fits = [block for block in list(_spare) if size <= block.size <= 2 * size]
    block = min(fits, key=len, default=None)
    if block is None or not _claimed(block):
        block = _fresh(size)
    view = block[:size]
    weakref.finalize(view, _return, block).atexit = False
    return torch.from_numpy(view).view(shape)


def _fresh(size: int) -> np.ndarray:
    """Return a block that begins where a line of the cache does: a vector across two lines costs both."""
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
