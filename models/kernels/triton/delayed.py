"""τ-GRU's delayed product.

With long lags it is a product of its own for every chunk of as many steps as the shortest lag, whose h[n−τ] are all
known; so the loop has three matrices, not four. With short lags the row schedule keeps it in the loop, and reads
h[n−τ] from what it wrote. The history of h lies in one tensor: the past, h[0], the outputs.
"""

from __future__ import annotations

from types import ModuleType

import torch
from torch import Tensor

from longwave.models.kernels.triton import row
from longwave.models.kernels.triton.anatomy import ANATOMIES

SHORT = 32
"""Lags below this stay in the loop: a launch and a product for so few steps would cost more than the fourth matrix."""
TAU_GRU = ANATOMIES["tau_gru"]


class _Lags:
    """The lags of the members, and where in the history a chunk's delayed states lie."""

    def __init__(self, lags: list[int], past: int, device: torch.device) -> None:
        known = [lag for lag in lags if lag]
        self.chunk = min(known, default=0)
        self.zero = torch.tensor([lag == 0 for lag in lags], device=device)
        first = [past - (lag or self.chunk) for lag in lags]  # a lag of 0 is masked; any known rows do
        self.first = torch.tensor(first, device=device).unsqueeze(1)
        self.members = torch.arange(len(lags), device=device).unsqueeze(1)

    def inner(self, w: Tensor) -> Tensor:
        """Return the matrices of the loop: W2 only for lags of 0. Chosen, as NaN times 0 would be NaN."""
        w = w.clone()
        w[:, 1] = torch.where(self.zero[:, None, None], w[:, 1], 0.0)
        return w

    def outer(self, w: Tensor) -> Tensor:
        """Return W2 for the members that have a lag."""
        return torch.where(self.zero[:, None, None], 0.0, w[:, 1])

    def rows(self, start: int, count: int) -> tuple[Tensor, Tensor]:
        """Return the index of the delayed states of a chunk in the history."""
        return self.members, self.first + torch.arange(start, start + count, device=self.first.device)


def _starts(chunk: int, steps: int) -> list[tuple[int, int]]:
    length = chunk or steps
    return [(a, min(a + length, steps)) for a in range(0, steps, length)]


def _in_loop(schedule: ModuleType, lags: list[int], device: torch.device) -> Tensor | None:
    """Return the lags if the delayed product stays in the loop."""
    short = schedule is row and min(lags) < SHORT
    return torch.tensor(lags, dtype=torch.int32, device=device) if short else None


def forward(
    schedule: ModuleType, drive: Tensor, start: Tensor, past: Tensor, lags: list[int], w: Tensor, p: Tensor, keep: bool
) -> tuple[Tensor, Tensor]:
    """Return the outputs (M, T, B, d) and the last state; ``drive`` is overwritten."""
    members, steps, batch, _, d = drive.shape
    m, none, no_vectors = past.shape[1], drive.new_empty(0), drive.new_empty(members, 0, d)
    history = drive.new_empty(members, m + 1 + steps, batch, d)
    history[:, :m], history[:, m] = past, start[0]
    out = history[:, m + 1 :]
    if (inside := _in_loop(schedule, lags, drive.device)) is not None:
        last = schedule.forward(TAU_GRU, drive, out, none, start, w, p, no_vectors, keep, lags=inside)
        return out.clone(), last
    table = _Lags(lags, m, drive.device)
    inner, outer = table.inner(w), table.outer(w)
    for a, b in _starts(table.chunk, steps):
        if table.chunk:
            late = history[table.rows(a, b - a)].flatten(1, 2)
            drive[:, a:b, :, 1] += torch.bmm(late, outer.mT).view(members, b - a, batch, d)
        start = schedule.forward(TAU_GRU, drive[:, a:b], out[:, a:b], none, start, inner, p, no_vectors, keep)
    return out.clone(), start


def backward(
    schedule: ModuleType,
    pre: Tensor,
    out: Tensor,
    start: Tensor,
    past: Tensor,
    lags: list[int],
    g_out: Tensor | None,
    g_last: Tensor | None,
    w: Tensor,
    p: Tensor,
    adjoints: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Fill ``adjoints``; return the adjoints of the start and of the past, the sums for α and β, and h[n−τ]."""
    members, steps, batch, d = out.shape
    m, none, no_vectors = past.shape[1], out.new_empty(0), out.new_empty(members, 0, d)
    history = torch.cat([past, start[0].unsqueeze(1), out], 1)
    near = torch.arange(steps, device=out.device) + torch.tensor([[m - lag] for lag in lags], device=out.device)
    late = history[torch.arange(members, device=out.device).unsqueeze(1), near]
    if (inside := _in_loop(schedule, lags, out.device)) is not None:
        ends = schedule.backward(TAU_GRU, pre, out, none, start, g_out, g_last, w, p, no_vectors, adjoints, lags=inside)
        return ends[0], _past_adjoint(adjoints, w, past, lags), ends[1], late
    table = _Lags(lags, m, out.device)
    inner, outer = table.inner(w), table.outer(w)
    g_history = torch.zeros_like(history)
    if g_out is not None:
        g_history[:, m + 1 :] = g_out
    seen, g_seen, sums = history[:, m + 1 :], g_history[:, m + 1 :], out.new_zeros(members, batch, 2, d)
    for a, b in reversed(_starts(table.chunk, steps)):
        begin = history[:, m + a].contiguous().unsqueeze(0)
        window = adjoints[:, a:b]
        g_last, part = schedule.backward(
            TAU_GRU, pre[:, a:b], seen[:, a:b], none, begin, g_seen[:, a:b], g_last, inner, p, no_vectors, window
        )
        sums += part
        if table.chunk:
            g_late = torch.bmm(window[:, :, :, 1].reshape(members, -1, d), outer)
            # The index names no place twice; if it did, += would add one of the terms alone.
            g_history[table.rows(a, b - a)] += g_late.view(members, b - a, batch, d)
    assert g_last is not None
    return g_last + g_history[:, m], g_history[:, :m].clone(), sums, late


def _past_adjoint(adjoints: Tensor, w: Tensor, past: Tensor, lags: list[int]) -> Tensor:
    """Return the adjoint of the past, which the loop does not reach."""
    g_past, m = torch.zeros_like(past), past.shape[1]
    for k, lag in enumerate(lags):
        count = min(lag, adjoints.shape[1])
        g_past[k, m - lag : m - lag + count] = adjoints[k, :count, :, 1] @ w[k, 1]
    return g_past
