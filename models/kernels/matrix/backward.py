"""The backward pass of a step on matrix states: adjoints, and the sums over axes that an argument lacks.

The adjoint of a value without axis j is an unfinished sum over columns: each column has its own part. The backward pass
is linear in adjoints, so the parts are summed only where a gradient is stored, and no step has to wait for a sum.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from longwave.models.kernels.compiler.derivatives import partials, without_stops
from longwave.models.kernels.compiler.nodes import Node, ordered
from longwave.models.kernels.compiler.recorder import Unsupported
from longwave.models.kernels.matrix.trace import Traced


@dataclass(frozen=True)
class BackwardStep:
    """A step without stops, and the adjoints of its sources.

    Attributes:
        step: The forward computation.
        adjoints: Incoming, of the states after the step.
        output: Incoming, of the output.
        total: The adjoint of each source, state, drive or constant, that has one.
    """

    step: Traced
    adjoints: tuple[Node, ...]
    output: Node
    total: dict[Node, Node]


def backward_pass(step: Traced) -> BackwardStep:
    """Return the backward pass of a step."""
    g = step.output.graph
    kinds = [n.kind for n in step.before]  # a state has its declared axes
    adjoints = tuple(g.node("adjoint", attr=(k,), kind=kind) for k, kind in enumerate(kinds))
    output = g.node("output_adjoint", kind="j")
    total = _adjoints([*step.after, step.output], [*adjoints, output], [*kinds, "j"])
    sources = {n: d for n, d in total.items() if not n.args}
    plain = without_stops([*step.after, step.output, *sources.values()])
    plain_step = Traced(step.before, tuple(plain[n] for n in step.after), plain[step.output])
    return BackwardStep(plain_step, adjoints, output, {n: plain[d] for n, d in sources.items()})


def _adjoints(roots: Sequence[Node], incoming: Sequence[Node], kinds: Sequence[str]) -> dict[Node, Node]:
    """Return the adjoint of every node below ``roots``, which have the axes ``kinds`` in memory."""
    parts: dict[Node, dict[str, Node]] = defaultdict(dict)
    """Adjoints of each node, by the axes still to be summed over."""
    total: dict[Node, Node] = {}

    def add(a: Node, d: Node, kind: str) -> None:
        axes = "".join(axis for axis in kind if axis not in a.kind)
        parts[a][axes] = parts[a][axes] + d if axes in parts[a] else d

    for root, adjoint, kind in zip(roots, incoming, kinds, strict=True):
        add(root, adjoint, kind)
    for n in reversed(ordered(roots)):
        if n not in parts or n.op == "const":
            continue
        d = total[n] = _summed(parts[n])
        for a, part in [(n.args[0], d)] if n.op == "sum_i" else partials(n, d) if n.args else ():
            if a.op != "const" and part.value != 0.0:
                add(a, part, a.kind if n.op == "sum_i" else n.kind)
    return total


def _summed(parts: dict[str, Node]) -> Node:
    """Return the sum of adjoints, each over its axes."""
    done = list[Node]()
    for axes, d in parts.items():
        g = d.graph
        for axis in axes:
            if axis in d.kind:
                d = g.node(f"{'sum' if axis == 'i' else 'part'}_{axis}", d, kind=d.kind.replace(axis, ""))
            elif axis == "i":
                d = d * g.node("rows", kind="")
            else:
                raise Unsupported("an adjoint that is equal in all columns")
        done.append(d)
    result = done[0]
    for d in done[1:]:
        result = result + d
    return result
