"""A plan as Triton code: whole steps for the row schedule, and one function per block for the graph schedule."""

from __future__ import annotations

from collections.abc import Iterable

from longwave.models.kernels.compiler.plan import Plan
from longwave.models.kernels.triton.printer import StoredBlock, active, written
from longwave.models.kernels.triton.step import WholeStep

HEAD = '''"""Printed from the plan of a step; see longwave.models.kernels.triton.emit."""

import triton
import triton.language as tl

from longwave.models.kernels.triton.functions import *
'''
BLOCK = "before, after, kept, adjoint, slot, sums, gy, m, p, u, inside, SIZE: tl.constexpr"


def emit(plan: Plan) -> str:
    """Return the text of a module with the step and its backward pass.

    ``forward(s, a, w, p, u, inside, late) -> (s, a, x)``: s holds the states, a the drives, which become kept rows, x
    the other kept rows; w the tiles of Wᵀ, p the scalars, u the vectors, ``inside`` masks the units that exist.
    ``back(g, s, n, a, x, w, p, u, inside, later, own) -> (g, o, q)``: g holds the states' adjoints, s and n the states
    before and after the step, w the tiles of W; o are the slots, q the terms of the gradients of scalars and vectors.
    If the step has a delay, ``forward_near`` and ``back_near`` have the delayed products inside: ``late`` holds the
    delayed output, ``later`` the gates' slots of as many steps later, ``own`` whether these are the step's own.
    ``forward_k`` and ``back_k`` are the blocks, which read and write everything in memory except their products ``m``.
    """
    parts = [_forward(plan, False), _back(plan, False)]
    if plan.delays:
        parts += [_forward(plan, True), _back(plan, True)]
    for direction, program in (("forward", plan.forward), ("back", plan.backward)):
        parts += [
            _function(f"{direction}_{k}", BLOCK, StoredBlock(plan, direction, k).body()) for k in active(program.blocks)
        ]
    return "".join((HEAD, *parts))


def _function(name: str, arguments: str, lines: Iterable[str]) -> str:
    return f"\n\n@triton.jit\ndef {name}({arguments}):\n" + "".join(f"    {line}\n" for line in lines)


def _forward(plan: Plan, near: bool) -> str:
    step, gates = WholeStep(plan, "forward", near), len(plan.gates)
    step.run()
    now = [step.last.get(("after", i), f"s[{i}]") for i in range(plan.states)]
    kept = [step.last.get(("kept", j), step.drive(j)) for j in range(gates)]
    more = [step.last[("kept", j)] for j in range(gates, plan.kept)]
    lines = [*step.lines, f"return {written(now)}, {written(kept)}, {written(more)}"]
    return _function("forward_near" if near else "forward", "s, a, w, p, u, inside, late", lines)


def _back(plan: Plan, near: bool) -> str:
    step = WholeStep(plan, "back", near)
    step.run()
    adjoints = [step.last.get(("adjoint", i), f"g[{i}]") for i in range(plan.states)]
    if near:
        adjoints[0] = " + ".join([adjoints[0], *step.delayed()])
    slots = [step.last[("slot", j)] for j in range(slot_count(plan))]
    homes = [("sum", j) for j in range(len(plan.nums))] + [("unit", j) for j in range(len(plan.vecs))]
    terms = [" + ".join(step.added.get(home, ["zero"])) for home in homes]
    lines = [
        "zero = tl.zeros_like(g[0])",
        *step.lines,
        f"return {written(adjoints)}, {written(slots)}, {written(terms)}",
    ]
    return _function("back_near" if near else "back", "g, s, n, a, x, w, p, u, inside, later, own", lines)


def slot_count(plan: Plan) -> int:
    """Return the number of slots that are read outside the loop; the others hold values between blocks."""
    return sum(home[0] == "slot" for _, home in plan.backward.targets)


def unit_slots(plan: Plan) -> list[tuple[int, int]]:
    """Return (vector, slot) for terms of a vector's gradient that are slots, whose sum outside the loop is cheaper."""
    rows = plan.backward.rows
    return [(home[1], rows[n][1]) for n, home in plan.backward.targets if home[0] == "unit" and n in rows]
