"""From a step's nodes to the plan of both directions: blocks, values saved for the backward pass, gradients."""

from __future__ import annotations

from dataclasses import dataclass

from longwave.models.kernels.compiler.blocks import Home, Program
from longwave.models.kernels.compiler.derivatives import Adjoints, Use, backward_pass
from longwave.models.kernels.compiler.nodes import COSTLY, Node, ordered, terms
from longwave.models.kernels.compiler.sums import fuse


@dataclass(frozen=True)
class Gradient:
    """Outer products of rows at ``home`` and ``count`` slots from ``slot`` on, of matrices from ``matrix`` on."""

    matrix: int
    home: Home
    slot: int
    count: int


@dataclass(frozen=True)
class Plan:
    """Both directions of a step.

    Attributes:
        forward, backward: The blocks of each.
        states: Number of states.
        gates: For each part of the drive, in order: its index in the layer (None for zeros), and the matrices of its
            products with delayed outputs.
        matrices: Those of the loop, by their numbers in the trace.
        nums, vecs: Scalars and vectors, in order.
        kept: Number of rows that a step saves, the gates' first.
        slots: Number of adjoint rows from a backward step, the gates' first.
        gradients: How the matrices' gradients follow from the slots.
        outputs: How many of the first states are output.
    """

    forward: Program
    backward: Program
    states: int
    gates: tuple[Node, ...]
    matrices: tuple[int, ...]
    nums: tuple[Node, ...]
    vecs: tuple[Node, ...]
    kept: int
    slots: int
    gradients: tuple[Gradient, ...]
    outputs: int = 1

    @property
    def delays(self) -> list[tuple[int, int]]:
        """Return (gate, matrix) of each product of delayed outputs, as indices into ``gates`` and ``matrices``."""
        return [(k, self.matrices.index(m)) for k, n in enumerate(self.gates) for m in n.attr[1:]]

    @property
    def delayed(self) -> bool:
        """Whether the step reads delayed outputs."""
        return bool(self.delays) or any(home[0] == "late" for home in self.forward.inputs.values())


def plan(before: list[Node], after: list[Node], lean: bool = False, outputs: int = 1) -> Plan:
    """Return the plan of a step from ``before``, its states, to ``after``.

    Args:
        before: State nodes.
        after: As many nodes of the same graph, before sums are fused.
        lean: Whether only sums are saved for the backward pass, and states after a step are read there only by
            products: for a GPU, where arithmetic is cheaper than memory. Otherwise other expensive values are saved
            too.
        outputs: How many of the first states are output.
    """
    stored = frozenset(("sum",)) | (frozenset() if lean else COSTLY)
    fused = fuse(after)
    after, adjoints = backward_pass([fused[n] for n in after])
    nodes = ordered(after)
    late = [n for n in nodes if n.op == "late"]
    inputs: dict[Node, Home] = {n: ("before", i) for i, n in enumerate(before)} | dict.fromkeys(late, ("late", 0))
    gates, matrices = _order(nodes, inputs, after)
    backward_nodes = _Backward(before, adjoints, gates, matrices, nodes)
    multiplied = {use.row for use in backward_nodes.uses}
    available = inputs | {
        n: ("after", i) for i, n in enumerate(after) if n not in inputs and (n in multiplied or not lean)
    }
    kept = backward_nodes.kept(available, stored)
    forward = Program(
        inputs | {n: ("kept", j) for j, n in enumerate(gates)},
        [(n, ("after", i)) for i, n in enumerate(after)],
        "kept",
        {n: ("after", i) for i, n in enumerate(after) if n not in inputs},
        [n for n in kept if n.op != "drive"],
        stored - {"sum"},
    )
    rows = forward.settle(len(gates), frozenset(kept), reuse=True)
    incoming: dict[Node, Home] = {n: ("adjoint", i) for i, n in enumerate(backward_nodes.incoming)}
    backward = Program(
        available | {n: forward.homes[n] for n in kept} | incoming,
        backward_nodes.targets,
        "slot",
        {n: ("slot", j) for n, j in backward_nodes.slots.items()},
        [],
        stored - {"sum"},
    )
    slots = backward.settle(len(backward_nodes.slot_targets), frozenset(), reuse=False)
    gradients = backward_nodes.gradients(backward)
    parts = (tuple(gates), tuple(matrices), backward_nodes.nums, backward_nodes.vecs)
    return Plan(forward, backward, len(after), *parts, rows, slots, tuple(gradients), outputs)


def _order(nodes: list[Node], inputs: dict[Node, Home], after: list[Node]) -> tuple[list[Node], list[int]]:
    """Return the gates in the order in which blocks start from them, then the others; the matrices likewise."""
    drives = [n for n in nodes if n.op == "drive"]
    targets: list[tuple[Node, Home]] = [(n, ("after", i)) for i, n in enumerate(after)]
    probe = Program(inputs | dict.fromkeys(drives, ("kept", 0)), targets, "kept", dict(targets), [], frozenset())
    sums = [n for b in probe.blocks for n in b.sums]
    gates = dict.fromkeys([n.start for n in sums if n.start is not None] + drives)
    delayed = [m for n in gates for m in n.attr[1:]]
    return list(gates), list(dict.fromkeys([m for n in sums for _, m, _ in n.factors] + delayed))


class _Backward:
    """The backward pass before it is split into blocks: slots, and the values that each direction stores."""

    def __init__(
        self, before: list[Node], adjoints: Adjoints, gates: list[Node], matrices: list[int], nodes: list[Node]
    ) -> None:
        g, step_nodes = before[0].graph, set(nodes)
        self.step_nodes, self.incoming = step_nodes, adjoints.incoming
        total, uses = adjoints.total, adjoints.uses
        position = {n: i for i, n in enumerate(nodes)}
        # Neighbours in W are neighbours in the slots, so that they share one outer product.
        uses.sort(key=lambda use: (position[use.row], matrices.index(use.matrix)))
        self.nums, self.vecs = (tuple(n for n in nodes if n.op == kind) for kind in ("num", "vec"))
        self.matrices = matrices
        zero = g.const(0.0)
        states, driven = ([total.get(n, zero) for n in part] for part in (before, gates))
        sums = self._sums(total, nodes)
        roots = [*states, *driven, *(use.adjoint for use in uses), *(n for n, _ in sums)]
        new = fuse(roots, step_nodes.__contains__)
        self.uses = [Use(use.matrix, use.row, new[use.adjoint]) for use in uses]
        self.gates = list(zip(gates, range(len(gates)), strict=True))
        self._fill_slots([new[n] for n in driven])
        self.targets = [
            *self.slot_targets,
            *((new[n], ("adjoint", i)) for i, n in enumerate(states)),
            *((new[n], home) for n, home in sums),
        ]

    def _sums(self, total: dict[Node, Node], nodes: list[Node]) -> list[tuple[Node, Home]]:
        """Return the values to accumulate: gradients of scalars and vectors, term by term, and of late outputs."""
        homes: dict[Node, Home] = {n: ("sum", i) for i, n in enumerate(self.nums)}
        homes |= {n: ("unit", i) for i, n in enumerate(self.vecs)}
        sums = [(t, home) for n, home in homes.items() if n in total for t in terms(total[n])]
        return sums + [(total[n], ("ring", 0)) for n in nodes if n.op == "late" and n in total]

    def _fill_slots(self, driven: list[Node]) -> None:
        """Assign a slot to the adjoint of each gate, and of each sum without a gate's."""
        self.slots: dict[Node, int] = {}
        self.slot_targets: list[tuple[Node, Home]] = []
        for n in [*driven, *(use.adjoint for use in self.uses)]:
            if n not in self.slots or len(self.slot_targets) < len(driven):
                self.slots.setdefault(n, len(self.slot_targets))
                self.slot_targets.append((n, ("slot", len(self.slot_targets))))

    def kept(self, available: dict[Node, Home], stored: frozenset[str]) -> list[Node]:
        """Return the values of the step that the backward pass needs and that are not cheap to recompute."""
        saved = {use.row: None for use in self.uses if use.row not in available}

        def cheap(n: Node) -> bool:
            below = ordered([n], lambda m: m in available)
            ends = [m for m in below if m in available or not m.args or m.op == "sum"]
            return bool(n.args) and all(m in available or m.kind != "row" for m in ends)

        def gather(n: Node) -> None:
            if n in available or n in saved or (n in self.step_nodes and not n.args and n.kind != "row"):
                return
            if n in self.step_nodes and (n.op in stored or n.op == "drive") and not cheap(n):
                saved[n] = None
                return
            for a in n.args:
                gather(a)

        for n, _ in self.targets:
            gather(n)
        return list(saved)

    def gradients(self, backward: Program) -> list[Gradient]:
        """Return the outer products, merged for neighbouring matrices and slots."""
        single = [(self.matrices.index(u.matrix), backward.inputs[u.row], self.slots[u.adjoint]) for u in self.uses]
        single += [(self.matrices.index(m), ("late", 0), j) for n, j in self.gates for m in n.attr[1:]]
        gradients: list[Gradient] = []
        for matrix, home, slot in sorted(single, key=lambda e: (e[1], e[0], e[2])):
            last = gradients[-1] if gradients else None
            if last and (last.home, last.matrix + last.count, last.slot + last.count) == (home, matrix, slot):
                gradients[-1] = Gradient(last.matrix, home, last.slot, last.count + 1)
            else:
                gradients.append(Gradient(matrix, home, slot, 1))
        return gradients
