"""Products of delayed outputs.

With long lags they are separate products for every chunk of as many steps as the shortest lag, for which all h[n−τ] are
known, so the loop has fewer matrices. With short lags the row schedule keeps them in the loop, and reads h[n−τ] from
its own outputs. The history of the outputs is one tensor: the past, h[0], the outputs.
"""

from __future__ import annotations

from types import ModuleType

import torch
from torch import Tensor

from longwave.models.kernels.triton import row
from longwave.models.kernels.triton.printed import PrintedPlan

SHORT = 32
"""Lags below this stay in the loop: a launch and a product for so few steps would cost more than another matrix."""


def _rows(lags: list[int], past: int, first: int, end: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the indices, member and position in the history, of the delayed outputs of steps ``first`` to ``end``."""
    starts = torch.tensor([[past - lag] for lag in lags], device=device)
    return torch.arange(len(lags), device=device).unsqueeze(1), starts + torch.arange(first, end, device=device)


def _chunks(lags: list[int], steps: int) -> list[tuple[int, int]]:
    """Return first and end of chunks of steps at whose beginning all delayed outputs are known."""
    length = min(lags) + 1
    return [(a, min(a + length, steps)) for a in range(0, steps, length)]


def _in_loop(schedule: ModuleType, lags: list[int], device: torch.device) -> Tensor | None:
    """Return the lags if the delayed products stay in the loop."""
    short = schedule is row and min(lags) < SHORT
    return torch.tensor(lags, dtype=torch.int32, device=device) if short else None


def forward(
    schedule: ModuleType,
    printed: PrintedPlan,
    drive: Tensor,
    kept: Tensor,
    start: Tensor,
    past: Tensor,
    lags: list[int],
    w: Tensor,
    p: Tensor,
    u: Tensor,
    keep: bool,
) -> tuple[Tensor, Tensor]:
    """Return the outputs (M, T, B, d) and the last states; ``drive`` is overwritten."""
    members, steps, batch, _, d = drive.shape
    m = past.shape[1]
    history = start.new_empty(members, m + 1 + steps, batch, d)
    history[:, :m], history[:, m] = past, start[0]
    out = history[:, m + 1 :]
    if (inside := _in_loop(schedule, lags, drive.device)) is not None:
        last = schedule.forward(printed, drive, out, kept, start, w, p, u, keep, lags=inside)
        return out.clone(), last
    for a, b in _chunks(lags, steps):
        late = history[_rows(lags, m, a, b, drive.device)].flatten(1, 2)
        for gate, matrix in printed.plan.delays:
            drive[:, a:b, :, gate] += torch.bmm(late, w[:, matrix].mT).view(members, b - a, batch, d)
        part = kept.new_empty(len(kept), members, b - a, batch, d) if keep and kept.numel() else kept
        start = schedule.forward(printed, drive[:, a:b], out[:, a:b], part, start, w, p, u, keep)
        if keep and kept.numel():
            kept[:, :, a:b] = part
    return out.clone(), start


def backward(
    schedule: ModuleType,
    printed: PrintedPlan,
    pre: Tensor,
    out: Tensor,
    kept: Tensor,
    start: Tensor,
    past: Tensor,
    lags: list[int],
    g_out: Tensor | None,
    g_last: Tensor | None,
    w: Tensor,
    p: Tensor,
    u: Tensor,
    adjoints: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Fill ``adjoints``; return the adjoints of the start and of the past, the sums, and h[n−τ] (M, T, B, d)."""
    (members, steps, batch, d), m = out.shape, past.shape[1]
    history = torch.cat([past, start[0].unsqueeze(1), out], 1)
    late = history[_rows(lags, m, 0, steps, out.device)]
    if (inside := _in_loop(schedule, lags, out.device)) is not None:
        ends = schedule.backward(printed, pre, out, kept, start, g_out, g_last, w, p, u, adjoints, lags=inside)
        return ends[0], _past_adjoint(printed, adjoints, w, past, lags), ends[1], late
    g_history = torch.zeros_like(history)
    if g_out is not None:
        g_history[:, m + 1 :] = g_out
    outputs, g_outputs, sums = history[:, m + 1 :], g_history[:, m + 1 :], torch.zeros((), device=out.device)
    for a, b in reversed(_chunks(lags, steps)):
        begin = start if a == 0 else torch.stack([history[:, m + a], *kept[: len(start) - 1, :, a - 1].to(start.dtype)])
        window, rows = adjoints[:, a:b], kept[:, :, a:b].contiguous() if kept.numel() else kept
        g_last, part = schedule.backward(
            printed, pre[:, a:b], outputs[:, a:b], rows, begin, g_outputs[:, a:b], g_last, w, p, u, window
        )
        sums = sums + part
        for gate, matrix in printed.plan.delays:
            g_late = torch.bmm(window[:, :, :, gate].reshape(members, -1, d), w[:, matrix])
            # The indices are unique; otherwise += would add only one of the terms.
            g_history[_rows(lags, m, a, b, out.device)] += g_late.view(members, b - a, batch, d)
    assert g_last is not None
    g_start = torch.cat([g_last[:1] + g_history[:, m], g_last[1:]])
    return g_start, g_history[:, :m].clone(), sums, late


def _past_adjoint(printed: PrintedPlan, adjoints: Tensor, w: Tensor, past: Tensor, lags: list[int]) -> Tensor:
    """Return the adjoint of the past, which the loop does not compute."""
    g_past, m = torch.zeros_like(past), past.shape[1]
    for k, lag in enumerate(lags):
        count = min(lag, adjoints.shape[1])
        for gate, matrix in printed.plan.delays:
            g_past[k, m - lag : m - lag + count] += adjoints[k, :count, :, gate] @ w[k, matrix]
    return g_past
