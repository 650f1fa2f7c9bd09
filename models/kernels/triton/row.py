"""The row schedule: exact float32, weights in registers, for d up to 128; without weights for any d."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from longwave.models.kernels.triton.printed import PrintedPlan
from longwave.models.kernels.triton.row_kernels import backward_kernel, forward_kernel

WARPS = {16: 1, 32: 1, 64: 4, 128: 8}
"""Warps of a program by its width. 16 warps of 128 registers would spill more than 8 of 255."""
MAX_REGISTERS = 256
"""Registers per thread for weights: four matrices of 128² spill some dozens of others, which is cheap."""
ROWS = 2**31
"""Rows of pre-activations that the backward pass can index."""
OPTIONS: dict[str, Any] = {"num_stages": 1, "maxnreg": 255, "enable_fp_fusion": True}
"""By default ptxas may choose 64 registers and spill hundreds; Triton 3.10 disables fused multiply-adds by default."""


def width(hidden: int, matrices: int) -> int:
    """Return the power of two, at least 16, that holds d; without matrices at most 32, for a part of the row."""
    size = max(16, 1 << (hidden - 1).bit_length())
    return size if matrices else min(size, 32)


def registers(hidden: int, matrices: int) -> int:
    """Return the registers per thread for the weights, for d of ``WARPS``."""
    size = width(hidden, matrices)
    return matrices * size * size // (32 * WARPS[size])


def forward(
    steps: PrintedPlan,
    drive: Tensor,
    out: Tensor,
    kept: Tensor,
    start: Tensor,
    w: Tensor,
    p: Tensor,
    u: Tensor,
    keep: bool,
    lags: Tensor | None = None,
) -> Tensor:
    """Fill ``out`` (M, T, B, d), return the last states; if ``keep`` fill ``kept``, and ``drive`` with pre-activations.

    Args:
        drive: (M, T, B, G, d); like ``out`` it may be a window of a longer time axis.
        w: (M, N, d, d), not transposed.
        lags: (M,) int32 to put the delayed product into the loop; ``out`` then follows the past and h[0].
    """
    members, time, batch, d = out.shape
    last = torch.empty_like(start)
    code, counts = steps.forward[lags is not None], steps.counts
    size = width(d, counts["N"])
    with torch.cuda.device_of(out):
        forward_kernel[(batch, members, -(-d // size))](
            drive, out, kept, start, last, w.mT.contiguous(), p, u, drive if lags is None else lags,
            time, batch, members, drive.stride(0) // drive.stride(1), out.stride(0) // out.stride(1),
            step=code, SIZE=d, WIDTH=size, KEEP=keep, NEAR=lags is not None, num_warps=WARPS[size],
            **counts, **OPTIONS,
        )  # fmt: skip
    return last


def backward(
    steps: PrintedPlan,
    pre: Tensor,
    out: Tensor,
    kept: Tensor,
    start: Tensor,
    g_out: Tensor | None,
    g_last: Tensor | None,
    w: Tensor,
    p: Tensor,
    u: Tensor,
    adjoints: Tensor,
    lags: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Fill ``adjoints`` (M, T, B, slots, d); return the start's adjoint, sums (M, B, H + K, d) for scalars, vectors.

    ``pre`` and ``kept`` were saved by ``forward``; ``g_out`` has the memory layout of ``out``, with the adjoints of all
    output states; ``adjoints`` has that of ``pre``.

    Raises:
        ValueError: More rows than the kernel can index, at some 30 GB per unit.
    """
    members, time, batch, d = out.shape
    if (rows := members * batch * (pre.stride(0) // pre.stride(1))) >= ROWS:
        raise ValueError(
            f"The backward pass takes fewer than {ROWS} steps of all sequences in total, got {rows}; split the batch."
        )
    g_start = torch.empty_like(start)
    code, counts = steps.backward[lags is not None], steps.counts
    size = width(d, counts["N"])
    sums = out.new_empty(members, batch, counts["H"] + counts["NU"], d)
    with torch.cuda.device_of(out):
        backward_kernel[(batch, members, -(-d // size))](
            pre, out, kept, start, start.to(kept.dtype),
            out if g_out is None else g_out, start if g_last is None else g_last,
            w, p, u, adjoints, g_start, sums, pre if lags is None else lags,
            time, batch, members, pre.stride(0) // pre.stride(1), out.stride(0) // out.stride(1),
            step=code, SIZE=d, WIDTH=size, KO=steps.slots, OUT=steps.plan.outputs, HAS_GY=g_out is not None,
            HAS_GL=g_last is not None, NEAR=lags is not None, num_warps=WARPS[size],
            **counts, **OPTIONS,
        )  # fmt: skip
    return g_start, sums
