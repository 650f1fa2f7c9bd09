"""The graph schedule, for any d: per step and block, products by torch.bmm and one kernel for the equations.

On a GPU the launches of a window of steps are captured once as a CUDA graph and replayed; elsewhere they simply run.
The graph has fixed addresses, so each window passes through buffers. Buffers and graphs of the last few shapes are kept
per thread and stream: two that ran at once would otherwise overwrite each other.
"""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from longwave.models.kernels.triton.graph_kernels import block_kernel
from longwave.models.kernels.triton.printed import Grid, Part, PrintedPlan

WINDOW = 64
"""Steps of a captured graph."""
BLOCK = 256
CAPTURING = threading.Lock()
"""One capture at a time: torch synchronises the whole GPU before each, which CUDA refuses during another capture."""
OPTIONS = {"num_warps": 4, "num_stages": 1, "enable_fp_fusion": True}


class _Loop:
    """Buffers for a window of steps, and its graph. Subclasses define the order of the steps."""

    backward = False

    def __init__(self, steps: PrintedPlan, members: int, batch: int, d: int, device: torch.device) -> None:
        self.batch, self.d, counts = batch, d, steps.counts
        self.parts: tuple[Part, ...] = steps.backward_parts if self.backward else steps.parts
        self.graph: torch.cuda.CUDAGraph | None = None
        slots = steps.plan.slots

        def new(*shape: int) -> Tensor:
            return torch.zeros(members, *shape, device=device, dtype=torch.float32)

        self.record = new(WINDOW + 1, batch, counts["NS"], d)
        self.kept = new(WINDOW, batch, steps.plan.kept, d)
        self.p, self.u = new(counts["H"]), new(counts["NU"], d)
        window = WINDOW if self.backward else 1
        self.g_out, self.slots = new(window, batch, d), new(window, batch, slots, d)
        self.adjoint, self.sums = new(batch, counts["NS"], d), new(batch, counts["H"] + counts["NU"], d)
        self.products = [new(batch, max(part.sums, 1) * d) for part in self.parts]
        self.w = [[new(len(grid) * d, part.sums * d) for _, grid in part.runs] for part in self.parts]
        self.constants: dict[str, Any] = {"SIZE": d, "KO": slots, "BLOCK": BLOCK, **counts, **OPTIONS}
        self.grid = (-(-batch * d // BLOCK), members)

    def load(self, w: Tensor, p: Tensor, u: Tensor) -> None:
        """Copy weights into the buffers, in blocks; transposed for the forward loop."""
        w = w if self.backward else w.mT
        for buffers, part in zip(self.w, self.parts, strict=True):
            for buffer, (_, grid) in zip(buffers, part.runs, strict=True):
                buffer.copy_(_blocks(w, grid))
        self.p.copy_(p)
        self.u.copy_(u)

    def step(self, t: int) -> None:
        """Run the launches of one step of the window: the products and the kernel of each block."""
        now = t if self.backward else 0
        arrays = {
            "before": self.record[:, t], "after": self.record[:, t + 1], "kept": self.kept[:, t],
            "adjoint": self.adjoint, "slot": self.slots[:, now],
        }  # fmt: skip
        g_out = self.g_out[:, now]
        for part, weights, m in zip(self.parts, self.w, self.products, strict=True):
            for k, (((array, first, end), _), w) in enumerate(zip(part.runs, weights, strict=True)):
                rows = arrays[array][:, :, first:end].flatten(2)
                if k:
                    m.baddbmm_(rows, w)
                else:
                    torch.bmm(rows, w, out=m)
            block_kernel[self.grid](
                *arrays.values(), self.sums, g_out, m, self.p, self.u, self.batch * self.d,
                self.record.stride(0), self.kept.stride(0), self.slots.stride(0), self.g_out.stride(0), m.stride(0),
                block=part.code, NM=max(part.sums, 1), **self.constants,
            )  # fmt: skip

    def order(self, count: int) -> list[int]:
        """Return the steps of the window in the order of their computation."""
        return list(reversed(range(count))) if self.backward else list(range(count))

    def run(self, count: int) -> None:
        """Run the first ``count`` steps of the window, by its graph if it is full."""
        if not self.kept.is_cuda or count < WINDOW:
            for t in self.order(count):
                self.step(t)
            return
        if self.graph is None:
            self._capture()
        else:
            self.graph.replay()

    def _capture(self) -> None:
        """Run the window once, which also compiles the kernels, then record its graph without running it."""
        for t in self.order(WINDOW):
            self.step(t)
        torch.cuda.current_stream(self.kept.device).synchronize()
        graph = torch.cuda.CUDAGraph()
        # A separate stream: torch frees the products' workspace of a whole stream with any graph captured on it
        # (pytorch#193402). Thread-local: what other threads do on the GPU meanwhile does not spoil the capture.
        self.stream = torch.cuda.Stream(self.kept.device)
        with CAPTURING, torch.cuda.graph(graph, stream=self.stream, capture_error_mode="thread_local"):
            for t in self.order(WINDOW):
                self.step(t)
        self.graph = graph


class _Backward(_Loop):
    """The window of the backward loop."""

    backward = True


def _blocks(w: Tensor, grid: Grid) -> Tensor:
    """Return the matrices (M, N, d, d) in ``grid`` as one block matrix, (M, rows · d, columns · d)."""
    return torch.cat([torch.cat([w[:, n] for n in row], -1) for row in grid], -2)


def _thread_and_stream(device: torch.device) -> tuple[int, int]:
    """Return the ids of this thread and its stream."""
    return threading.get_ident(), torch.cuda.current_stream(device).cuda_stream if device.type == "cuda" else 0


@lru_cache(maxsize=4)
def _loop(
    kind: type[_Loop],
    steps: PrintedPlan,
    members: int,
    batch: int,
    d: int,
    device: torch.device,
    thread_and_stream: tuple[int, int],
) -> _Loop:
    """Return the loop of a shape; ``thread_and_stream`` separates threads and streams."""
    with torch.inference_mode(False):  # buffers made in inference mode could not be written outside it
        return kind(steps, members, batch, d, device)


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
) -> Tensor:
    """As ``row.forward``."""
    members, time, batch, d = out.shape
    loop = _loop(_Loop, steps, members, batch, d, out.device, _thread_and_stream(out.device))
    states, gates = len(start), steps.counts["G"]
    with torch.cuda.device_of(out):
        loop.load(w, p, u)
        loop.record[:, 0] = start.movedim(0, 2)
        for a in range(0, time, WINDOW):
            n = min(WINDOW, time - a)
            loop.kept[:, :n, :, :gates] = drive[:, a : a + n]
            loop.run(n)
            done = loop.record[:, 1 : n + 1]
            out[:, a : a + n] = done[:, :, :, 0]
            if keep:
                drive[:, a : a + n] = loop.kept[:, :n, :, :gates]
            if keep and kept.numel():
                kept[: states - 1, :, a : a + n] = done[:, :, :, 1:].movedim(3, 0)
                kept[states - 1 :, :, a : a + n] = loop.kept[:, :n, :, gates:].movedim(3, 0)
            loop.record[:, 0] = loop.record[:, n]
        return loop.record[:, 0].movedim(2, 0).clone(memory_format=torch.contiguous_format)


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
) -> tuple[Tensor, Tensor]:
    """As ``row.backward``."""
    members, time, batch, d = out.shape
    loop = _loop(_Backward, steps, members, batch, d, out.device, _thread_and_stream(out.device))
    states, gates = len(start), steps.counts["G"]
    with torch.cuda.device_of(out):
        loop.load(w, p, u)
        loop.sums.zero_()
        loop.adjoint.zero_()
        if g_last is not None:
            loop.adjoint.copy_(g_last.movedim(0, 2))
        for a in reversed(range(0, time, WINDOW)):
            n = min(WINDOW, time - a)
            loop.kept[:, :n, :, :gates] = pre[:, a : a + n]
            if kept.numel():
                loop.kept[:, :n, :, gates:] = kept[states - 1 :, :, a : a + n].movedim(0, 3)
            _fill_record(loop.record, out, kept[: states - 1], start, a, n)
            loop.g_out[:, :n] = 0.0 if g_out is None else g_out[:, a : a + n]
            loop.run(n)
            adjoints[:, a : a + n] = loop.slots[:, :n, :, : steps.slots]
        return loop.adjoint.movedim(2, 0).clone(memory_format=torch.contiguous_format), loop.sums.clone()


def _fill_record(record: Tensor, out: Tensor, others: Tensor, start: Tensor, a: int, n: int) -> None:
    """Write the states before step a, …, after step a + n − 1 into the record of a window."""
    first = 0 if a else 1
    record[:, first : n + 1, :, 0] = out[:, a - 1 + first : a + n]
    if others.numel():
        record[:, first : n + 1, :, 1:] = others[:, :, a - 1 + first : a + n].movedim(0, 3)
    if first:
        record[:, 0] = start.movedim(0, 2)
