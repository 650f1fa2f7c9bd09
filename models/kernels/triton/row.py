"""The row schedule: exact float32, weights in registers, for d up to 128."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from longwave.models.kernels.triton.anatomy import NEAR, Anatomy
from longwave.models.kernels.triton.row_kernels import backward_kernel, forward_kernel

WARPS = {16: 1, 32: 1, 64: 4, 128: 8}
"""Warps of a program by its width. 16 warps of 128 registers would spill more than 8 of 255 do."""
OPTIONS: dict[str, Any] = {"num_stages": 1, "maxnreg": 255, "enable_fp_fusion": True}
"""Left to itself ptxas may settle on 64 registers and spill hundreds; fused multiply-adds go off by default in 3.10."""


def width(hidden: int) -> int:
    """Return the power of two, 16 or more, that holds d."""
    return max(16, 1 << (hidden - 1).bit_length())


def forward(
    anatomy: Anatomy,
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
        lags: (M,) int32 to put the delayed product into the loop; ``out`` then lies behind the past and h[0].
    """
    members, steps, batch, d = out.shape
    last = torch.empty_like(start)
    code = NEAR[0] if lags is not None else anatomy.forward
    with torch.cuda.device_of(out):
        forward_kernel[(batch, members)](
            drive, out, kept, start, last, w.mT.contiguous(), p, u, drive if lags is None else lags,
            steps, batch, members, drive.stride(0) // drive.stride(1), out.stride(0) // out.stride(1),
            step=code, SIZE=d, WIDTH=width(d), KEEP=keep, NEAR=lags is not None, num_warps=WARPS[width(d)],
            **anatomy.counts, **OPTIONS,
        )  # fmt: skip
    return last


def backward(
    anatomy: Anatomy,
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
    """Fill ``adjoints`` (M, T, B, slots, d); return the start's adjoint and sums (M, B, H, d) of the scalars' terms.

    ``pre`` and ``kept`` are what ``forward`` kept; ``g_out`` lies in memory like ``out``, ``adjoints`` like ``pre``.
    """
    members, steps, batch, d = out.shape
    g_start = torch.empty_like(start)
    sums = out.new_empty(members, batch, len(anatomy.cell.scalars), d)
    code = NEAR[1] if lags is not None else anatomy.backward
    with torch.cuda.device_of(out):
        backward_kernel[(batch, members)](
            pre, out, kept, start, out if g_out is None else g_out, start if g_last is None else g_last,
            w, p, u, adjoints, g_start, sums, pre if lags is None else lags,
            steps, batch, members, pre.stride(0) // pre.stride(1), out.stride(0) // out.stride(1),
            step=code, SIZE=d, WIDTH=width(d), KO=anatomy.slots, HAS_GY=g_out is not None,
            HAS_GL=g_last is not None, NEAR=lags is not None, num_warps=WARPS[width(d)],
            **anatomy.counts, **OPTIONS,
        )  # fmt: skip
    return g_start, sums
