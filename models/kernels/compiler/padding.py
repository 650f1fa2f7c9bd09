"""Check of the padding: units from d to the next whole vector, whose drive, vectors and matrices are zeros."""

from __future__ import annotations

from math import isfinite

from longwave.models.kernels.compiler.nodes import UNFIT, Node, ordered
from longwave.models.kernels.compiler.plan import Plan


def rests(plan: Plan) -> bool:
    """Return whether zeros in the padding stay zeros, and are never divided, for all hyper-parameters."""
    zero: dict[Node, bool] = {}
    nodes = ordered([n for n, _ in (*plan.forward.targets, *plan.backward.targets)])
    for n in nodes:
        of = [zero[a] for a in n.args]
        if n.op in ("num", "const"):
            zero[n] = n.value == 0.0
        elif n.op in ("mul", "div", "where"):
            zero[n] = any(of) if n.op == "mul" else of[0] if n.op == "div" else of[1] and of[2]
        else:
            zero[n] = all(of) and n.op not in ("sigmoid", "exp", "log", "cos", "softplus", "ge", "eq", "above")
    unfit = any(n.op in UNFIT and n.args[-1].kind != "num" for n in nodes)
    infinite = any(n.value is not None and not isfinite(n.value) for n in nodes)
    return not (unfit or infinite) and all(zero[n] for n, _ in plan.forward.targets)
