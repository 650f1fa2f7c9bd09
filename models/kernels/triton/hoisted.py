"""The products outside the time loop: drives before it, gradients of the weights and of the input after it.

They are plain torch.bmm, so torch's own setting decides whether they may use tf32.
"""

from __future__ import annotations

import torch
from torch import Tensor

from longwave.models.kernels.compiler.plan import Plan

CHUNK = 256
"""Steps whose drives are computed at once if they are stored in another type."""


def drives(x: Tensor, v: Tensor, b: Tensor, gates: int, storage: torch.dtype = torch.float32) -> Tensor:
    """Return V x + b, (M, T, B, G, d), stored in ``storage``, chunk by chunk if that differs from x's type."""
    members, steps, batch, _ = x.shape
    if storage != x.dtype:
        e = x.new_empty(members, steps, batch, gates, v.shape[1] // gates, dtype=storage)
        for a in range(0, steps, CHUNK):
            e[:, a : a + CHUNK] = drives(x[:, a : a + CHUNK], v, b, gates)
        return e
    e = torch.baddbmm(b.unsqueeze(1), x.reshape(members, steps * batch, -1), v.mT)
    return e.view(members, steps, batch, gates, -1)


def input_gradients(e: Tensor, x: Tensor, v: Tensor, need_x: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Return dx, dV and db from the drives' adjoint e (M, T, B, G·d)."""
    rows = e.flatten(1, 2)
    dv = torch.bmm(rows.mT, x.reshape(*rows.shape[:2], -1))
    dx = torch.bmm(rows, v).view(x.shape) if need_x else e.new_empty(0)
    return dx, dv, rows.sum(1)


def matrix_gradients(
    plan: Plan, adjoints: Tensor, pre: Tensor, out: Tensor, kept: Tensor, start: Tensor, late: Tensor | None
) -> Tensor:
    """Return dW, (M, N, d, d): for each matrix the sum over steps and rows of slot times the row that it multiplied."""
    members, d = len(out), out.shape[-1]
    dw = out.new_zeros(members, len(plan.matrices), d, d)
    for g in plan.gradients:
        a = adjoints[:, :, :, g.slot : g.slot + g.count].flatten(-2)
        array, j = g.home
        if array == "before":
            sequence = out if j == 0 else kept[j - 1]
            # The first step's source is the initial state, stored elsewhere; joining them would copy the sequence.
            part = _outer(a[:, :1], start[j].unsqueeze(1)) + _outer(a[:, 1:], sequence[:, :-1])
        else:
            part = _outer(a, late if array == "late" else _row(plan, array, j, pre, out, kept))  # type: ignore[arg-type]
        dw[:, g.matrix : g.matrix + g.count].add_(part.view(members, g.count, d, d))  # += would copy the sum back too
    return dw


def _row(plan: Plan, array: str, j: int, pre: Tensor, out: Tensor, kept: Tensor) -> Tensor:
    """Return a row of all steps, (M, T, B, d): of the states after a step, or of saved values."""
    if array == "after":
        return out if j == 0 else kept[j - 1]
    gates = len(plan.gates)
    return pre[:, :, :, j] if j < gates else kept[plan.states - 1 + j - gates]


def _outer(a: Tensor, source: Tensor) -> Tensor:
    """Return the sums of a sourceᵀ over time and rows, (M, k, d)."""
    return torch.bmm(a.flatten(1, 2).mT, source.flatten(1, 2).to(a.dtype))
