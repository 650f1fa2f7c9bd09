"""The backward pass: the derivative of each operation, and the adjoints of a whole step. Kinks are as in torch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from longwave.models.kernels.compiler.nodes import FLAT, UNFIT, Node, ordered

PRODUCTS = {"mm": "mmT", "mmT": "mm"}
"""Products, and the operation that propagates an adjoint through each."""


@dataclass(frozen=True)
class Use:
    """A matrix, the row that it multiplied, and the adjoint of the product: their outer product is the gradient."""

    matrix: int
    row: Node
    adjoint: Node


def partials(n: Node, d: Node) -> Sequence[tuple[Node, Node]]:
    """Return (argument, adjoint) for each argument of ``n``, whose adjoint is ``d``.

    Raises:
        NotImplementedError: The operation is not in the intermediate form.
    """
    g, (x, y, z) = n.graph, (*n.args, n, n, n)[:3]
    if n.op in FLAT:
        return ()
    match n.op:
        case "add":
            return (x, d), (y, d)
        case "sub":
            return (x, d), (y, -d)
        case "mul":
            return (x, d * y), (y, d * x)
        case "div":
            return (x, d / y), (y, -(d / y * n))
        case "neg":
            return ((x, -d),)
        case "where":
            return (y, g("where", x, d, 0.0)), (z, g("where", x, 0.0, d))
        case "max":
            return (x, _share(d, x, y)), (y, _share(d, y, x))
        case "min":
            return (x, _share(d, y, x)), (y, _share(d, x, y))
    return ((x, _slope(n, x, d)),)


def _share(d: Node, x: Node, y: Node) -> Node:
    """Return the share of ``x`` in the adjoint ``d`` of max(x, y)."""
    g = d.graph
    if all(n.op not in UNFIT or n.args[-1].kind == "num" for n in ordered([d])):
        return d * g("above", x, y)
    return g("where", g("gt", y, x), 0.0, g("where", g("eq", x, y), 0.5 * d, d))  # 0 times infinity would be NaN


def _slope(n: Node, x: Node, d: Node) -> Node:
    """Return the adjoint of ``x`` for ``n``, a function of ``x`` alone."""
    g = n.graph
    match n.op:
        case "sigmoid":
            return d * n * (1.0 - n)
        case "tanh":
            return d * (1.0 - n * n)
        case "exp":
            return d * n
        case "log":
            return d / x
        case "sqrt":
            return d * 0.5 / n
        case "sin":
            return d * g("cos", x)
        case "cos":
            return -(d * g("sin", x))
        case "relu":
            return g("where", g("gt", n, 0.0), d, 0.0)
        case "abs":
            return d * g("sign", x)
        case "softplus":
            return d * g("sigmoid", x)
        case "erf":
            return d * (2.0 / math.sqrt(math.pi)) * g("exp", -(x * x))
    raise NotImplementedError(f"No derivative of {n.op}.")


@dataclass(frozen=True)
class Adjoints:
    """Result of propagating ``incoming``, the adjoints of the new states: ``total`` of each source, and matrix uses.

    The adjoint of a vec or num is the row to be summed over rows (and units).
    """

    incoming: list[Node]
    total: dict[Node, Node]
    uses: list[Use]


def backward_pass(after: list[Node]) -> tuple[list[Node], Adjoints]:
    """Return the new states and their adjoints, both without stops, which do not change values."""
    incoming = [after[0].graph.node("adjoint", attr=(i,), kind="row") for i in range(len(after))]
    total, uses = _adjoints(after, incoming)
    total = {n: d for n, d in total.items() if not n.args}
    plain = without_stops([*after, *total.values(), *(n for use in uses for n in (use.row, use.adjoint))])
    plain_uses = [Use(use.matrix, plain[use.row], plain[use.adjoint]) for use in uses]
    return [plain[n] for n in after], Adjoints(incoming, {n: plain[d] for n, d in total.items()}, plain_uses)


def without_stops(roots: list[Node]) -> dict[Node, Node]:
    """Return, for each node below ``roots``, the equal node without stops."""
    plain: dict[Node, Node] = {}
    for n in ordered(roots):
        args = [plain[a] for a in n.args]
        if n.op == "stop":
            plain[n] = args[0]
        else:
            plain[n] = n.graph.node(n.op, *args, attr=n.attr, kind=n.kind)
    return plain


def _adjoints(after: list[Node], incoming: list[Node]) -> tuple[dict[Node, Node], list[Use]]:
    """Return the adjoint of every node below ``after``, and the uses of matrices."""
    total, uses = dict[Node, Node](), list[Use]()
    for n, adjoint in zip(after, incoming, strict=True):  # a node may be two states
        total[n] = total[n] + adjoint if n in total else adjoint
    for n in reversed(ordered(after)):
        d = total.get(n)
        if d is None or not n.args:
            continue
        parts = _through(n, d, uses) if n.op == "sum" else partials(n, d)
        for a, part in parts:
            if a.op != "const" and part.value != 0.0:
                total[a] = total[a] + part if a in total else part
    return total, uses


def _through(n: Node, d: Node, uses: list[Use]) -> list[tuple[Node, Node]]:
    """Return (argument, adjoint) of a sum's arguments; its products are added to ``uses``."""
    parts = [] if n.start is None else [(n.start, d)]
    for op, matrix, row in n.factors:
        uses.append(Use(matrix, row, d))
        parts.append((row, n.graph.node(PRODUCTS[op], d, attr=(matrix,), kind="row")))
    return parts
