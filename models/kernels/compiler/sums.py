"""Sums of products: all products of a step are rewritten as [drive +] Σ W x, which one loop computes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from longwave.models.kernels.compiler.derivatives import PRODUCTS
from longwave.models.kernels.compiler.nodes import Node, ordered, terms


def fuse(roots: list[Node], unchanged: Callable[[Node], bool] = lambda n: False) -> dict[Node, Node]:
    """Return each root with ``sum`` nodes in place of products, except inside ``unchanged`` nodes.

    In a tree of additions all products that nothing else uses become one sum. It starts with one drive among the other
    terms. All other terms are added last: a sum that began with the largest term would round the others to it. Products
    of delayed outputs are not in the sum but in its drive, computed for a whole chunk of steps at once.
    """
    fusing = _Fusing(roots, unchanged)
    return {root: fusing.new(root) for root in roots}


class _Fusing:
    def __init__(self, roots: list[Node], unchanged: Callable[[Node], bool]) -> None:
        self.unchanged = unchanged
        nodes = ordered(roots, unchanged)
        self.uses = Counter(a for n in nodes if not unchanged(n) for a in n.args) + Counter(roots)
        self.done: dict[Node, Node] = {}

    def new(self, n: Node) -> Node:
        """Return ``n`` rebuilt."""
        if n not in self.done:
            self.done[n] = self._made(n)
        return self.done[n]

    def _made(self, n: Node) -> Node:
        if self.unchanged(n) or not n.args:
            return n
        if n.op in PRODUCTS:
            return self._sum([n], None)
        if n.op != "add":
            return n.graph.node(n.op, *map(self.new, n.args), attr=n.attr, kind=n.kind)
        parts = terms(n, lambda a: self.uses[a] > 1 or self.unchanged(a))
        products = [t for t in parts if t.op in PRODUCTS and self.uses[t] == 1]
        if not products:
            return self.new(n.args[0]) + self.new(n.args[1])
        others = [t for t in parts if t not in products]
        start = next((t for t in others if t.op == "drive" and not self.unchanged(t)), None)
        total = self._sum(products, start)
        for t in others:
            if t is not start:
                total = total + self.new(t)
        return total

    def _sum(self, products: list[Node], start: Node | None) -> Node:
        g = products[0].graph
        late = tuple(p.attr[0] for p in products if p.args[0].op == "late")
        if late:
            # A separate drive, zero if there was none; other users of the drive keep the one without products.
            start = g.node("drive", attr=(None if start is None else start.attr[0], *late), kind="row")
            products = [p for p in products if p.args[0].op != "late"]
            if not products:
                return start
        rows = [self.new(p.args[0]) for p in products]
        attr = (start is not None, *((p.op, p.attr[0]) for p in products))
        first = [] if start is None else [start]
        return products[0].graph.node("sum", *first, *rows, attr=attr, kind="row")
