"""A plan of a step on matrix states as readable text: three functions, pass by pass over the rows."""

from __future__ import annotations

from longwave.models.kernels.compiler.blocks import Home
from longwave.models.kernels.compiler.listing import FORMS
from longwave.models.kernels.compiler.nodes import Node
from longwave.models.kernels.matrix.plan import MatrixPlan, MatrixProgram


def listing(plan: MatrixPlan) -> str:
    """Return the plan as Python-like text; ``[i]`` is a row of a value with rows, all columns at once."""
    parts = {"forward": plan.forward, "again": plan.again, "back": plan.backward}
    return "\n\n".join("\n".join(_direction(plan, name, program)) for name, program in parts.items()) + "\n"


def _direction(plan: MatrixPlan, name: str, program: MatrixProgram) -> list[str]:
    lines = [f"def {name}():"]

    def text(n: Node) -> str:
        return n.literal if n.op == "const" else f"v{n.number}" + ("[i]" if "i" in n.kind else "")

    def made(n: Node) -> str:
        if n in program.inputs:
            return _address(plan, program.inputs[n])
        args = [text(a) for a in n.args]
        return FORMS[n.op].format(*args) if n.op in FORMS else f"{n.op}({', '.join(args)})"

    for p in program.passes:
        lines += [f"    {text(n)} = {made(n)}" for n in p.single]
        lines += [f"    {_address(plan, home)} = {text(n)}" for n, home in p.single_targets]
        if p.rows or p.targets:
            lines.append("    for i in rows:")
            lines += [f"        {text(n)} = {made(n)}" for n in p.rows]
            lines += [f"        {text(n)} += {text(n.args[0])}" for n in p.sums]
            lines += [f"        {_address(plan, home)} = {text(n)}" for n, home in p.targets]
    return lines


def _address(plan: MatrixPlan, home: Home) -> str:
    name, k = home
    axes = plan.axes(home)
    address = name if name in ("output", "output_adjoint") else f"{name}[{k}]"
    return address + ("[i]" if "i" in axes else "")
