"""One call of one recurrent layer over a whole sequence, forward and backward, in Triton.

``forward`` and ``backward`` are the interface of every backend; float32 only. No function writes into its inputs, and
no result shares memory with an input or with another result.
"""

from __future__ import annotations

import os

import torch
from torch import Tensor

from longwave.models.kernels.cells import Cell
from longwave.models.kernels.compiler.plan import Plan
from longwave.models.kernels.triton import delayed, graph, hoisted, oscillator, row
from longwave.models.kernels.triton.emit import unit_slots
from longwave.models.kernels.triton.printed import printed

SCHEDULES = {"row": row, "graph": graph}
Shape = tuple[int, ...]
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
OLDEST = (7, 5)
"""The oldest supported compute capability."""


def supports(cell: Cell, hidden: int) -> tuple[str, str]:
    """Return the schedule for a hidden size, "row" or "graph", and the reason in a sentence."""
    count = len(cell.matrices)
    if not count:
        return "row", "No matrix in the loop: one lane runs one unit."
    if hidden > max(row.WARPS):
        return "graph", f"d = {hidden} is above {max(row.WARPS)}: the matrices do not fit into registers."
    if row.registers(hidden, count) > row.MAX_REGISTERS:
        return "graph", f"{count} matrices of {hidden}² numbers do not fit into registers."
    warps = row.WARPS[row.width(hidden, count)]
    return "row", f"{count} matrices of {hidden}² numbers stay in the registers of {warps} warps."


def obstacle(cell: Cell, hidden: int, device: torch.device) -> str:
    """Return why the loop cannot run on ``device``; empty if it can."""
    if cell.plan is not None and ("late", 0) in cell.plan.forward.inputs.values():
        return "the step uses delayed outputs outside its products, which Triton's loops do not support"
    if cell.outputs > 1 and supports(cell, hidden)[0] == "graph":
        return f"the cell outputs {cell.outputs} states, which Triton's graph schedule does not support"
    return missing_gpu(device)


def missing_gpu(device: torch.device) -> str:
    """Return why no loop can run on ``device``; empty if one can. Triton's interpreter runs on the CPU."""
    if INTERPRETED:
        return ""
    if device.type != "cuda":
        return f"the tensors are on {device.type}, Triton's loops run on a GPU"
    if torch.version.hip is not None:
        return "Triton's loops support only NVIDIA GPUs"
    capability = torch.cuda.get_device_capability(device)
    return "" if capability >= OLDEST else f"Triton's loops need a GPU of capability {OLDEST}, this is {capability}"


def flavour(cell: Cell, hidden: int) -> str:
    """Return the schedule's name, and why it is used."""
    schedule, reason = supports(cell, hidden)
    return f"Triton's {schedule} schedule. {reason}"


def kept_shapes(cell: Cell, M: int, T: int, B: int, d: int, m: int) -> tuple[Shape, Shape]:
    """Return the shapes of the values that ``forward`` saves for ``backward``: pre-activations, and others."""
    if cell.plan is None:
        return (M, T, B, 1, d), (M, B, d)
    gates = len(cell.gates)
    return (M, T, B, gates, d), (len(cell.states) - 1 + cell.plan.kept - gates, M, T, B, d)


def kept_types(cell: Cell) -> tuple[torch.dtype, torch.dtype]:
    """Return the types of the values that ``forward`` saves."""
    return torch.float32, torch.float32


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
    storage: torch.dtype = torch.float32,
    schedule: str | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the outputs (M, T, B, k d), the last states (NS, M, B, d) and two kept tensors, empty unless ``keep``.

    Args:
        cell: The recurrence.
        x, V, b: Input (M, T, B, p) and the drive's map (M, G·d, p), (M, G·d).
        W, P, U: Matrices (M, N, d, d), scalars (M, H), vectors (M, K, d).
        state, past, lags: Initial state (NS, M, B, d); the outputs before it, (M, m, B, d), and the lags, for a delay.
        keep: Whether a backward pass follows.
        storage: The type of stored drives and kept tensors; see ``halved``.
        schedule: "row" or "graph", chosen by ``supports`` if not given.
    """
    start = state.contiguous()
    e = hoisted.drives(x, V, b, len(cell.gates), storage)
    members, time, batch, _, d = e.shape
    p, u, nothing = P.contiguous(), U.contiguous(), e.new_empty(0)
    if cell.plan is None:
        out, last = oscillator.forward(e[:, :, :, 0], start, p, u)
        return (out, last, e, last[1].clone()) if keep else (out, last, nothing, out.new_empty(0))
    runner, steps, w = SCHEDULES[schedule or supports(cell, d)[0]], printed(cell.plan), W.contiguous()
    whole = keep or cell.outputs > 1  # outputs after the first are read from the saved states
    kept = e.new_empty(kept_shapes(cell, members, time, batch, d, past.shape[1])[1] if whole else (0,))
    if cell.plan.delayed:
        out, last = delayed.forward(runner, steps, e, kept, start, past, lags, w, p, u, keep)
    else:
        out = start.new_empty(members, time, batch, d)
        last = runner.forward(steps, e, out, kept, start, w, p, u, whole)
    if cell.outputs > 1:
        out = torch.cat([out, *kept[: cell.outputs - 1]], -1)
    return (out, last, e, kept) if keep else (out, last, nothing, nothing.clone())


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

    gY and glast are the adjoints of the outputs and of the last states, ``None`` for zeros. Saved values are not
    modified, so backward may run twice. ``reversible`` is for UnICORNN, ``oscillator.REVERSIBLE`` if not given.
    """
    start, out, p, u = state.contiguous(), Y[..., : state.shape[-1]].contiguous(), P.contiguous(), U.contiguous()
    gY, glast = (g if g is None else g.contiguous() for g in (gY, glast))
    if cell.plan is None:
        recompute_y = oscillator.REVERSIBLE if reversible is None else reversible
        e, dstate, dp, du = oscillator.backward(kept1[:, :, :, 0], out, kept2, start, gY, glast, p, u, recompute_y)
        dw, dpast = torch.zeros_like(W), torch.zeros_like(past)
        return *hoisted.input_gradients(e, x, V, need_x), dw, dp, du, dstate, dpast
    runner, steps = SCHEDULES[schedule or supports(cell, out.shape[3])[0]], printed(cell.plan)
    w, adjoints = W.contiguous(), out.new_empty(*out.shape[:3], steps.slots, out.shape[3])
    dpast, late = torch.zeros_like(past), None
    if cell.plan.delayed:
        dstate, dpast, sums, late = delayed.backward(
            runner, steps, kept1, out, kept2, start, past, lags, gY, glast, w, p, u, adjoints
        )
    else:
        dstate, sums = runner.backward(steps, kept1, out, kept2, start, gY, glast, w, p, u, adjoints)
    dw = hoisted.matrix_gradients(cell.plan, adjoints, kept1, out, kept2, start, late)
    drive = adjoints[:, :, :, : len(cell.gates)].flatten(-2)
    numbers = _number_gradients(cell.plan, sums, adjoints)
    return *hoisted.input_gradients(drive, x, V, need_x), dw, *numbers, dstate, dpast


def _number_gradients(plan: Plan, sums: Tensor, adjoints: Tensor) -> tuple[Tensor, Tensor]:
    """Return dP (M, H) and dU (M, K, d) from the loop's sums (M, B, H + K, d), and from slots."""
    scalars = len(plan.nums)
    dp, du = sums[:, :, :scalars].sum((1, 3), dtype=torch.float64).float(), sums[:, :, scalars:].sum(1)
    for vector, slot in unit_slots(plan):
        du[:, vector] += adjoints[:, :, :, slot].sum((1, 2))
    return dp, du
