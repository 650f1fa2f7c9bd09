"""How a layer's time loop runs: compiled for this processor or GPU if possible, else by the reference."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, partial
from types import ModuleType
from typing import TypeVar

import torch
from torch import Tensor

from longwave.models.kernels.cells import find
from longwave.models.kernels.compiler.loop import Loop, Operands
from longwave.models.kernels.compiler.recorder import Unsupported
from longwave.models.kernels.matrix.form import Form
from longwave.models.kernels.matrix.plan import MatrixPlan
from longwave.models.kernels.op import (
    backend,
    differentiated,
    direct,
    matrix_backend,
    operand_gatherer,
    scan,
    traced,
    transformed,
)

PATHS = ("reference", "cpu", "triton")
STORED = {"float32": "triton", "bfloat16": "triton-bfloat16"}
"""Paths of Triton by the type in which it stores drives and kept rows."""
T = TypeVar("T")
MatrixAdvance = Callable[
    [tuple[Tensor, ...], tuple[Tensor, ...], tuple[Tensor, ...]], tuple[Tensor, tuple[Tensor, ...]]
]
"""From drives, states and constants to the outputs and the last states."""
_wish: ContextVar[str] = ContextVar("longwave_kernel", default="")


@dataclass(frozen=True)
class Route:
    """How a time loop runs: one of ``PATHS`` or of ``STORED``, and why."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


@contextmanager
def using(path: str | None) -> Iterator[None]:
    """Request one of ``PATHS`` inside the block, overriding LONGWAVE_KERNEL; the innermost block applies.

    None, or an empty string, requests nothing, so that LONGWAVE_KERNEL applies. The request holds for this thread only.

    Raises:
        ValueError: ``path`` is none of these.
    """
    token = _wish.set(_checked("The kernel", path or ""))
    try:
        yield
    finally:
        _wish.reset(token)


def choose(
    name: str, cell: Callable[[str], str], hidden: int, device: torch.device, dtype: torch.dtype, storage: str
) -> tuple[Route, str]:
    """Return the path of the loop of the layer ``name``, and the key of its cell; empty for the reference.

    ``cell`` returns that key for a path, or raises ``Unsupported``; other arguments are as in ``choose_path``.
    """

    def fused(path: str) -> tuple[Route, str]:
        key = cell(path)
        if obstacle := backend(path).obstacle(find(key), hidden, device):
            raise Unsupported(obstacle)
        return _fused(path, name, key, hidden), key

    return choose_path(fused, device, dtype, storage, "")


def choose_path(
    fused: Callable[[str], tuple[Route, T]], device: torch.device, dtype: torch.dtype, storage: str, otherwise: T
) -> tuple[Route, T]:
    """Return the result of ``fused`` for the chosen path; for the reference, the reason, and ``otherwise``.

    A block ``using`` requests one of ``PATHS``, else the environment variable LONGWAVE_KERNEL, read once per process.
    If the requested or suitable one cannot run the loop, for which ``fused`` raises ``Unsupported``, the reference
    does. ``storage`` is one of ``STORED``.

    Raises:
        ValueError: LONGWAVE_KERNEL is none of these.
    """
    wish = _wish.get()
    requested = wish or _environment()
    if requested == "reference":
        return Route("reference", f"requested by {'the code' if wish else 'LONGWAVE_KERNEL'}"), otherwise
    path = requested or ("triton" if device.type == "cuda" else "cpu")
    path = STORED[storage] if path == "triton" else path
    try:
        _check(path, device, dtype, storage)
        return fused(path)
    except Unsupported as error:
        return Route("reference", str(error)), otherwise
    except ImportError as error:
        return Route("reference", f"{path} is not installed ({error})"), otherwise


def choose_matrix(
    name: str, plan: Callable[[], MatrixPlan], form: Form, device: torch.device, dtype: torch.dtype
) -> tuple[Route, MatrixAdvance | None]:
    """Return the path of the loop over matrix states of the layer ``name``, and the function that runs it if fused.

    ``plan`` returns the step's plan, or raises ``Unsupported``; ``form`` gives the layer's sizes.
    """

    def fused(path: str) -> tuple[Route, MatrixAdvance | None]:
        if traced():
            raise Unsupported("a transform or compiler of torch needs to see each operation")
        step_plan, loops = plan(), matrix_backend(path)
        if obstacle := loops.obstacle(step_plan, form, device):
            raise Unsupported(obstacle)
        return Route(path, f"the fused {name} loop, {loops.flavour()}"), partial(_advance_matrix, loops, step_plan)

    return choose_path(fused, device, dtype, "float32", None)


def _advance_matrix(
    loops: ModuleType, plan: MatrixPlan, *groups: Sequence[Tensor]
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Return the outputs and last states of a loop, which reads all drives, states and constants as float32."""
    result: tuple[Tensor, tuple[Tensor, ...]] = loops.advance(plan, *([t.float() for t in group] for group in groups))
    return result


def join_operands(operands: Operands, M: int, d: int) -> tuple[Tensor, ...]:
    """Return V (M, G d, p), b (M, G d), W (M, N, d, d), P (M, H) and U (M, K, d) of a loop's operands."""
    V = torch.cat(tuple(operands.V), 1)
    return (
        V,
        torch.cat([b.flatten(1) for b in operands.b], 1),
        torch.cat(tuple(operands.W), 1).unflatten(1, (-1, d)) if operands.W else V.new_empty(M, 0, d, d),
        torch.cat([p.reshape(M, 1) for p in operands.P], 1) if operands.P else V.new_empty(M, 0),
        torch.cat(tuple(operands.U), 1) if operands.U else V.new_empty(M, 0, d),
    )


def advance(
    path: str, cell: str, operands: Operands, x: Tensor, state: tuple[Tensor, ...]
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Return the outputs (M, T, B, d) and the last state of a fused loop over x (M, T, B, p).

    After the states of the cell there may be one more tensor, (M, B, m, d): the m outputs before the start.
    """
    return _advance(path, cell, join_operands(operands, len(x), state[0].shape[-1]), operands.lags, x, state)


def _advance(
    path: str, cell: str, operands: Sequence[Tensor], lags: Sequence[int], x: Tensor, state: tuple[Tensor, ...]
) -> tuple[Tensor, tuple[Tensor, ...]]:
    M, d, count = len(x), state[0].shape[-1], len(find(cell).states)
    past = state[count].transpose(1, 2) if len(state) > count else x.new_empty(M, 0, x.shape[2], d)
    tensors = (x, *operands, torch.stack(state[:count]), past)
    keep = torch.is_grad_enabled() and (transformed() or any(t.requires_grad for t in tensors))
    Y, last, *_ = scan(cell, path, *tensors, list(lags), keep)
    if len(state) == count:
        return Y, tuple(last)
    history = torch.cat([past, state[0].unsqueeze(1), Y], 1)
    return Y, (*last, history[:, -past.shape[1] - 1 : -1].transpose(1, 2))


def advance_from(
    path: str,
    cell: str,
    loop: Loop,
    weights: Sequence[Tensor],
    lags: Sequence[int],
    x: Tensor,
    state: tuple[Tensor, ...],
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Return the same from the sources of the operands of ``loop``."""
    if path == "cpu" and not traced():
        result: tuple[Tensor, tuple[Tensor, ...]] = direct().advance(find(cell), loop, weights, lags, x, state)
        return result
    operands = None if traced() else operand_gatherer().gather_operands(loop, weights)
    if operands is None:
        operands = join_operands(loop.operands(weights), len(x), loop.d)
    return _advance(path, cell, operands, lags, x, state)


@cache
def _fused(path: str, name: str, key: str, hidden: int) -> Route:
    return Route(path, f"the fused {name} loop, {backend(path).flavour(find(key), hidden)}")


@cache
def _environment() -> str:
    """Return the path requested by LONGWAVE_KERNEL, or an empty string."""
    return _checked("LONGWAVE_KERNEL", os.environ.get("LONGWAVE_KERNEL", ""))


def _checked(label: str, path: str) -> str:
    """Return ``path``; raise ValueError if it is neither empty nor one of ``PATHS``."""
    if path and path not in PATHS:
        raise ValueError(f"{label} must be one of {', '.join(PATHS)}, got {path!r}.")
    return path


def _check(path: str, device: torch.device, dtype: torch.dtype, storage: str) -> None:
    """Raise Unsupported if ``path`` cannot run any loop."""
    if differentiated():
        raise Unsupported("derivatives of torch.func and in forward mode need to see each operation")
    if dtype != torch.float32:
        raise Unsupported(f"fused loops compute in float32, not in {str(dtype).removeprefix('torch.')}")
    if path == "cpu" and storage != "float32":
        raise Unsupported(f"only Triton's loops, on a GPU, store values in {storage}")
    if path == "cpu" and device.type != "cpu":
        raise Unsupported(f"the tensors are on {device.type}, the C++ loop runs on the CPU")
