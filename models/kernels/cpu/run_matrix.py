"""Run the C++ time loop of a step on matrix states: memory, threads, and the backward pass."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor

from longwave.models.kernels.adjoints import check_adjoints, refuse_second_derivatives
from longwave.models.kernels.cpu.build import level, library
from longwave.models.kernels.cpu.emit_matrix import emit
from longwave.models.kernels.cpu.memory import empty
from longwave.models.kernels.cpu.run import address, flushes, threads
from longwave.models.kernels.matrix.form import Form
from longwave.models.kernels.matrix.plan import MatrixPlan
from longwave.models.kernels.matrix.sizes import CallSizes, divided, sizes_of

LARGEST = 256
"""Rows or columns above which the states of a chunk exceed the cache."""


def advance(
    plan: MatrixPlan, drives: Sequence[Tensor], states: Sequence[Tensor], constants: Sequence[Tensor]
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Return the output after each step, (M, T, B, H, J), and the last states.

    Args:
        plan: Of the step.
        drives: (M, T, B, H, ·) each.
        states: (M, B, H, ·) each.
        constants: (M, 1, H, ·) each.
    """
    output, *last = _Loop.apply(plan, *drives, *states, *constants)
    return output, tuple(last)


def obstacle(plan: MatrixPlan, form: Form, device: torch.device) -> str:
    """Return why the loop cannot run here; empty if it can. Compiles it if necessary."""
    if form.rows > LARGEST:
        return f"{form.rows} rows are above {LARGEST}, where the states of a step do not fit into the cache"
    return "" if _library(plan) else "it could not be compiled; see the warning"


def flavour() -> str:
    """Return how the loop is compiled."""
    return f"C++ for {level()}"


@cache
def _library(plan: MatrixPlan) -> ctypes.CDLL | None:
    loaded = library(emit(plan))
    if loaded is not None:
        number = ctypes.c_int64
        loaded.group_tasks.restype, loaded.group_tasks.argtypes = number, (number, number)
        loaded.group_numbers.restype, loaded.group_numbers.argtypes = number, (number,) * 3
        loaded.forward.argtypes = loaded.backward.argtypes = (ctypes.c_char_p, number, number)
    return loaded


def _compiled(plan: MatrixPlan) -> ctypes.CDLL:
    loaded = _library(plan)
    assert loaded is not None, "the dispatcher asks for a library before it chooses this path"
    return loaded


def _groups(plan: MatrixPlan, sizes: CallSizes) -> int:
    """Return the number of groups of a call: one task each, or as many as a vector has lanes."""
    tasks: int = _compiled(plan).group_tasks(sizes.J, sizes.B * sizes.H)
    return -(-sizes.tasks // tasks)


class _Loop(torch.autograd.Function):
    """A fused loop and its backward pass."""

    @staticmethod
    def forward(ctx: Any, plan: MatrixPlan, *tensors: Tensor) -> tuple[Tensor, ...]:
        drives, states, constants = divided(plan, [t.contiguous() for t in tensors])
        sizes = sizes_of(plan, drives, states, constants)
        output = empty(*sizes.lead, sizes.J)
        last = [t.new_empty(t.shape) for t in states]
        needed = any(ctx.needs_input_grad)
        numbers = _compiled(plan).group_numbers(sizes.I, sizes.J, sizes.B * sizes.H)
        chunks = empty(_groups(plan, sizes), sizes.chunks, numbers) if needed else None
        tensors_by_name = {"drive": drives, "start": states, "constant": constants, "output": [output], "last": last}
        _launch(plan, "forward", sizes, tensors_by_name | {"chunks": [chunks]})
        ctx.plan, ctx.sizes, ctx.chunks = plan, sizes, chunks
        ctx.save_for_backward(*drives, *states, *constants)
        ctx.set_materialize_grads(False)
        return (output, *last)

    @staticmethod
    def backward(ctx: Any, output_adjoint: Tensor | None, *last_adjoints: Tensor | None) -> tuple[Any, ...]:
        check_adjoints([output_adjoint, *last_adjoints])
        plan, sizes = ctx.plan, ctx.sizes
        drives, states, constants = divided(plan, ctx.saved_tensors)
        drive_gradients = [empty(*t.shape) if has else None for t, has in zip(drives, plan.driven, strict=True)]
        start_adjoints = [t.new_empty(t.shape) for t in states]
        parts = [
            t.new_empty(sizes.M, sizes.B, sizes.H, *sizes.shape(axes)) if has else None
            for t, axes, has in zip(constants, plan.constants, plan.fixed, strict=True)
        ]
        adjoint, *last = [None if g is None else g.contiguous() for g in (output_adjoint, *last_adjoints)]
        tensors_by_name = {"drive": drives, "start": states, "constant": constants, "chunks": [ctx.chunks]}
        tensors_by_name |= {"output_adjoint": [adjoint], "last_adjoint": last, "drive_gradient": drive_gradients}
        tensors_by_name |= {"start_adjoint": start_adjoints, "constant_gradient": parts}
        _launch(plan, "backward", sizes, tensors_by_name)
        totals = [None if t is None else t.sum(1, keepdim=True) for t in parts]
        gradients = [*drive_gradients, *start_adjoints, *totals]
        if torch.is_grad_enabled():
            gradients = refuse_second_derivatives(gradients, ctx.saved_tensors, [adjoint, *last])
        return None, *gradients


def _launch(plan: MatrixPlan, direction: str, sizes: CallSizes, tensors: Mapping[str, Sequence[Tensor | None]]) -> None:
    """Run a direction on the tensors of ``Call`` in matrix_call.h, by name, None if absent; threads share groups.

    Raises:
        MemoryError: There is not enough memory for scratch space.
    """
    D, S, C = len(plan.drives), len(plan.states), max(len(plan.constants), 1)
    counts = {"drive": D, "start": S, "constant": C, "output": 1, "last": S, "chunks": 1, "output_adjoint": 1}
    counts |= {"last_adjoint": S, "drive_gradient": D, "start_adjoint": S, "constant_gradient": C}
    addressed = [t for name, count in counts.items() for t in tensors.get(name) or [None] * count]
    numbers = [sizes.M, sizes.T, sizes.B, sizes.H, sizes.I, sizes.J, sizes.chunk, flushes(), *map(address, addressed)]
    call = struct.pack(f"{len(numbers)}q", *numbers)
    run = getattr(_compiled(plan), direction)
    groups = _groups(plan, sizes)
    parts = min(torch.get_num_threads(), groups)
    edges = [groups * k // parts for k in range(parts + 1)]
    work = [*zip(edges, edges[1:], strict=False)]
    done = [run(call, *work[0])] if parts == 1 else threads(os.getpid()).map(lambda part: run(call, *part), work)
    if any(done):
        raise MemoryError(f"The {direction} pass of a loop over matrices ran out of memory.")
