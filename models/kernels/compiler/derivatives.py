"""The way back: the derivative of each operation, and the adjoints of a whole step. Kinks are as torch has them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from longwave.models.kernels.compiler.nodes import Node, ordered

PRODUCTS = {"mm": "mmT", "mmT": "mm"}
"""Products, and what takes an adjoint back through each."""


@dataclass(frozen=True)
class Use:
    """A matrix that multiplied a row, and the adjoint of the product: their outer product is the matrix's gradient."""

    matrix: int
    row: Node
    adjoint: Node


def partials(n: Node, d: Node) -> Sequence[tuple[Node, Node]]:
    """Return (argument, adjoint) of each argument of ``n``, whose own adjoint is ``d``.

    Raises:
        NotImplementedError: An operation that is not of the intermediate form.
    """
    g, (x, y, z) = n.graph, (*n.args, n, n, n)[:3]
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
            return (x, d * g("above", x, y)), (y, d * g("above", y, x))
        case "min":
            return (x, d * g("above", y, x)), (y, d * g("above", x, y))
        case "sign" | "gt" | "ge" | "eq" | "above":
            return ()
    return ((x, _slope(n, x, d)),)


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


def adjoints(outputs: dict[Node, Node]) -> tuple[dict[Node, Node], list[Use]]:
    """Return the adjoint of every node that ``outputs`` (node: its adjoint) are made of, and the uses of matrices.

    The adjoint of a vec or num is the row whose sum over rows (and units) it is.
    """
    total, uses = dict(outputs), list[Use]()
    for n in reversed(ordered(outputs)):
        d = total.get(n)
        if d is None or not n.args:
            continue
        parts = _through(n, d, uses) if n.op == "sum" else partials(n, d)
        for a, part in parts:
            if a.op != "const" and part.value != 0.0:
                total[a] = total[a] + part if a in total else part
    return total, uses


def _through(n: Node, d: Node, uses: list[Use]) -> list[tuple[Node, Node]]:
    """Return (argument, adjoint) of a sum's arguments; ``uses`` gets its products."""
    parts = [] if n.start is None else [(n.start, d)]
    for op, matrix, row in n.factors:
        uses.append(Use(matrix, row, d))
        parts.append((row, n.graph.node(PRODUCTS[op], d, attr=(matrix,), kind="row")))
    return parts
