"""The CPU backend: calls of the compiled loops on tensors. Shapes as in ``kernels.op``."""

from __future__ import annotations

import ctypes
import os
import struct
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache

import torch
from torch import Tensor

from longwave.models.kernels.cells import Cell
from longwave.models.kernels.cpu.build import SOURCES, level, library
from longwave.models.kernels.cpu.emit import emit
from longwave.models.kernels.cpu.memory import empty

WIDEST = 512
"""Hidden size above which the weights exceed the cache and torch's own products are as fast."""
LANES = 16
"""Rows are padded to a multiple of this, as in call.h."""
ROWS = 32
"""Rows of one task: enough to reuse a panel of weights often, few enough to stay in the cache."""
NEAR = 2**21
"""Numbers saved by a call, 8 MiB, above which they leave the cache before the backward pass reads them."""
SIZES = ("M", "T", "B", "p", "d", "m", "rows", "chunk", "keep", "flush")
INPUTS = ("x", "V", "b", "W", "P", "U", "state", "past", "lags")
OUTPUTS = ("Y", "last", "states", "kept")
BACKWARD = ("gY", "glast", "dx", "dV", "dW", "dP", "dU", "dstate", "dpast")


CALL = struct.Struct(f"{len(SIZES) + len(INPUTS) + len(OUTPUTS) + len(BACKWARD)}q")
"""``struct Call`` of call.h."""
_libraries: dict[str, ctypes.CDLL | None] = {}
_flush = True


# One pool per process: a fork has its parent's pool but none of its threads.
@cache
def threads(process: int) -> ThreadPoolExecutor:
    """Return this process's thread pool for loops."""
    return ThreadPoolExecutor(os.cpu_count())


def kept_shapes(cell: Cell, M: int, T: int, B: int, d: int, m: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shapes of the values saved by the forward pass: states, and others for the backward pass."""
    rows, blocks, width = blocked(B, d)
    return (M * blocks, len(cell.states), m + T + 1, rows, width), (M * blocks, T, rows, _kept(cell), width)


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
    lags: Sequence[int],
    keep: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the outputs, the last state, and the values for the backward pass."""
    inputs = _inputs(x, V, b, W, P, U, state, past, lags)
    (M, T, B), d, m = x.shape[:3], state.shape[-1], past.shape[1]
    first, second = kept_shapes(cell, M, T, B, d, m)
    outputs = {
        "Y": empty(M, T, B, cell.outputs * d),
        "last": x.new_empty(state.shape),
        # A cell with a delay reads old states even without a backward pass.
        "states": empty(*first if keep or m else (0,)),
        "kept": empty(*second if keep else (0,)),
    }
    _run("forward", cell, keep, inputs | outputs)
    if keep:
        return tuple(outputs.values())  # type: ignore[return-value]
    return outputs["Y"], outputs["last"], x.new_empty(0), x.new_empty(0)


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
    lags: Sequence[int],
    states: Tensor,
    kept: Tensor,
    need_x: bool,
) -> tuple[Tensor, ...]:
    """Return the gradients of x (if needed), V, b, W, P, U, state and past; sums over tasks have a fixed order."""
    b = V.new_empty(V.shape[:2])
    inputs = _inputs(x, V, b, W, P, U, state, past, lags)
    (M, _, B, p), d = x.shape, state.shape[-1]
    _, blocks, width = blocked(B, d)
    gates, matrices, tasks = len(cell.gates), len(cell.matrices), M * blocks
    adjoints = {name: g.contiguous() for name, g in (("gY", gY), ("glast", glast)) if g is not None}
    out = {
        "dV": x.new_empty(tasks, p + 1, gates, width),
        "dW": x.new_empty(tasks, d, matrices, width),
        "dP": x.new_empty(tasks, len(cell.scalars)),
        "dU": x.new_empty(tasks, len(cell.vectors), width),
        "dstate": x.new_empty(state.shape),
        "dpast": x.new_empty(past.shape),
    } | ({"dx": empty(*x.shape)} if need_x else {})
    _run("backward", cell, True, inputs | {"states": states, "kept": kept} | adjoints | out)
    sums = {name: _whole(out[name], M)[..., :d] for name in ("dV", "dW", "dU")}
    both, dW = sums["dV"].flatten(2), sums["dW"].permute(0, 2, 3, 1).contiguous()
    dP = _whole(out["dP"], M)
    dV, db = both[:, :p].mT.contiguous(), both[:, p].clone()
    return out.get("dx", x.new_empty(0)), dV, db, dW, dP, sums["dU"].contiguous(), out["dstate"], out["dpast"]


def obstacle(cell: Cell, hidden: int, device: torch.device) -> str:
    """Return why the loop cannot run here; empty if it can. Compiles it if necessary."""
    if hidden > WIDEST:
        return f"d = {hidden} is above {WIDEST}, where torch's own products are as fast"
    return "" if _library(cell) else "it could not be compiled; see the warning"


def flavour(cell: Cell, hidden: int) -> str:
    """Return how the loop is compiled."""
    return f"C++ for {level()}"


def multiply_add_rate(rounds: int = 10**6) -> float | None:
    """Return the multiply-adds per second of one thread, an upper bound for products; None if nothing compiles."""
    compiled_rate = library((SOURCES / "rate.cpp").read_text())
    if compiled_rate is None:
        return None
    compiled_rate.multiply_adds.restype = ctypes.c_double
    start = time.process_time()
    done: float = compiled_rate.multiply_adds(ctypes.c_int64(rounds))
    return done / (time.process_time() - start)


def flushes() -> bool:
    """Return whether loops count subnormal numbers as zeros."""
    return _flush


@contextmanager
def keeping_subnormals() -> Iterator[None]:
    """Make loops keep subnormal numbers inside the block, to measure their cost."""
    global _flush
    _flush = False
    try:
        yield
    finally:
        _flush = True


def blocked(B: int, d: int) -> tuple[int, int, int]:
    """Return the rows of a block, the number of blocks, and the padded hidden size."""
    # Blocks of equal size: 33 rows are 17 and 16, not 32 and 1, which would leave tiles empty.
    blocks = -(-B // ROWS)
    rows = -(-B // blocks)
    return rows, -(-B // rows), -(-d // LANES) * LANES


def chunk(cell: Cell, T: int, B: int, d: int) -> int:
    """Return the steps of a chunk: it stores about 2^16 numbers, 256 KiB, so that they stay in the cache."""
    rows, _, width = blocked(B, d)
    numbers = min(max(2**16 // (_kept(cell) * width), 128), 1024)
    return min(T, max(1, numbers // rows))


def _library(cell: Cell) -> ctypes.CDLL | None:
    if cell.name not in _libraries:
        loaded = None if cell.plan is None else library(emit(cell.plan))
        if loaded is not None:
            number, address, text = ctypes.c_int64, ctypes.c_void_p, ctypes.c_char_p
            loaded.forward.argtypes = loaded.backward.argtypes = (text, number, number)
            loaded.gather.argtypes = (text, number, number, text, text, address)
            loaded.scatter.argtypes = (text, number, number, number, text, address)
        _libraries[cell.name] = loaded
    return _libraries[cell.name]


def compiled(cell: Cell) -> ctypes.CDLL:
    """Return the library of a cell that has been loaded before."""
    loaded = _library(cell)
    assert loaded is not None, "the dispatcher asks for a library before it chooses this path"
    return loaded


def address(t: Tensor | None) -> int:
    """Return the address of a tensor's data, 0 for None."""
    return 0 if t is None else t.data_ptr()


def _whole(parts: Tensor, M: int) -> Tensor:
    """Return the sum over a member's tasks."""
    return parts if len(parts) == M else parts.unflatten(0, (M, -1)).sum(1)


def _kept(cell: Cell) -> int:
    return 0 if cell.plan is None else cell.plan.kept


def _inputs(*tensors: Tensor | Sequence[int]) -> dict[str, Tensor]:
    return {
        name: t.contiguous() if isinstance(t, Tensor) else torch.tensor(t, dtype=torch.int64, device="cpu")
        for name, t in zip(INPUTS, tensors, strict=True)
    }


def launch(direction: str, cell: Cell, sizes: Sequence[int], keep: bool, addresses: Sequence[int]) -> None:
    """Run a direction of a cell.

    Args:
        direction: ``"forward"`` or ``"backward"``.
        cell: The cell.
        sizes: M, T, B, p, d, m.
        keep: Whether a backward pass follows.
        addresses: Addresses of ``INPUTS``, ``OUTPUTS`` and ``BACKWARD``; 0 for none.

    Raises:
        MemoryError: There is not enough memory for scratch space.
    """
    M, T, B, _, d, _ = sizes
    rows, blocks, width = blocked(B, d)
    numbers = M * blocks * T * rows * width * (len(cell.states) + _kept(cell))
    call = CALL.pack(*sizes, rows, chunk(cell, T, B, d), keep + (keep and numbers > NEAR), _flush, *addresses)
    run, tasks = getattr(compiled(cell), direction), M * blocks
    parts = min(torch.get_num_threads(), tasks)
    if parts == 1:
        failed = [run(call, 0, tasks)]
    else:
        edges = [tasks * k // parts for k in range(parts + 1)]
        failed = list(threads(os.getpid()).map(lambda part: run(call, *part), zip(edges, edges[1:], strict=False)))
    if any(failed):
        raise MemoryError(f"The {direction} pass of {cell.name} ran out of memory.")


def _run(direction: str, cell: Cell, keep: bool, tensors: dict[str, Tensor]) -> None:
    (M, T, B, p), d, m = tensors["x"].shape, tensors["state"].shape[-1], tensors["past"].shape[1]
    names = (*INPUTS, *OUTPUTS, *BACKWARD)
    addresses = [tensors[name].data_ptr() if name in tensors and tensors[name].numel() else 0 for name in names]
    launch(direction, cell, (M, T, B, p, d, m), keep, addresses)
