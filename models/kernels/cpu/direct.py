"""A call from a layer's stored weights to their gradients: one node in torch's graph, few calls of torch.

Operands are assembled, and gradients split, in C++ (copies.h): a small layer's loop of twenty steps takes less time
than torch needs for one node per weight.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from math import prod
from typing import Any

import torch
from torch import Tensor

from longwave.models.kernels.adjoints import check_adjoints, refuse_second_derivatives
from longwave.models.kernels.cells import Cell, planned
from longwave.models.kernels.compiler.copies import CopiedBlock
from longwave.models.kernels.compiler.loop import Loop
from longwave.models.kernels.cpu.memory import empty
from longwave.models.kernels.cpu.run import address, blocked, compiled, kept_shapes, launch

BLOCK = struct.Struct("3qd17q")
"""``struct Block`` of copies.h."""
OPERANDS = ("V", "b", "W", "P", "U")
GRADIENTS = {"V": 0, "b": 0, "W": 1, "P": 2, "U": 3}
"""Index of each operand's gradient in a task's outputs dV, dW, dP, dU."""


class CopyTable:
    """The constant part of a loop's copies, in the format of copies.h."""

    def __init__(self, cell: Cell, loop: Loop) -> None:
        self.copies, self.cell = loop.copies, cell
        self.M, self.d, self.p = loop.M, loop.d, loop.inputs
        d, p, D = self.d, self.p, blocked(1, self.d)[2]
        G, N, H, K = (len(part) for part in (cell.gates, cell.matrices, cell.scalars, cell.vectors))
        self.sizes = dict(zip(OPERANDS, (G * d * p, G * d, N * d * d, H, K * d), strict=True))
        starts = list(accumulate((self.M * n for n in self.sizes.values()), initial=0))
        self.starts, self.total = dict(zip(OPERANDS, starts, strict=False)), starts[-1]
        self.gradients = ((p + 1) * G * D, d * N * D, H, K * D)
        # By operand: the offset of block `block` in a task's gradients, and the strides of its rows and columns.
        self.gradient_layout = {"V": (D, 1, G * D), "b": (D, 0, 1), "W": (D, 1, N * D), "P": (1, 0, 1), "U": (D, 0, 1)}
        self.gradient_starts = {"b": p * G * D}
        shapes = self.copies.sources[:-1]
        self.offsets = list(accumulate((prod(s) for s in shapes), initial=0))
        self.like = [torch.empty(s, dtype=torch.float32, device="cpu") for s in shapes]
        self.blocks = b"".join(map(self._packed, self.copies.blocks))
        self.count = len(self.copies.blocks)
        self.strides = [t.stride() for t in self.like]
        self.wide = {n for n, wide in zip(self.copies.direct, self.copies.wide, strict=True) if wide}
        self.pointers = struct.Struct(f"{len(shapes) + 1}q")

    def _packed(self, b: CopiedBlock) -> bytes:
        columns = self.p if b.operand == "V" else self.d
        one = b.source == len(self.copies.sources) - 1
        size = 0 if one or b.shared else prod(self.copies.sources[b.source]) // self.M
        width = 1 if b.operand == "P" else self.d * (columns if b.operand in "VW" else 1)
        step, row, column = self.gradient_layout[b.operand]
        gradient_start = self.gradient_starts.get(b.operand, 0) + b.block * step
        array = GRADIENTS[b.operand]
        return BLOCK.pack(
            *(b.rows, b.columns, b.source < len(self.copies.wide) and self.copies.wide[b.source], b.factor),
            *(b.source, b.at, 0 if b.shared else 1, b.row, b.column),
            *(0, self.starts[b.operand] + b.block * width, self.sizes[b.operand], columns, 1),
            *(array, gradient_start, self.gradients[array], row, column),
            *(-1 if one else self.offsets[b.source] + b.at, size),
        )


@cache
def table(loop: Loop) -> CopyTable:
    """Return the table of a loop."""
    return CopyTable(planned(loop.name, loop.plan), loop)


ONE = torch.ones(1, dtype=torch.float32, device="cpu")


def gathered(t: CopyTable, weights: Sequence[Tensor], made: Sequence[Tensor]) -> Tensor:
    """Return all operands, one after the other; ``weights`` are those of ``copies.needed``."""
    by_number = dict(zip(t.copies.needed, weights, strict=True))
    sources = [by_number[n] for n in t.copies.direct] + list(made)
    members, lone = [], t.M == 1
    for k, (source, strides) in enumerate(zip(sources, t.strides, strict=True)):
        actual = source.stride()
        if actual != strides and (lone or actual[1:] != strides[1:]):
            sources[k] = source = source.contiguous()
            actual = source.stride()
        members.append(0 if lone else actual[0])
    # Adding −0 to 0 would lose its sign. The default device of torch may be another one.
    operands = torch.full((t.total,), -0.0, dtype=torch.float32, device="cpu")
    pointers = t.pointers.pack(*[s.data_ptr() for s in sources], ONE.data_ptr())
    library = compiled(t.cell)
    library.gather(t.blocks, t.count, t.M, pointers, t.pointers.pack(*members, 0), operands.data_ptr())
    return operands


class Direct(torch.autograd.Function):
    """The outputs and the last states of a loop, from the stored weights."""

    @staticmethod
    def forward(
        ctx: Any, t: CopyTable, lags: Tensor | None, x: Tensor, past: Tensor | None, *states_and_weights: Tensor
    ) -> Any:
        """Return the outputs and each last state; the weights are those of ``copies.needed``."""
        count = len(t.cell.states)
        state, weights = states_and_weights[:count], states_and_weights[count:]
        ctx.weights, ctx.made = weights, None
        made: list[Tensor] = []
        if t.copies.computed:
            detached = {
                n: w.detach().requires_grad_(w.requires_grad) for n, w in zip(t.copies.needed, weights, strict=True)
            }
            with torch.enable_grad():
                made = t.copies.made(detached)
            ctx.made = detached, made
        outputs, last, saved = forward(t, lags, x, past, state, weights, made, True)
        ctx.save_for_backward(x, *saved, *(() if past is None else (past,)))
        ctx.table, ctx.lags = t, lags
        ctx.set_materialize_grads(False)
        return outputs, *(s.clone() for s in last)  # views of one tensor could not be changed in place

    @staticmethod
    def backward(ctx: Any, gY: Tensor | None, *glast: Tensor | None) -> tuple[Any, ...]:
        """Return the gradients of the arguments of ``forward``."""
        check_adjoints([gY, *glast])
        t, needs, (x, operands, states, kept, *past) = ctx.table, ctx.needs_input_grad[2:], ctx.saved_tensors
        with torch.no_grad():
            saved = (x, operands, states, kept, past[0] if past else None)
            gradients, parts = _backward(t, ctx.lags, *saved, gY, glast, needs)
            gradients += _of_weights(t, parts, ctx.made, needs[len(gradients) :])
        if torch.is_grad_enabled():
            gradients = refuse_second_derivatives(gradients, [x, *ctx.weights], [gY, *glast])
        return None, None, *gradients


def advance(
    cell: Cell, loop: Loop, weights: Sequence[Tensor], lags: Sequence[int], x: Tensor, state: tuple[Tensor, ...]
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Return the outputs (M, T, B, d) and the last state of a fused loop; see ``dispatch.advance``."""
    t, count = table(loop), len(cell.states)
    delays = torch.tensor(lags, dtype=torch.int64, device="cpu") if lags else None
    past = state[count].transpose(1, 2) if len(state) > count else None
    needed = [weights[n] for n in t.copies.needed]
    inputs = (x, *state, *needed)
    if torch.is_grad_enabled() and any(g.requires_grad for g in inputs):
        Y, *last = Direct.apply(t, delays, x, past, *state[:count], *needed)
    else:
        made = t.copies.made(dict(zip(t.copies.needed, needed, strict=True)))
        Y, last, _ = forward(t, delays, x, past, state[:count], needed, made, False)
    if past is None:
        return Y, tuple(last)
    history = torch.cat([past, state[0].unsqueeze(1), Y], 1)
    return Y, (*last, history[:, -past.shape[1] - 1 : -1].transpose(1, 2))


def forward(
    t: CopyTable,
    lags: Tensor | None,
    x: Tensor,
    past: Tensor | None,
    state: Sequence[Tensor],
    weights: Sequence[Tensor],
    made: Sequence[Tensor],
    keep: bool,
) -> tuple[Tensor, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return the outputs, the last states, and the values for the backward pass: operands, states, kept rows."""
    (M, T, B, _), d, m = x.shape, t.d, 0 if past is None else past.shape[1]
    operands = gathered(t, weights, made)
    first, second = kept_shapes(t.cell, M, T, B, d, m)
    outputs = empty(M, T, B, t.cell.outputs * d)
    states, kept = empty(*first if keep or m else (0,)), empty(*second if keep else (0,))
    start, last = torch.stack(tuple(state)), x.new_empty(len(state), M, B, d)
    x, past = x.contiguous(), None if past is None else past.contiguous()
    addresses = [operands.data_ptr() + 4 * at for at in t.starts.values()]
    read = [x.data_ptr(), *addresses, start.data_ptr(), address(past), address(lags)]
    written = [outputs.data_ptr(), last.data_ptr(), states.data_ptr(), kept.data_ptr()]
    launch("forward", t.cell, (M, T, B, t.p, d, m), keep, [*read, *written, *[0] * 9])
    return outputs, last.unbind(), (operands, states, kept)


def _backward(
    t: CopyTable,
    lags: Tensor | None,
    x: Tensor,
    operands: Tensor,
    states: Tensor,
    kept: Tensor,
    past: Tensor | None,
    gY: Tensor | None,
    glast: Sequence[Tensor | None],
    needs: Sequence[bool],
) -> tuple[list[Tensor | None], Sequence[Tensor]]:
    """Return the gradients of x, past and the states, if needed, and of the sources."""
    (M, T, B, p), d, count = x.shape, t.d, len(t.cell.states)
    x, past = x.contiguous(), None if past is None else past.contiguous()
    m, tasks = 0 if past is None else past.shape[1], blocked(B, d)[1]
    raw = x.new_empty(M * tasks * sum(t.gradients))
    starts = list(accumulate((4 * M * tasks * n for n in t.gradients), initial=raw.data_ptr()))[:-1]
    dx = empty(*x.shape) if needs[0] else None
    dpast, dstate = None if past is None else torch.empty_like(past), x.new_empty(count, M, B, d)
    pull, ends = None if gY is None else gY.contiguous(), None
    if any(g is not None for g in glast):
        ends = torch.stack([x.new_zeros(M, B, d) if g is None else g for g in glast])
    addresses = [operands.data_ptr() + 4 * at for at in t.starts.values()]
    read = [x.data_ptr(), *addresses, 0, address(past), address(lags), 0, 0, states.data_ptr(), kept.data_ptr()]
    written = [address(pull), address(ends), address(dx), *starts, dstate.data_ptr(), address(dpast)]
    launch("backward", t.cell, (M, T, B, p, d, m), True, [*read, *written])
    flat = x.new_zeros(t.offsets[-1])
    compiled(t.cell).scatter(t.blocks, t.count, M, tasks, struct.pack("4q", *starts), flat.data_ptr())
    gradients = zip((dx, dpast, *dstate.unbind()), needs, strict=False)
    return [g if needed else None for g, needed in gradients], torch._utils._unflatten_dense_tensors(flat, t.like)


def _of_weights(t: CopyTable, parts: Sequence[Tensor], through: Any, needs: Sequence[bool]) -> list[Tensor | None]:
    """Return the gradients of the weights: of copied ones, and through invariants that torch computed."""
    direct = len(t.copies.direct)
    by_number = dict(zip(t.copies.direct, parts, strict=False))
    if through is not None:
        detached, made = through
        live = [(y, g) for y, g in zip(made, parts[direct:], strict=True) if y.requires_grad]
        ends = [n for n in t.copies.replay.needed if detached[n].requires_grad]
        if live and ends:
            more = torch.autograd.grad(
                [y for y, _ in live],
                [detached[n] for n in ends],
                [g for _, g in live],
                retain_graph=True,
                allow_unused=True,
            )
            for n, g in zip(ends, more, strict=True):
                if g is not None:
                    by_number[n] = by_number[n] + g if n in by_number else g
    gradients = [by_number.get(n) if needed else None for n, needed in zip(t.copies.needed, needs, strict=True)]
    return [g.double() if g is not None and n in t.wide else g for n, g in zip(t.copies.needed, gradients, strict=True)]
