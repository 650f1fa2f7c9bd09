"""UnICORNN's loop: it has no matrix, so one lane runs one unit of one sequence over all steps.

Backward is exact in two ways. *Anchored*, the default, reads y[n−1] from the outputs, which exist anyway, and
recomputes z[n−1] from z[n]: as accurate as storing z. *Reversible* recomputes both from the last step alone.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from longwave.models.kernels.triton.oscillator_kernels import backward_kernel, forward_kernel

REVERSIBLE = False
"""Whether backward also recomputes y."""
BLOCK = 32
"""Lanes of a program: one warp."""
AHEAD = 8
"""Steps by which loads are ahead: a load from memory takes longer than several steps."""
OPTIONS: dict[str, Any] = {"num_warps": 1, "num_stages": 1, "enable_fp_fusion": True}


def forward(drive: Tensor, start: Tensor, p: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
    """Return the outputs (M, T, B, d) and the last states (2, M, B, d) from the drives (M, T, B, d)."""
    members, steps, batch, d = drive.shape
    out, last = start.new_empty(drive.shape), torch.empty_like(start)
    with torch.cuda.device_of(drive):
        forward_kernel[(-(-batch * d // BLOCK), members)](
            drive, out, start, last, p, u, steps, batch * d, members, SIZE=d, BLOCK=BLOCK, AHEAD=AHEAD, **OPTIONS
        )
    return out, last


def backward(
    drive: Tensor,
    out: Tensor,
    z: Tensor,
    start: Tensor,
    g_out: Tensor | None,
    g_last: Tensor | None,
    p: Tensor,
    u: Tensor,
    reversible: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the adjoints of the drives, the initial state, α (M, 1), and s and w (M, 2, d); z is the last one."""
    members, steps, batch, d = drive.shape
    g_drive, g_start = torch.empty_like(out), torch.empty_like(start)
    sums = out.new_empty(3, members, batch, d)
    with torch.cuda.device_of(drive):
        backward_kernel[(-(-batch * d // BLOCK), members)](
            drive, out, z, start, out if g_out is None else g_out, start if g_last is None else g_last,
            p, u, g_drive, g_start, sums, steps, batch * d, members, SIZE=d, BLOCK=BLOCK, AHEAD=AHEAD,
            ANCHORED=not reversible, HAS_GY=g_out is not None, HAS_GL=g_last is not None, **OPTIONS,
        )  # fmt: skip
    g_alpha = sums[2].sum((1, 2), dtype=torch.float64).float().unsqueeze(1)
    return g_drive, g_start, g_alpha, sums[:2].sum(2).transpose(0, 1).contiguous()
