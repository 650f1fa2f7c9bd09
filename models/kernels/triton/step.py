"""A whole step as Triton code, with all values in registers, for the row schedule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from longwave.models.kernels.compiler.blocks import Block, Home
from longwave.models.kernels.compiler.nodes import Node, ordered
from longwave.models.kernels.compiler.padding import rests
from longwave.models.kernels.compiler.plan import Plan
from longwave.models.kernels.triton.printer import Printer, active, written

MAX_PRODUCTS = 4
"""Most products in one reduction."""


class WholeStep(Printer):
    """A whole step, with all values in registers."""

    def __init__(self, plan: Plan, direction: str, near: bool) -> None:
        super().__init__(plan, direction)
        self.guarded, self.near = not rests(plan), near
        self.last: dict[Home, str] = {}
        self.added: dict[Home, list[str]] = {}
        self.done: list[str] = []
        self.count = 0
        targets = [n for n, _ in self.program.targets]
        self.order = ordered(targets, self.program.inputs.__contains__)
        self.uses = Counter(a for n in self.order if n not in self.program.inputs for a in n.args) + Counter(targets)
        if direction == "forward":
            self.lines.append("zero = tl.zeros_like(s[0])")

    def run(self) -> None:
        """Print all blocks."""
        blocks = active(self.program.blocks)
        first = next((k for k in blocks if self.program.blocks[k].sums), None)
        if self.near and self.direction == "forward":
            self._late(first)
        for k in blocks:
            self._block(k, self.program.blocks[k])

    def drive(self, gate: int) -> str:
        """Return the content of a gate's row before anything is saved there."""
        return self.names.get(self.plan.gates[gate], f"a[{gate}]") if self.direction == "forward" else f"a[{gate}]"

    def delayed(self) -> list[str]:
        """Return the adjoints of an output from the delayed products of later steps."""
        rows = [f"tl.where(own, {self.last[('slot', gate)]}, later[{gate}])" for gate, _ in self.plan.delays]
        return self._products([(row, m) for row, (_, m) in zip(rows, self.plan.delays, strict=True)])

    def _late(self, first: int | None) -> None:
        """Add the delayed products to the drives, in one reduction with those of the first block."""
        block = self.program.blocks[first] if first is not None else Block([])
        pairs = [(self._whole(row), m) for n in block.sums for m, row in self._factors(n)]
        numbers = [m for _, m in pairs] + [m for _, m in self.plan.delays]
        rows = [row for row, _ in pairs] + ["late"] * len(self.plan.delays)
        products = self._products(list(zip(rows, numbers, strict=True)))
        self.done = products[: len(pairs)]
        sums: dict[int, list[str]] = {}
        for (gate, _), product in zip(self.plan.delays, products[len(pairs) :], strict=True):
            sums.setdefault(gate, []).append(product)
        for gate, terms in sums.items():
            self.say(self.plan.gates[gate], " + ".join([f"a[{gate}]", *terms]))

    def _factors(self, n: Node) -> list[tuple[int, Node]]:
        """Return matrix and row of each product of a sum, the matrices in order."""
        factors = [(self.plan.matrices.index(m), row) for _, m, row in n.factors]
        return sorted(factors, key=lambda factor: factor[0])

    def _products(self, pairs: Sequence[tuple[str, int]]) -> list[str]:
        """Print products of rows and matrices; return the names of the results."""
        names = []
        for k in range(0, len(pairs), MAX_PRODUCTS):
            part = pairs[k : k + MAX_PRODUCTS]
            rows = [f"tl.where(inside, {row}, 0.0)" if self.guarded else row for row, _ in part]
            weights = [f"w[{m}]" for _, m in part]
            self.lines.append(f"m{self.count} = products({written(rows)}, {written(weights)})")
            names += [f"m{self.count}[{i}]" for i in range(len(part))]
            self.count += 1
        return names

    def _whole(self, n: Node) -> str:
        """Return the name of a row that a product reads."""
        if n not in self.names and n in self.program.inputs:
            self.say(n, self._input(self.program.inputs[n]))
        return self.row(n)

    def _input(self, home: Home) -> str:
        array, j = home
        if array == "kept":
            return f"a[{j}]" if j < len(self.plan.gates) else f"x[{j - len(self.plan.gates)}]"
        return {"before": f"s[{j}]", "after": f"n[{j}]", "adjoint": f"g[{j}]"}[array]

    def _other_terms(self, n: Node, k: int) -> tuple[Node, list[str]]:
        """Return the node that adds all other terms to a sum, and those terms, available before the products.

        Then only one row is live during the products, not each of the terms.
        """
        top, terms = n, list[str]()
        while self.uses[top] == 1 and (users := [u for u in self.order if top in u.args and u.op == "add"]):
            other = users[0].args[users[0].args[0] is top]
            if self.program.at.get(other, 0) >= k:
                break
            terms.append(self._available(other))
            top = users[0]
        return top, terms

    def _available(self, n: Node) -> str:
        """Return the name of a value that needs no further product, and print the operations below it."""
        if n.op != "const" and n not in self.names:
            if n in self.program.inputs:
                return self.say(n, self._input(self.program.inputs[n]))
            for a in n.args:
                self._available(a)
            self.say(n, self.operation(n))
        return self.name(n)

    def _block(self, k: int, block: Block) -> None:
        pairs = [(self._whole(row), m) for n in block.sums for m, row in self._factors(n)]
        other_terms = {n: self._other_terms(n, k) for n in block.sums}
        products = iter(self.done or self._products(pairs))
        self.done = []
        for n in block.sums:
            start = []
            if n.start is not None:
                start = [self.names.get(n.start) or self.say(n.start, self._input(self.program.inputs[n.start]))]
            self.say(n, " + ".join(start + [next(products) for _ in n.factors]))
            top, more = other_terms[n]
            if top is not n:
                self.say(top, f"{self.names[n]} + ({' + '.join(more)})")
        for line in self.program.lines(k):
            if line.node not in self.names:
                self.say(line.node, self._input(line.home) if line.home else self.operation(line.node))
        for n, home in block.targets:
            if home[0] == "unit" and n in self.program.rows:
                continue  # a slot, summed outside by ``unit_slots``
            if home[0] in ("sum", "unit"):
                self.added.setdefault(home, []).append(self.row(n))
            else:
                self.last[home] = self.row(n)
