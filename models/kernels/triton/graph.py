"""The graph schedule, for any d: per step and part one product by torch.bmm and one kernel for the equations.

On a GPU the launches of a window of steps are captured once as a CUDA graph and replayed; elsewhere they simply run.
The graph has fixed addresses, so each window passes through buffers. Buffers and graphs of the last few shapes stay.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from longwave.models.kernels.triton.anatomy import ANATOMIES, Anatomy, Grid
from longwave.models.kernels.triton.graph_kernels import back_kernel, part_kernel

WINDOW = 64
"""Steps of a captured graph."""
BLOCK = 256
OPTIONS = {"num_warps": 4, "num_stages": 1, "enable_fp_fusion": True}


class _Loop:
    """Buffers for a window of steps, and its graph. Subclasses give ``step``."""

    def __init__(self, anatomy: Anatomy, members: int, batch: int, d: int, device: torch.device) -> None:
        self.anatomy, self.batch, self.d = anatomy, batch, d
        self.graph: torch.cuda.CUDAGraph | None = None
        counts = anatomy.counts
        new: dict[str, Any] = {"device": device, "dtype": torch.float32}
        self.columns = counts["NS"] + anatomy.extras
        self.drive = torch.zeros(members, WINDOW, batch, counts["G"], d, **new)
        self.record = torch.zeros(members, WINDOW + 1, batch, self.columns, d, **new)
        self.p = torch.zeros(members, counts["H"], **new)
        self.u = torch.zeros(members, counts["NU"], d, **new)
        self.constants: dict[str, Any] = {"SIZE": d, "C": self.columns, "BLOCK": BLOCK, **counts, **OPTIONS}
        self.grid = (-(-batch * d // BLOCK), members)

    def step(self, t: int) -> None:
        """Run the launches of one step of the window."""
        raise NotImplementedError

    def order(self, steps: int) -> list[int]:
        """Return the steps of the window in the order of their computation."""
        raise NotImplementedError

    def run(self, steps: int) -> None:
        """Run the first ``steps`` steps of the window, by its graph if it is full."""
        if not self.drive.is_cuda or steps < WINDOW:
            for t in self.order(steps):
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
        torch.cuda.synchronize(self.drive.device)
        self.graph = torch.cuda.CUDAGraph()
        # Thread-local: what other threads do on the GPU meanwhile does not spoil the capture.
        with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
            for t in self.order(WINDOW):
                self.step(t)


class _Forward(_Loop):
    """The window of the forward loop: ``record`` holds states and extras, at first the start."""

    def __init__(self, *shape: object) -> None:
        super().__init__(*shape)  # type: ignore[arg-type]
        members, d = len(self.drive), self.d
        self.sizes = [len(part.blocks[0]) for part in self.anatomy.parts]
        new: dict[str, Any] = {"device": self.drive.device, "dtype": torch.float32}
        rows = [len(part.blocks) for part in self.anatomy.parts]
        self.w = [torch.zeros(members, r * d, n * d, **new) for r, n in zip(rows, self.sizes, strict=True)]
        self.products = [torch.zeros(members, self.batch, n * d, **new) for n in self.sizes]

    def load(self, w: Tensor, p: Tensor, u: Tensor) -> None:
        """Put weights in place, transposed and in blocks."""
        for buffer, part in zip(self.w, self.anatomy.parts, strict=True):
            buffer.copy_(_blocks(w.mT, part.blocks))
        self.p.copy_(p)
        self.u.copy_(u)

    def order(self, steps: int) -> list[int]:
        """Return the steps, first to last."""
        return list(range(steps))

    def step(self, t: int) -> None:
        """Run a product and a kernel for each part."""
        source, target, drive = self.record[:, t], self.record[:, t + 1], self.drive[:, t]
        for part, w, m, n in zip(self.anatomy.parts, self.w, self.products, self.sizes, strict=True):
            first, end = part.sources
            torch.bmm(source[:, :, first:end].flatten(2), w, out=m)
            part_kernel[self.grid](
                drive, source, target, m, self.p, self.u, self.batch * self.d,
                drive.stride(0), source.stride(0), m.stride(0), part=part.code, NM=n, **self.constants,
            )  # fmt: skip
            # The parts that follow read the states that the first one wrote.
            source = target


class _Backward(_Loop):
    """The window of the backward loop: ``record[t]`` holds the states before step t, and the extras of step t − 1."""

    def __init__(self, *shape: object) -> None:
        super().__init__(*shape)  # type: ignore[arg-type]
        anatomy, members, batch, d = self.anatomy, len(self.drive), self.batch, self.d
        new: dict[str, Any] = {"device": self.drive.device, "dtype": torch.float32}
        self.g_out = torch.zeros(members, WINDOW, batch, d, **new)
        self.adjoints = torch.zeros(members, WINDOW, batch, anatomy.slots, d, **new)
        self.state = torch.zeros(members, batch, anatomy.adjoints, d, **new)
        self.sums = torch.zeros(members, batch, len(anatomy.cell.scalars), d, **new)
        self.w = [
            torch.zeros(members, len(grid) * d, len(grid[0]) * d, **new)
            for part in anatomy.back_parts
            for _, grid, _ in part.products
        ]

    def load(self, w: Tensor, p: Tensor, u: Tensor) -> None:
        """Put weights in place, in blocks."""
        grids = [grid for part in self.anatomy.back_parts for _, grid, _ in part.products]
        for buffer, grid in zip(self.w, grids, strict=True):
            buffer.copy_(_blocks(w, grid))
        self.p.copy_(p)
        self.u.copy_(u)

    def order(self, steps: int) -> list[int]:
        """Return the steps, last to first."""
        return list(reversed(range(steps)))

    def step(self, t: int) -> None:
        """Run a kernel and its products for each part."""
        before, extras, drive = self.record[:, t], self.record[:, t + 1], self.drive[:, t]
        g_out, adjoints, weights = self.g_out[:, t], self.adjoints[:, t], iter(self.w)
        for number, part in enumerate(self.anatomy.back_parts):
            back_kernel[self.grid](
                drive, before, extras, g_out, self.state, adjoints, self.sums, self.p, self.u, self.batch * self.d,
                drive.stride(0), before.stride(0), g_out.stride(0), adjoints.stride(0),
                part=part.code, NA=self.anatomy.adjoints, FIRST=part.slots[0], END=part.slots[1],
                KO=self.anatomy.slots, HAS_GY=number == 0, **self.constants,
            )  # fmt: skip
            for (first, end), _, (low, high) in part.products:
                target = self.state[:, :, low:high].flatten(2)
                target.baddbmm_(adjoints[:, :, first:end].flatten(2), next(weights))


def _blocks(w: Tensor, grid: Grid) -> Tensor:
    """Return the matrices (M, N, d, d) that ``grid`` names, side by side, (M, rows · d, columns · d)."""
    return torch.cat([torch.cat([w[:, n] for n in row], -1) for row in grid], -2)


@lru_cache(maxsize=4)
def _loop(kind: type[_Loop], name: str, members: int, batch: int, d: int, device: torch.device) -> _Loop:
    with torch.inference_mode(False):  # buffers of inference mode could not be written outside it later
        return kind(ANATOMIES[name], members, batch, d, device)


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
) -> Tensor:
    """Do what ``row.forward`` does."""
    members, steps, batch, d = out.shape
    loop = _loop(_Forward, anatomy.cell.name, members, batch, d, out.device)
    assert isinstance(loop, _Forward)
    states = len(start)
    with torch.cuda.device_of(out):
        loop.load(w, p, u)
        loop.record[:, 0, :, :states] = start.movedim(0, 2)
        for a in range(0, steps, WINDOW):
            n = min(WINDOW, steps - a)
            loop.drive[:, :n] = drive[:, a : a + n]
            loop.run(n)
            done = loop.record[:, 1 : n + 1]
            out[:, a : a + n] = done[:, :, :, 0]
            if keep:
                drive[:, a : a + n] = loop.drive[:, :n]
            if keep and kept.numel():
                kept[:, :, a : a + n] = done[:, :, :, 1:].movedim(3, 0)
            loop.record[:, 0] = loop.record[:, n]
        return loop.record[:, 0, :, :states].movedim(2, 0).clone(memory_format=torch.contiguous_format)


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
) -> tuple[Tensor, Tensor]:
    """Do what ``row.backward`` does."""
    members, steps, batch, d = out.shape
    loop = _loop(_Backward, anatomy.cell.name, members, batch, d, out.device)
    assert isinstance(loop, _Backward)
    states = len(start)
    with torch.cuda.device_of(out):
        loop.load(w, p, u)
        loop.state.zero_()
        loop.sums.zero_()
        if g_last is not None:
            loop.state[:, :, :states] = g_last.movedim(0, 2)
        for a in reversed(range(0, steps, WINDOW)):
            n = min(WINDOW, steps - a)
            loop.drive[:, :n] = pre[:, a : a + n]
            _fill_record(loop.record, out, kept, start, a, n)
            loop.g_out[:, :n] = 0.0 if g_out is None else g_out[:, a : a + n]
            loop.run(n)
            adjoints[:, a : a + n] = loop.adjoints[:, :n]
        return loop.state[:, :, :states].movedim(2, 0).clone(memory_format=torch.contiguous_format), loop.sums.clone()


def _fill_record(record: Tensor, out: Tensor, kept: Tensor, start: Tensor, a: int, n: int) -> None:
    """Write states and extras before step a, …, after step a + n − 1 into the record of a window."""
    if a:
        record[:, : n + 1, :, 0] = out[:, a - 1 : a + n]
        if kept.numel():
            record[:, : n + 1, :, 1:] = kept[:, :, a - 1 : a + n].movedim(0, 3)
        return
    record[:, 1 : n + 1, :, 0] = out[:, :n]
    if kept.numel():
        record[:, 1 : n + 1, :, 1:] = kept[:, :, :n].movedim(0, 3)
    record[:, 0, :, : len(start)] = start.movedim(0, 2)
