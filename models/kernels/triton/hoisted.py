"""The products outside the time loop: drives before it, gradients of the weights and of the input after it.

They are plain torch.bmm, so torch's own setting decides whether they may use tf32.
"""

from __future__ import annotations

import torch
from torch import Tensor

from longwave.models.kernels.triton.anatomy import Anatomy


def drives(x: Tensor, v: Tensor, b: Tensor, gates: int) -> Tensor:
    """Return V x + b, (M, T, B, G, d)."""
    members, steps, batch, _ = x.shape
    e = torch.baddbmm(b.unsqueeze(1), x.reshape(members, steps * batch, -1), v.mT)
    return e.view(members, steps, batch, gates, -1)


def drive_adjoint(anatomy: Anatomy, adjoints: Tensor) -> Tensor:
    """Return the adjoint of the drives, (M, T, B, G·d)."""
    if not anatomy.drive:
        return adjoints[:, :, :, : len(anatomy.cell.gates)].flatten(-2)
    first, *others = (adjoints[:, :, :, slot] for slot in anatomy.drive)
    return first + others[0] if others else first


def input_gradients(e: Tensor, x: Tensor, v: Tensor, need_x: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Return dx, dV and db from the drives' adjoint e (M, T, B, G·d)."""
    rows = e.flatten(1, 2)
    dv = torch.bmm(rows.mT, x.reshape(*rows.shape[:2], -1))
    dx = torch.bmm(rows, v).view(x.shape) if need_x else e.new_empty(0)
    return dx, dv, rows.sum(1)


def matrix_gradients(
    anatomy: Anatomy, adjoints: Tensor, out: Tensor, kept: Tensor, start: Tensor, late: Tensor | None
) -> Tensor:
    """Return dW, (M, N, d, d): for each matrix the sum over steps and rows of adjoint times source."""
    members, d = len(out), out.shape[-1]
    dw = out.new_zeros(members, len(anatomy.cell.matrices), d, d)
    for matrix, slot, count, (where, which) in anatomy.weights:
        a = adjoints[:, :, :, slot : slot + count].flatten(-2)
        if where == "before":
            sequence = out if which == 0 else kept[which - 1]
            # The first step's source is the start, which lies elsewhere; to join them would copy the sequence.
            part = _outer(a[:, :1], start[which].unsqueeze(1)) + _outer(a[:, 1:], sequence[:, :-1])
        else:
            source = late if where == "late" else kept[which]
            assert source is not None
            part = _outer(a, source)
        dw[:, matrix : matrix + count] += part.view(members, count, d, d)
    return dw


def _outer(a: Tensor, source: Tensor) -> Tensor:
    """Return the sums of a sourceᵀ over time and rows, (M, k, d)."""
    return torch.bmm(a.flatten(1, 2).mT, source.flatten(1, 2))
