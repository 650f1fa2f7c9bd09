"""One operator for all fused time loops, with a backward pass, shapes without data, and a rule for vmap.

A call runs one layer over a whole sequence, for M members at once, in float32:

* ``x`` (M, T, B, p) is the input and ``V`` (M, G d, p), ``b`` (M, G d) the drive's weights, gate after gate.
* ``W`` (M, N, d, d) are the recurrent matrices, ``P`` (M, H) the scalars and ``U`` (M, K, d) the vectors of the cell.
* The outputs (M, T, B, k d) are the first k states after each step, for most cells only the first.
* ``state`` (S, M, B, d) is the initial state, and ``past`` (M, m, B, d) the outputs before it, for a cell with delays
  ``lags``; for others m = 0.

Gradients are exact and the same on every run: no sum depends on the order of threads.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from longwave.models.kernels.cells import ONCE, find


@cache
def backend(path: str) -> ModuleType:
    """Return the module that computes ``path``, ``"cpu"``, ``"triton"`` or ``"triton-bfloat16"``."""
    if path == "cpu":
        from longwave.models.kernels.cpu import run

        return run
    from longwave.models.kernels.triton import halved
    from longwave.models.kernels.triton import run as triton_run

    return halved if path == "triton-bfloat16" else triton_run


@cache
def matrix_backend(path: str) -> ModuleType:
    """Return the module that computes loops over matrix states by the path ``"cpu"`` or ``"triton"``."""
    if path == "cpu":
        from longwave.models.kernels.cpu import run_matrix

        return run_matrix
    from longwave.models.kernels.triton import run_matrix as triton_run_matrix

    return triton_run_matrix


@cache
def direct() -> ModuleType:
    """Return the module that computes the path ``"cpu"`` from stored weights."""
    from longwave.models.kernels.cpu import direct as module

    return module


@cache
def operand_gatherer() -> ModuleType:
    """Return the module that gathers operands from stored weights for the other paths."""
    from longwave.models.kernels.triton import gathered as module

    return module


def traced() -> bool:
    """Return whether a transform or compiler of torch is active, which needs an operator."""
    return torch.compiler.is_compiling() or transformed()


def transformed() -> bool:
    """Return whether a transform of torch.func is active. Inside vmap no tensor says that it requires gradients."""
    return not torch.compiler.is_compiling() and torch._C._are_functorch_transforms_active()


def differentiated() -> bool:
    """Return whether a derivative of torch.func or one in forward mode is active, which would see a fused loop as a
    constant.
    """
    if torch.compiler.is_compiling():
        return False
    if torch.autograd.forward_ad._current_level >= 0:
        return True
    if not transformed():
        return False
    return any(level.key().name != "Vmap" for level in torch._C._functorch.get_interpreter_stack() or ())


def _scan(
    cell: str,
    path: str,
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
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the outputs (M, T, B, k d), the last state (S, M, B, d), and for ``keep`` values for the backward pass."""
    result: tuple[Tensor, Tensor, Tensor, Tensor] = backend(path).forward(
        find(cell), x, V, b, W, P, U, state, past, lags, keep
    )
    return result


def _scan_backward(
    cell: str,
    path: str,
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
    kept: list[Tensor],
    need_x: bool,
) -> list[Tensor]:
    """Return the gradients of x (empty unless ``need_x``), V, b, W, P, U, state and past."""
    return list(backend(path).backward(find(cell), gY, glast, x, V, W, P, U, Y, state, past, lags, *kept, need_x))


def _scan_shapes(
    cell: str,
    path: str,
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
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    M, T, B = x.shape[:3]
    d = state.shape[-1]
    shapes = backend(path).kept_shapes(find(cell), M, T, B, d, past.shape[1]) if keep else ((0,), (0,))
    types = (x.dtype, x.dtype) if path == "cpu" else backend(path).kept_types(find(cell))
    kept = [x.new_empty(shape, dtype=dtype) for shape, dtype in zip(shapes, types, strict=True)]
    return x.new_empty(M, T, B, find(cell).outputs * d), x.new_empty(state.shape), kept[0], kept[1]


def _backward_shapes(
    cell: str,
    path: str,
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
    kept: list[Tensor],
    need_x: bool,
) -> list[Tensor]:
    b = V.new_empty(V.shape[:2])
    dx = x.new_empty(x.shape) if need_x else x.new_empty(0)
    return [dx, *(t.new_empty(t.shape) for t in (V, b, W, P, U, state, past))]


def _setup(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    cell, path, x, V, _, W, P, U, state, past, lags, _ = inputs
    Y, _, *kept = output
    ctx.save_for_backward(x, V, W, P, U, Y, state, past, *kept)
    ctx.cell, ctx.path, ctx.lags = cell, path, lags
    # A missing adjoint reaches the loop as None, not as a tensor of zeros.
    ctx.set_materialize_grads(False)
    ctx.mark_non_differentiable(*kept)


def _backward(ctx: Any, gY: Tensor | None, glast: Tensor | None, *_: Any, direct: bool = False) -> tuple[Any, ...]:
    x, V, W, P, U, Y, state, past, *kept = ctx.saved_tensors
    run: Any = _scan_backward if direct else scan_backward
    gradients = run(
        ctx.cell, ctx.path, gY, glast, x, V, W, P, U, Y, state, past, ctx.lags, kept, ctx.needs_input_grad[2]
    )
    needed_gradients = [g if needed else None for g, needed in zip(gradients, ctx.needs_input_grad[2:10], strict=True)]
    return (None, None, *needed_gradients, None, None)


def _twice(ctx: Any, *_: Any) -> tuple[Any, ...]:
    raise RuntimeError(ONCE)


def _fold(info: Any, in_dims: tuple[int | None, ...], cell: str, path: str, *inputs: Any) -> tuple[Any, Any]:
    """Fold the mapped axis into the members' axis."""
    *tensors, lags, keep = inputs
    n = info.batch_size
    folded = []
    for name, tensor, dim in zip("xVbWPUsp", tensors, in_dims[2:10], strict=True):
        axis = 1 if name == "s" else 0
        spread = (
            tensor.movedim(dim, axis)
            if dim is not None
            else tensor.unsqueeze(axis).expand(*tensor.shape[:axis], n, *tensor.shape[axis:])
        )
        folded.append(spread.flatten(axis, axis + 1))
    Y, last, *kept = scan_op(cell, path, *folded, lags * n, keep)
    return (Y.unflatten(0, (n, -1)), last.unflatten(1, (n, -1)), *kept), (0, 1, None, None)


for _name, _compute, _shapes in (("scan", _scan, _scan_shapes), ("scan_backward", _scan_backward, _backward_shapes)):
    # torch.library.custom_op would do the same in one call, but loads torch._dynamo, 1.5 s per process
    torch.library.define(f"longwave::{_name}", torch.library.infer_schema(_compute, mutates_args=()))
    torch.library.impl(f"longwave::{_name}", "CompositeExplicitAutograd", _compute)
    torch.library.register_fake(f"longwave::{_name}", _shapes)
torch.library.register_autograd("longwave::scan", _backward, setup_context=_setup)
torch.library.register_autograd("longwave::scan_backward", _twice)
torch.library.register_vmap("longwave::scan", _fold)

scan_op = torch.ops.longwave.scan.default
scan_backward = torch.ops.longwave.scan_backward.default


class _Direct(torch.autograd.Function):
    """The same operator without torch's dispatcher, which costs as much as twenty steps of a small layer."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> tuple[Tensor, ...]:
        output = _scan(*inputs)
        _setup(ctx, inputs, output)
        return output

    @staticmethod
    def backward(ctx: Any, gY: Tensor | None, glast: Tensor | None, *_: Any) -> tuple[Any, ...]:
        return _backward(ctx, gY, glast, direct=not torch.is_grad_enabled())  # enabled for second derivatives


def scan(*inputs: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the outputs, the last state, and two tensors for the backward pass; see ``_scan`` for the arguments."""
    result: tuple[Tensor, Tensor, Tensor, Tensor] = scan_op(*inputs) if traced() else _Direct.apply(*inputs)
    return result
