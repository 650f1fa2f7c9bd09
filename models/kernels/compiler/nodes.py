"""The intermediate form: every value of a step is a node, and equal expressions share one node."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from math import isfinite
from typing import Any

KINDS = ("num", "vec", "row")
COSTLY = frozenset(("sigmoid", "tanh", "exp", "log", "sin", "cos", "sqrt", "softplus", "erf"))
"""Operations whose results are stored rather than recomputed."""
FLAT = frozenset(("const", "stop", "sign", "gt", "ge", "eq", "above"))
"""Operations through which no gradient passes."""
FOLDED = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv}
"""Operations that are folded for two constants."""
UNFIT = frozenset(("div", "exp", "log", "sqrt"))
"""Operations that may give infinity or NaN on the zeros of the padding."""


@dataclass(frozen=True, eq=False)
class Node:
    """One value.

    Attributes:
        graph: The graph that made it.
        op: An operation on ``args``, ``"mm"`` or ``"mmT"`` (a matrix, or its transpose, times a row), ``"sum"`` (of
            such products), or a source: ``"state"``, ``"drive"``, ``"late"``, ``"adjoint"``, ``"num"``, ``"vec"``,
            ``"const"``.
        attr: Further data that identify the value.
        kind: ``"row"``, d numbers of each sequence; ``"vec"``, d numbers of a member; ``"num"``, one of a member.
        number: Its index in order of creation.
    """

    graph: Graph
    op: str
    args: tuple[Node, ...]
    attr: tuple[Any, ...]
    kind: str
    number: int

    def __repr__(self) -> str:
        return f"{self.op}{self.number}"

    def __add__(self, other: Node | float) -> Node:
        return self.graph("add", self, other)

    def __radd__(self, other: float) -> Node:
        return self.graph("add", other, self)

    def __sub__(self, other: Node | float) -> Node:
        return self.graph("sub", self, other)

    def __rsub__(self, other: float) -> Node:
        return self.graph("sub", other, self)

    def __mul__(self, other: Node | float) -> Node:
        return self.graph("mul", self, other)

    def __rmul__(self, other: float) -> Node:
        return self.graph("mul", other, self)

    def __truediv__(self, other: Node | float) -> Node:
        return self.graph("div", self, other)

    def __rtruediv__(self, other: float) -> Node:
        return self.graph("div", other, self)

    def __neg__(self) -> Node:
        return self.graph("neg", self)

    @property
    def value(self) -> float | None:
        """Its constant value, or None if it varies."""
        return float(self.attr[0]) if self.op == "const" else None

    @property
    def literal(self) -> str:
        """Its constant value as Python source."""
        value = str(self.attr[0])
        return value if isfinite(float(value)) else f"float('{value}')"

    @property
    def factors(self) -> tuple[tuple[str, int, Node], ...]:
        """Of a sum: the operation, the matrix and the row of each product."""
        return tuple((op, m, row) for (op, m), row in zip(self.attr[1:], self.read, strict=True))

    @property
    def start(self) -> Node | None:
        """Of a sum: the drive with which it begins, if any."""
        return self.args[0] if self.attr[0] else None

    @property
    def read(self) -> tuple[Node, ...]:
        """Of a sum: the rows that its products read."""
        return self.args[bool(self.attr[0]) :]


class Graph:
    """Makes nodes; folds constants, x · 1, x / 1, x − 0 and −(−x), and nothing that might change a value.

    Attributes:
        number: The kind of a constant.
    """

    number = "num"

    def __init__(self) -> None:
        self._made: dict[tuple[Any, ...], Node] = {}
        self._next = count()

    def node(self, op: str, *args: Node, attr: tuple[Any, ...] = (), kind: str | None = None) -> Node:
        """Return the node of this operation, by default of the widest kind of its arguments."""
        kind = self.widest(args) if kind is None else kind
        key = (op, args, attr, kind)
        if key not in self._made:
            self._made[key] = Node(self, op, args, attr, kind, next(self._next))
        return self._made[key]

    def const(self, value: float) -> Node:
        """Return a constant, identified by its text: −0 differs from 0, and NaN equals itself."""
        return self.node("const", attr=(repr(float(value)),), kind=self.number)

    def widest(self, args: Sequence[Node]) -> str:
        """Return the kind of an elementwise operation on ``args``."""
        return max((a.kind for a in args), key=KINDS.index)

    def __call__(self, op: str, *operands: Node | float) -> Node:
        """Return ``op`` of nodes and numbers."""
        args = tuple(a if isinstance(a, Node) else self.const(a) for a in operands)
        folded = self._folded(op, args)
        return self.node(op, *args) if folded is None else folded

    def _folded(self, op: str, args: tuple[Node, ...]) -> Node | None:
        values = [a.value for a in args]
        if op == "stop":
            return args[0] if args[0].op in FLAT else None
        if op in FOLDED and None not in values and not (op == "div" and values[1] == 0):
            return self.const(FOLDED[op](*values))
        if op == "mul" and 1.0 in values:
            return args[1 - values.index(1.0)]
        if (op, args[-1].attr) in (("sub", ("0.0",)), ("div", ("1.0",))):
            return args[0]
        if op == "neg" and args[0].op == "neg":
            return args[0].args[0]
        if op == "neg" and values[0] is not None:
            return self.const(-values[0])
        return None


def ordered(roots: Iterable[Node], stop: Callable[[Node], bool] = lambda n: False) -> list[Node]:
    """Return all nodes below ``roots``, arguments first, except those only below nodes of ``stop``."""
    visited: dict[Node, None] = {}

    def visit(n: Node) -> None:
        if n in visited:
            return
        if not stop(n):
            for a in n.args:
                visit(a)
        visited[n] = None

    for root in roots:
        visit(root)
    return list(visited)


def terms(n: Node, whole: Callable[[Node], bool] = lambda n: False) -> list[Node]:
    """Return the terms of a tree of additions; nodes of ``whole`` are not split."""
    if n.op != "add":
        return [n]
    return [t for a in n.args for t in ([a] if whole(a) else terms(a, whole))]
