"""A plan as readable Python: two functions, block by block."""

from __future__ import annotations

import hashlib

from longwave.models.kernels.compiler.blocks import Home, Program
from longwave.models.kernels.compiler.nodes import Node
from longwave.models.kernels.compiler.plan import Plan

FORMS = {
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} / {1}", "neg": "-{0}",
    "gt": "flag({0} > {1})", "ge": "flag({0} >= {1})", "eq": "flag({0} == {1})", "where": "where({0}, {1}, {2})",
}  # fmt: skip
"""Operations that are not printed as functions of the same name."""


def listing(plan: Plan) -> str:
    """Return the plan as the text of Python functions ``forward`` and ``back``.

    Each takes lists of rows: ``before`` and ``after`` the step, ``kept``, ``adjoint``, ``slot``, and ``late`` and
    ``ring`` for delayed outputs; matrices ``W``, scalars ``P`` and vectors ``U``, and in the backward pass the sums
    ``sum`` and ``unit`` of their gradients. ``mm(W, x)`` is W x, ``mmT(W, x)`` is Wᵀ x.
    """
    late = ", late, ring" if plan.delayed else ""
    lines = [f"def forward(before, after, kept, W, P, U{late.removesuffix(', ring')}):"]
    lines += [f"    kept[{g}] = kept[{g}] + mm(W[{m}], late[0])  # for a chunk of steps" for g, m in plan.delays]
    lines += _direction(plan, plan.forward)
    if plan.outputs > 1:
        lines.append(f"    # outputs are after[0] to after[{plan.outputs - 1}]")
    lines += ["", "", f"def back(before, after, kept, adjoint, slot, sum, unit, W, P, U{late}):"]
    lines += _direction(plan, plan.backward)
    lines += [f"    ring[0] = ring[0] + mmT(W[{m}], slot[{g}])  # for a chunk of steps" for g, m in plan.delays]
    for g in plan.gradients:
        for k in range(g.count):
            lines.append(f"    # the gradient of W[{g.matrix + k}] is slot[{g.slot + k}] times {_address(g.home)}")
    return "\n".join(lines) + "\n"


def digest(plan: Plan) -> str:
    """Return a name of the plan, the same for plans of equal text."""
    return hashlib.sha256(listing(plan).encode()).hexdigest()[:16]


def _direction(plan: Plan, program: Program) -> list[str]:
    text_lines = []
    for k, block in enumerate(program.blocks):
        if not block.sums and not block.targets:
            continue
        names: dict[Node, str] = {}
        read = [_address(program.row(n)) for n in block.sums[0].read] if block.sums else []
        products = f": {len(block.sums)} sum{'s' if len(block.sums) > 1 else ''} over {', '.join(read)}" if read else ""
        text_lines.append(f"    # block {k}{products}")
        for j, n in enumerate(block.sums):
            names[n] = f"a{j}"
            parts = [f"{op}(W[{plan.matrices.index(m)}], {_address(program.row(row))})" for op, m, row in n.factors]
            start = [] if n.start is None else [_address(program.homes[n.start])]
            text_lines.append(f"    a{j} = {' + '.join(start + parts)}")
        for line in program.lines(k):
            names[line.node] = f"v{line.node.number}"
            text = _address(line.home) if line.home else _operation(plan, line.node, names)
            text_lines.append(f"    v{line.node.number} = {text}")
        for n, home in block.targets:
            added = f"{_address(home)} + " if home[0] in ("sum", "unit", "ring") else ""
            text_lines.append(f"    {_address(home)} = {added}{_name(n, names)}")
    return text_lines or ["    pass"]


def _operation(plan: Plan, n: Node, names: dict[Node, str]) -> str:
    if n.op == "num":
        return f"P[{plan.nums.index(n)}]"
    if n.op == "vec":
        return f"U[{plan.vecs.index(n)}]"
    args = [_name(a, names) for a in n.args]
    return FORMS[n.op].format(*args) if n.op in FORMS else f"{n.op}({', '.join(args)})"


def _name(n: Node, names: dict[Node, str]) -> str:
    return n.literal if n.op == "const" else names[n]


def _address(home: Home) -> str:
    return f"{home[0]}[{home[1]}]"
