"""Launch the kernels of a step on matrix states: memory, tiles, and the backward pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor

from longwave.models.kernels.cells import ONCE
from longwave.models.kernels.matrix.form import Form
from longwave.models.kernels.matrix.plan import MatrixPlan
from longwave.models.kernels.matrix.sizes import CallSizes, divided, sizes_of
from longwave.models.kernels.triton.emit_matrix import emit, operands
from longwave.models.kernels.triton.printed import load_module
from longwave.models.kernels.triton.row import OPTIONS
from longwave.models.kernels.triton.run import missing_gpu

MAX_ROWS = 256
"""Rows above which a tile of few columns exceeds the registers."""
THREAD = 32
"""Numbers of states, constants and their adjoints per thread; a step's own values need as many registers.

On an H200, at T 1000, B 32, d 64, 16 and 64 are within 4 % for the delta rule, and 1.4 and 1.3 times as slow for Mamba.
"""
WARPS = 8
"""Most warps of a program."""


def advance(
    plan: MatrixPlan, drives: Sequence[Tensor], states: Sequence[Tensor], constants: Sequence[Tensor]
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Return the output after each step, (M, T, B, H, J), and the last states; see ``cpu.run_matrix``."""
    output, *last = _Loop.apply(plan, *drives, *states, *constants)
    return output, tuple(last)


def obstacle(plan: MatrixPlan, form: Form, device: torch.device) -> str:
    """Return why the loop cannot run on ``device``; empty if it can."""
    if form.rows > MAX_ROWS:
        return f"{form.rows} rows are above {MAX_ROWS}, where the states of a step do not fit into the registers"
    return missing_gpu(device)


def flavour() -> str:
    """Return a description of the backend."""
    return "Triton, a program for each tile of columns"


def tile(plan: MatrixPlan, sizes: CallSizes) -> tuple[int, int, int]:
    """Return rows and columns of a tile, powers of two, and warps: all rows, and as many columns as fit."""
    rows, columns = (1 << (n - 1).bit_length() for n in (sizes.I, sizes.J))
    matrices = 2 * sum(axes == "ij" for axes in (*plan.states, *plan.constants))
    while columns > 1 and rows * columns * matrices > WARPS * 32 * THREAD:
        columns //= 2
    warps = rows * columns * matrices // (32 * THREAD)
    return rows, columns, 1 << max(1, min(warps, WARPS)).bit_length() - 1


@cache
def _kernels(plan: MatrixPlan) -> Any:
    return load_module(emit(plan))


class _Loop(torch.autograd.Function):
    """A fused loop and its backward pass."""

    @staticmethod
    def forward(ctx: Any, plan: MatrixPlan, *tensors: Tensor) -> tuple[Tensor, ...]:
        drives, states, constants = divided(plan, [t.contiguous() for t in tensors])
        sizes = sizes_of(plan, drives, states, constants)
        output, last = drives[0].new_empty(*sizes.lead, sizes.J), [torch.empty_like(t) for t in states]
        keep = any(ctx.needs_input_grad)
        kept = (sizes.tasks, sizes.chunks) if keep else (0,)
        chunks = [t.new_empty(*kept, *sizes.shape(axes)) for t, axes in zip(states, plan.states, strict=True)]
        tensors_by_name = {"drive": drives, "start": states, "constant": constants, "output": [output], "last": last}
        _launch(plan, "forward", sizes, tensors_by_name | {"chunk": chunks}, KEEP=keep)
        ctx.plan, ctx.sizes, ctx.chunks = plan, sizes, chunks
        ctx.save_for_backward(*drives, *constants)
        return (output, *last)

    @staticmethod
    def backward(ctx: Any, output_adjoint: Tensor, *last_adjoints: Tensor) -> tuple[Any, ...]:
        if torch.is_grad_enabled():
            raise RuntimeError(ONCE)
        plan, sizes = ctx.plan, ctx.sizes
        rows, columns, _ = tile(plan, sizes)
        tiles, heads = -(-sizes.J // columns), (sizes.M, sizes.B, sizes.H)
        drives, constants = ctx.saved_tensors[: len(plan.drives)], ctx.saved_tensors[len(plan.drives) :]

        def parts(kinds: Sequence[str], *lead: int) -> list[Tensor]:
            """Return memory for gradients; for values without columns each tile has its own."""
            tile_axis = [() if "j" in axes else (tiles,) for axes in kinds]
            return [
                output_adjoint.new_empty(*s, *lead, *sizes.shape(axes))
                for s, axes in zip(tile_axis, kinds, strict=True)
            ]

        def scratch(kinds: Sequence[str]) -> list[Tensor]:
            """Return memory for the steps of a chunk, separate for each program."""
            counts = [(rows if "i" in axes else 1) * (columns if "j" in axes else 1) for axes in kinds]
            return [output_adjoint.new_empty(tiles * sizes.tasks, sizes.chunk, count) for count in counts]

        def gathered(gradients: Sequence[Tensor], kinds: Sequence[str]) -> list[Tensor]:
            return [t if "j" in axes else t.sum(0) for t, axes in zip(gradients, kinds, strict=True)]

        of_drives, of_states = parts(plan.drives, *sizes.lead), parts(plan.states, *heads)
        of_constants = [t.zero_() for t in parts(plan.constants, *heads)]
        adjoints = {
            "output_adjoint": [output_adjoint.contiguous()],
            "last_adjoint": [g.contiguous() for g in last_adjoints],
        }
        tensors_by_name = {"drive": drives, "constant": constants, "chunk": ctx.chunks, **adjoints}
        tensors_by_name |= {"drive_gradient": of_drives, "start_adjoint": of_states, "constant_gradient": of_constants}
        _launch(plan, "backward", sizes, tensors_by_name | {"again": scratch(plan.states), "kept": scratch(plan.kept)})
        totals = [t.sum(1, keepdim=True) for t in gathered(of_constants, plan.constants)]
        return (
            None,
            *(t if has else None for t, has in zip(gathered(of_drives, plan.drives), plan.driven, strict=True)),
            *gathered(of_states, plan.states),
            *(t if has else None for t, has in zip(totals, plan.fixed, strict=True)),
        )


def _launch(
    plan: MatrixPlan, direction: str, sizes: CallSizes, tensors_by_name: Mapping[str, Sequence[Tensor]], **options: bool
) -> None:
    """Launch the kernel of a direction, a program for each tile of each task."""
    rows, columns, warps = tile(plan, sizes)
    tensors = [tensors_by_name[name][k] for name, k in operands(plan, direction)]
    with torch.cuda.device_of(tensors[0]):
        getattr(_kernels(plan), direction)[(sizes.tasks, -(-sizes.J // columns))](
            *tensors, sizes.T, sizes.B, sizes.H, sizes.chunk,
            I=sizes.I, J=sizes.J, ROWS=rows, COLUMNS=columns, num_warps=warps, **options, **OPTIONS,
        )  # fmt: skip
