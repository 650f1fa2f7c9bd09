"""Split a direction into blocks, one stage of products each, and locations to values that outlive their block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from longwave.models.kernels.compiler.nodes import Node, ordered

MAX_SUMS = 4
"""Sums that a block holds in registers at once."""
FOREVER = 10**9
Home = tuple[str, int]
"""Location of a value: state ``before`` or ``after`` the step, ``late`` outputs, a ``kept`` row, an incoming
``adjoint``, a ``slot``; and where a value is added: the ``sum`` of a scalar's gradient, a ``unit`` vector's, the
``ring`` of the adjoints of late outputs."""


@dataclass
class Block:
    """Sums that read the same rows, and the values stored afterwards; the first block has no sums."""

    sums: list[Node]
    targets: list[tuple[Node, Home]] = field(default_factory=list)


@dataclass(frozen=True)
class Assign:
    """One line of a block: ``node`` is loaded from ``home``, or computed."""

    node: Node
    home: Home | None = None


class Program:
    """One direction of a step.

    Args:
        inputs: Locations of the initial values.
        targets: Values to store, and their locations.
        extra: The array for values that outlive their block: ``"kept"`` or ``"slot"``.
        rows: Locations of rows that products read, if a target provides them.
        saved: Values to store in any case.
        costly: Operations whose results are stored rather than computed again in a later block.
    """

    def __init__(
        self,
        inputs: Mapping[Node, Home],
        targets: Sequence[tuple[Node, Home]],
        extra: str,
        rows: Mapping[Node, Home],
        saved: Sequence[Node],
        costly: frozenset[str],
    ) -> None:
        self.inputs, self.targets, self.extra, self.rows, self.costly = inputs, targets, extra, rows, costly
        self.stored = dict.fromkeys(saved)
        self.homes: dict[Node, Home] = {}
        self.at: dict[Node, int] = {}
        self.reads: dict[Node, int] = {}
        self.blocks = self._cut()
        while not self._assigned():
            pass

    def row(self, n: Node) -> Home:
        """Return the location from which a product reads the row ``n``."""
        return self.rows.get(n) or self.homes[n]

    def lines(self, k: int) -> list[Assign]:
        """Return the operations of block ``k`` on a row after its sums, in order, before it stores its targets."""
        done: dict[Node, Assign] = {}

        def visit(n: Node) -> None:
            if n in done or n.op == "const" or n in self.blocks[k].sums:
                return
            if self._loaded(n, k):
                done[n] = Assign(n, self.homes[n])
                return
            for a in n.args:
                visit(a)
            done[n] = Assign(n)

        for n, _ in self.blocks[k].targets:
            visit(n)
        return list(done.values())

    def _cut(self) -> list[Block]:
        """Return the blocks, by the number of products that must come before; ``at`` gives when a value is ready."""
        nodes = ordered([n for n, _ in self.targets] + list(self.stored), lambda n: n in self.inputs)
        level: dict[Node, int] = {}
        for n in nodes:
            inner = 0 if n in self.inputs else max((level[a] for a in n.args), default=0)
            level[n] = inner + (n.op == "sum" and n not in self.inputs)
        sums = [n for n in nodes if n.op == "sum" and n not in self.inputs]
        groups: dict[tuple[object, ...], list[Block]] = {}
        for n in sums:
            same = groups.setdefault((level[n], *n.read), [])
            if not same or len(same[-1].sums) == MAX_SUMS:
                same.append(Block([]))
            same[-1].sums.append(n)
        merged = sorted((b for same in groups.values() for b in same), key=lambda b: level[b.sums[0]])
        blocks = [Block([]), *merged]
        block_of = {n: k for k, b in enumerate(blocks) for n in b.sums}
        for n in nodes:
            ready = 0 if n in self.inputs else max((self.at[a] for a in n.args), default=0)
            self.at[n] = block_of.get(n, ready)
        unplaced = (row for n in sums for row in n.read if row not in self.inputs and row not in self.rows)
        self.stored |= dict.fromkeys(unplaced)
        return blocks

    def _assigned(self) -> bool:
        """Assign targets to blocks; return whether every value that a block needs is available by then."""
        count = len(self.stored)
        late: dict[Home, int] = {}
        for _ in range(3):  # an adjoint may be overwritten only after its incoming value is read for the last time
            self.reads = {}
            for b in self.blocks:
                b.targets = []
            for n, home in self.targets:
                self.blocks[max(self.at[n], late.get(home, 0))].targets.append((n, home))
            for n in self.stored:
                self.blocks[self.at[n]].targets.append((n, ("home", n.number)))
            for k, b in enumerate(self.blocks):
                self._needed(b, k)
            incoming = {home: n for n, home in self.inputs.items() if home[0] == "adjoint"}
            late = {home: self.reads.get(n, 0) for home, n in incoming.items()}
        return len(self.stored) == count

    def _needed(self, block: Block, k: int) -> None:
        for n, _ in block.targets:
            self._walk(n, k)
        for n in block.sums:
            for a in n.args:
                if a not in self.rows:
                    self._reads(a, k)

    def _walk(self, n: Node, k: int) -> None:
        if self._loaded(n, k):
            self._reads(n, k)
        elif n.args and not (n.op == "sum" and self.at[n] == k):
            if self.at[n] < k and (n.op == "sum" or n.op in self.costly):
                self.stored[n] = None
                self._reads(n, k)
            else:
                for a in n.args:
                    self._walk(a, k)

    def _reads(self, n: Node, k: int) -> None:
        self.reads[n] = max(self.reads.get(n, 0), k)

    def _loaded(self, n: Node, k: int) -> bool:
        """Return whether ``n`` is in memory at block ``k``."""
        return n in self.inputs or ((n in self.stored or n in self.rows) and self.at[n] < k)

    def settle(self, count: int, forever: frozenset[Node], reuse: bool) -> int:
        """Assign locations to stored values; return the number of rows of ``extra``.

        Args:
            count: Number of rows that ``extra`` already has.
            forever: Values that outlive the direction.
            reuse: Whether rows of dead values may be reused.
        """
        ends = [-1] * count
        for n, (array, j) in self.inputs.items():
            if array == self.extra:
                ends[j] = FOREVER if n in forever else self.reads.get(n, 0)
        self.homes = {**{n: h for n, h in self.rows.items() if n not in self.inputs}, **self.inputs}
        for n in sorted(self.stored, key=lambda n: self.at[n]):
            if n in self.homes:
                continue
            free = [j for j, end in enumerate(ends) if reuse and end <= self.at[n]]
            from_drives = {self.inputs[a][1] for a in ordered([n], lambda m: m in self.inputs) if a.op == "drive"}
            j = next((j for j in free if j in from_drives), free[0] if free else len(ends))
            ends[j : j + 1] = [FOREVER if n in forever else self.reads.get(n, 0)]
            self.homes[n] = (self.extra, j)
        for b in self.blocks:
            b.targets = [(n, self.homes[n] if home[0] == "home" else home) for n, home in b.targets]
        return len(ends)
