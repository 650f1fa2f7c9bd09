"""Shared code of printed steps and blocks: names of values, operations, and a block with values in memory."""

from __future__ import annotations

from collections.abc import Sequence

from longwave.models.kernels.compiler.blocks import Block, Home
from longwave.models.kernels.compiler.nodes import Node
from longwave.models.kernels.compiler.plan import Plan

FORMS = {
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} / {1}", "neg": "-{0}",
    "exp": "tl.exp({0})", "log": "tl.log({0})", "sin": "tl.sin({0})", "cos": "tl.cos({0})", "sqrt": "tl.sqrt({0})",
    "erf": "tl.erf({0})", "abs": "tl.abs({0})", "max": "maximum({0}, {1})", "min": "minimum({0}, {1})",
    "gt": "flag({0} > {1})", "ge": "flag({0} >= {1})", "eq": "flag({0} == {1})",
    "where": "tl.where({0} != 0.0, {1}, {2})",
}  # fmt: skip
"""Operations that are not functions of the same name in ``functions``."""


def written(values: Sequence[str]) -> str:
    """Return a tuple's text."""
    return f"({''.join(f'{value}, ' for value in values)})"


def active(blocks: Sequence[Block]) -> list[int]:
    """Return the indices of the non-empty blocks."""
    return [k for k, block in enumerate(blocks) if block.sums or block.targets]


class Printer:
    """Base of both forms of a program: names of values, and operations."""

    def __init__(self, plan: Plan, direction: str) -> None:
        self.plan, self.direction = plan, direction
        self.program = plan.forward if direction == "forward" else plan.backward
        self.lines: list[str] = []
        self.names: dict[Node, str] = {}

    def say(self, n: Node, text: str) -> str:
        """Give ``n`` a name; return it."""
        self.names[n] = f"v{n.number}"
        self.lines.append(f"v{n.number} = {text}")
        return self.names[n]

    def name(self, n: Node) -> str:
        """Return the name of ``n``, or its constant."""
        return n.literal if n.op == "const" else self.names[n]

    def row(self, n: Node) -> str:
        """Return the name of ``n``, as a whole row."""
        return self.name(n) if n.kind == "row" else f"({self.blank} + {self.name(n)})"

    blank = "zero"

    def operation(self, n: Node) -> str:
        """Return the expression of ``n``."""
        if n.op == "num":
            return f"p[{self.plan.nums.index(n)}]"
        if n.op == "vec":
            return f"u[{self.plan.vecs.index(n)}]"
        args = [self.name(a) for a in n.args]
        return FORMS[n.op].format(*args) if n.op in FORMS else f"{n.op}({', '.join(args)})"


class StoredBlock(Printer):
    """One block, which loads its inputs and stores the inputs of others."""

    blank = "tl.zeros_like(inside.to(tl.float32))"

    def __init__(self, plan: Plan, direction: str, k: int) -> None:
        super().__init__(plan, direction)
        self.k, self.block = k, self.program.blocks[k]

    def body(self) -> list[str]:
        """Return the lines of the function."""
        for j, n in enumerate(self.block.sums):
            start = [] if n.start is None else [self._load(self.program.homes[n.start])]
            self.say(n, " + ".join([*start, self._load(("m", j))]))
        for line in self.program.lines(self.k):
            self.say(line.node, self._load(line.home) if line.home else self.operation(line.node))
        values: dict[Home, list[str]] = {}
        for n, home in self.block.targets:
            if home[0] == "unit" and n in self.program.rows:
                continue
            values.setdefault(home, [self._load(home)] if home[0] in ("sum", "unit") else []).append(self.row(n))
        # All terms of a sum in one store: another thread may load a stored value too early (triton#10924).
        for home, terms in values.items():
            self.lines.append(f"tl.store({self._address(home)}, {' + '.join(terms)}, mask=inside)")
        return self.lines

    def _address(self, home: Home) -> str:
        array, j = home
        if array in ("sum", "unit"):
            array, j = "sums", j + (array == "unit") * len(self.plan.nums)
        return f"{array} + {j} * SIZE"

    def _load(self, home: Home) -> str:
        text = f"tl.load({self._address(home)}, mask=inside, other=0.0)"
        # The output's adjoint is added to that of the later step wherever the latter is read.
        return f"{text} + tl.load(gy, mask=inside, other=0.0)" if home == ("adjoint", 0) else text
