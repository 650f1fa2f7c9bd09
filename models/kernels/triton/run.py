"""One call of one recurrent layer over a whole sequence, forward and backward, in Triton.

``forward`` and ``backward`` are the contract of every backend; float32 only. Nothing here writes into its inputs, and
no result shares memory with an input or with another result.
"""

from __future__ import annotations

import os

import torch
from torch import Tensor

from longwave.models.kernels.cells import Cell
from longwave.models.kernels.triton import delayed, graph, hoisted, oscillator, row
from longwave.models.kernels.triton.anatomy import ANATOMIES

SCHEDULES = {"row": row, "graph": graph}
Shape = tuple[int, ...]
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
OLDEST = (7, 5)
"""The oldest GPU that the kernels were compiled for."""


def supports(cell: Cell, hidden: int) -> tuple[str, str]:
    """Return the schedule for a hidden size, "row" or "graph", and the reason in a sentence."""
    if cell.name == "unicornn":
        return "row", "No matrix in the loop: one lane runs one unit."
    if hidden <= max(row.WARPS):
        warps = row.WARPS[row.width(hidden)]
        return "row", f"{len(cell.matrices)} matrices of {hidden}² numbers stay in the registers of {warps} warps."
    return "graph", f"d = {hidden} is above {max(row.WARPS)}: the matrices do not fit into registers."


def obstacle(cell: Cell, hidden: int, device: torch.device) -> str:
    """Return why the loop cannot run on ``device``; empty if it can. Triton's interpreter runs on the CPU."""
    if INTERPRETED:
        return ""
    if device.type != "cuda":
        return f"the tensors are on {device.type}, Triton's loops run on a GPU"
    if torch.version.hip is not None:
        return "Triton's loops were written for NVIDIA's GPUs alone"
    capability = torch.cuda.get_device_capability(device)
    return "" if capability >= OLDEST else f"Triton's loops need a GPU of capability {OLDEST}, this is {capability}"


def flavour(cell: Cell, hidden: int) -> str:
    """Return the schedule's name, and why it is used."""
    schedule, reason = supports(cell, hidden)
    return f"Triton's {schedule} schedule. {reason}"


def kept_shapes(cell: Cell, M: int, T: int, B: int, d: int, m: int) -> tuple[Shape, Shape]:
    """Return the shapes of what ``forward`` keeps for ``backward``: pre-activations, and values beside the output."""
    if cell.name == "unicornn":
        return (M, T, B, 1, d), (M, B, d)
    return (M, T, B, len(cell.gates), d), (ANATOMIES[cell.name].kept, M, T, B, d)


def forward(
    cell: Cell,
    x: Tensor,
    V: Tensor,
    b: Tensor,
    W: Tensor,
    P: Tensor,
    U: Tensor,
    state: Tensor,
    past: Tensor,
    lags: list[int],
    keep: bool,
    *,
    schedule: str | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the outputs (M, T, B, d), the last states (NS, M, B, d) and two kept tensors, empty unless ``keep``.

    Args:
        cell: Which recurrence.
        x, V, b: Input (M, T, B, p) and the drive's map (M, G·d, p), (M, G·d).
        W, P, U: Matrices (M, N, d, d), scalars (M, H), vectors (M, K, d).
        state, past, lags: Start (NS, M, B, d); for τ-GRU h before the start, (M, m, B, d), and the members' lags.
        keep: Whether a backward follows.
        schedule: "row" or "graph", chosen by ``supports`` if not given.
    """
    name, start = cell.name, state.contiguous()
    e = hoisted.drives(x, V, b, len(cell.gates))
    members, steps, batch, _, d = e.shape
    p, u, nothing = P.contiguous(), U.contiguous(), e.new_empty(0)
    if name == "unicornn":
        out, last = oscillator.forward(e[:, :, :, 0], start, p, u)
        return (out, last, e, last[1].clone()) if keep else (out, last, nothing, nothing.clone())
    runner = SCHEDULES[schedule or supports(cell, d)[0]]
    w = _scaled(cell, W, P)
    kept = e.new_empty(kept_shapes(cell, members, steps, batch, d, past.shape[1])[1] if keep else (0,))
    if name == "tau_gru":
        out, last = delayed.forward(runner, e, start, past, lags, w, p, keep)
    else:
        out = e.new_empty(members, steps, batch, d)
        last = runner.forward(ANATOMIES[name], e, out, kept, start, w, p, u, keep)
    return out, last, e if keep else nothing, kept


def backward(
    cell: Cell,
    gY: Tensor | None,
    glast: Tensor | None,
    x: Tensor,
    V: Tensor,
    W: Tensor,
    P: Tensor,
    U: Tensor,
    Y: Tensor,
    state: Tensor,
    past: Tensor,
    lags: list[int],
    kept1: Tensor,
    kept2: Tensor,
    need_x: bool,
    *,
    schedule: str | None = None,
    reversible: bool | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return the gradients dx (empty unless ``need_x``), dV, db, dW, dP, dU, dstate, dpast.

    gY and glast are the adjoints of the outputs and of the last states, ``None`` for zeros. What was kept stays as it
    is, so a graph may be walked twice. ``reversible`` is for UnICORNN, ``oscillator.REVERSIBLE`` if not given.
    """
    start, out, p, u = state.contiguous(), Y.contiguous(), P.contiguous(), U.contiguous()
    gY, glast = (g if g is None else g.contiguous() for g in (gY, glast))
    if cell.name == "unicornn":
        back = oscillator.REVERSIBLE if reversible is None else reversible
        e, dstate, dp, du = oscillator.backward(kept1[:, :, :, 0], out, kept2, start, gY, glast, p, u, back)
        dw, dpast = torch.zeros_like(W), torch.zeros_like(past)
        return *hoisted.input_gradients(e, x, V, need_x), dw, dp, du, dstate, dpast
    members, steps, batch, d = out.shape
    anatomy, runner = ANATOMIES[cell.name], SCHEDULES[schedule or supports(cell, d)[0]]
    w = _scaled(cell, W, P)
    adjoints = out.new_empty(members, steps, batch, anatomy.slots, d)
    dpast, late = torch.zeros_like(past), None
    if cell.name == "tau_gru":
        dstate, dpast, sums, late = delayed.backward(runner, kept1, out, start, past, lags, gY, glast, w, p, adjoints)
    else:
        dstate, sums = runner.backward(anatomy, kept1, out, kept2, start, gY, glast, w, p, u, adjoints)
    dw = hoisted.matrix_gradients(anatomy, adjoints, out, kept2, start, late)
    dp = _scalar_gradients(cell, sums, W, P, dw)
    du = adjoints[:, :, :, 3].sum((1, 2)).unsqueeze(1) if cell.name == "gru" else torch.zeros_like(U)
    return *hoisted.input_gradients(hoisted.drive_adjoint(anatomy, adjoints), x, V, need_x), dw, dp, du, dstate, dpast


def _scaled(cell: Cell, w: Tensor, p: Tensor) -> Tensor:
    """Return the matrices of the loop; the Lipschitz RNN's A times ε, so that ε's gradient takes no division by ε."""
    if not cell.name.startswith("lipschitz"):
        return w.contiguous()
    return torch.cat([w[:, :1] * p[:, :, None, None], w[:, 1:]], 1)


def _scalar_gradients(cell: Cell, sums: Tensor, w: Tensor, p: Tensor, dw: Tensor) -> Tensor:
    """Return dP, (M, H), from the loop's sums (M, B, H, d); turn the Lipschitz RNN's d(εA) in ``dw`` into dA."""
    dp = sums.sum((1, 3), dtype=torch.float64)
    if cell.name.startswith("lipschitz"):
        dp += (w[:, 0].double() * dw[:, 0]).sum((1, 2)).unsqueeze(1)
        dw[:, 0] *= p.unsqueeze(-1)
    return dp.float()
