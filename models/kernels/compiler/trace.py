"""From a layer's own ``drive`` and ``step`` to nodes: they run once, on tensors with shapes but no values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from longwave.models.kernels.compiler.invariants import Invariants
from longwave.models.kernels.compiler.lowering import SAME
from longwave.models.kernels.compiler.nodes import Node, ordered
from longwave.models.kernels.compiler.recorder import Recorded, Unsupported, leaves, on_meta, record, unnumbered
from longwave.models.kernels.compiler.rows import Matrix, Rows
from longwave.models.kernels.compiler.sizes import ShapesOnly

LARGE = (1013, 1019, 1021, 1031, 1033, 1039, 1049, 1051, 1061, 1063)
SMALL = (101, 103, 107, 109, 113, 127, 131, 137, 139, 149)
"""Primes, used as sizes that occur nowhere else."""


@dataclass(frozen=True)
class Recurrent:
    """The functions to compile: the drive of a whole sequence, and one step.

    Attributes:
        drive: Of x (M, T, B, p) and the weights: its parts, (M, T, B, k d) each.
        step: Of the drive at one step, the states, the delayed outputs (M, B, d) and the weights: the next states.
        states: Their number.
        hidden: d.
        inputs: p, for these weights.
        weights: From the loop's arguments, tensors in mappings and dataclasses, to the weights of drive and step.
        outputs: How many of the first states are output, concatenated.
    """

    drive: Callable[[Tensor, Any], Sequence[Tensor]]
    step: Callable[[tuple[Tensor, ...], tuple[Tensor, ...], Tensor, Any], Sequence[Tensor]]
    states: int
    hidden: int
    inputs: int
    weights: Callable[[Any], Any] = lambda given: given
    outputs: int = 1


@dataclass(frozen=True)
class Gate:
    """A part of the drive, d units of it: invariants V (transposed) and b, and the index of its block."""

    V: int
    b: int | None
    block: int


@dataclass
class Trace:
    """A traced layer: ``gates`` of the drive, and nodes of the states before and after a step.

    A node ``num`` or ``vec`` has an invariant's number, a ``vec`` also the block; a product has an index into
    ``matrices``.
    """

    invariants: Invariants
    members: int
    gates: list[Gate] = field(default_factory=list)
    matrices: list[Matrix] = field(default_factory=list)
    before: list[Node] = field(default_factory=list)
    after: list[Node] = field(default_factory=list)

    def check_same(self, other: Trace) -> None:
        """Check that a trace with other batch and sequence lengths gives the same loop.

        Raises:
            Unsupported: It does not.
        """
        for (call, _), (theirs, _) in zip(self._calls(), other._calls(), strict=False):
            if _form(self.invariants, call) != _form(other.invariants, theirs):
                raise call.refused(", which depends on the length of a batch or of its sequences,")
        if self._form() != other._form():
            raise Unsupported("the length of a batch or of its sequences as a number")

    def _calls(self) -> tuple[tuple[Recorded, int], ...]:
        """Return the calls needed for the invariants that a loop uses."""
        nodes = ordered((*self.before, *self.after))
        used = [g.V for g in self.gates] + [g.b for g in self.gates if g.b is not None]
        used += [m.number for m in self.matrices if m.number is not None]
        return self.invariants.replay(used + [n.attr[0] for n in nodes if n.op in ("num", "vec")]).calls

    def _form(self) -> tuple[Any, ...]:
        numbers = {n: k for k, n in enumerate(ordered((*self.before, *self.after)))}
        nodes = [(n.op, n.attr, n.kind, [numbers[a] for a in n.args]) for n in numbers]
        states = [numbers[n] for n in (*self.before, *self.after)]
        return self.gates, self.matrices, nodes, states, len(self._calls())


def trace(of: Recurrent, weights: Any, primes: Sequence[int] = LARGE) -> Trace:
    """Trace a layer on tensors of the shapes of ``weights``, with batch and length from ``primes``.

    Raises:
        Unsupported: It uses an operation that the compiler does not support; the message names it and its line.
    """
    with torch.inference_mode(False), torch.enable_grad():
        invariants = Invariants(on_meta(weights))
        with ShapesOnly(()):
            w, calls = record(lambda: of.weights(invariants.weights))
        for call in calls:
            invariants.add(call)
        drive_weights, _ = leaves(w)
        if not drive_weights:
            raise Unsupported("a layer without weights")
        sizes = {n for t in (*drive_weights, *invariants.roots) for n in t.shape} | {of.hidden, of.inputs}
        batch, steps, *_ = (n for n in primes if all(size % n or not size for size in sizes))
        return _Tracing(of, w, invariants, drive_weights[0], batch, steps).trace


def _form(invariants: Invariants, call: Recorded) -> tuple[Any, ...]:
    """Return an invariant's call with tensors by number; constant tensors made by the layer, by value."""

    def named(value: Any) -> Any:
        if isinstance(value, Tensor):
            fresh = call.name == "lift_fresh"
            return (value.dtype, repr(value.tolist())) if fresh else ("invariant", invariants.numbers[id(value)])
        if isinstance(value, (list, tuple)):
            return [*map(named, value)]
        return repr(value) if isinstance(value, float) else value  # NaN is not NaN

    return call.op, named(call.args), named(sorted(call.kwargs.items()))


class _Tracing:
    """Implementation of ``trace``: first the drive, which must be affine, then the step."""

    def __init__(self, of: Recurrent, w: Any, invariants: Invariants, like: Tensor, batch: int, steps: int) -> None:
        self.d, self.trace = of.hidden, Trace(invariants, len(like))
        x = unnumbered((len(like), steps, batch, of.inputs), like.dtype)
        with ShapesOnly((batch, steps)):
            parts, calls = record(lambda: of.drive(x, w))
        self._drives(x, parts, calls)
        rows, u = Rows(self.trace.invariants, like, batch, self.d), list[Tensor]()
        for part in parts:
            u.append(rows.source("drive", part.shape[-1] // self.d, sum(t.shape[-1] for t in u) // self.d))
        states, late = tuple(rows.source("state", 1, k) for k in range(of.states)), rows.source("late", 1)
        with ShapesOnly((batch, steps)):
            after, calls = record(lambda: of.step(tuple(u), states, late, w))
        for call in calls:
            rows.lower(call)
        self.trace.matrices, self.trace.before = rows.matrices, [rows.values[id(s)][0] for s in states]
        self.trace.after = [n for s in after for n in rows.state(s, calls)]
        if len(self.trace.after) != of.states:
            raise Unsupported(f"a step that does not return its {of.states} states")

    def _drives(self, x: Tensor, parts: Sequence[Tensor], calls: list[Recorded]) -> None:
        """Find V and b of each gate."""
        views, affine = {id(x)}, dict[int, tuple[Tensor, Tensor | None]]()
        for call in calls:
            self.trace.invariants.recorded.append(call)
            ids = [id(t) for t in call.tensors]
            if not any(i in views or i in affine for i in ids):
                self.trace.invariants.add(call)
                continue
            (out,), name = call.results[:1] or (x,), call.name
            if name == "detach" or not call.differentiated:
                raise call.refused(" in the drive, where no gradient may be stopped,")
            if name in SAME and ids[0] in views:
                views.add(id(out))
            elif name in SAME and ids[0] in affine:
                affine[id(out)] = affine[ids[0]]
            elif name in ("bmm", "baddbmm") and self._is_affine(call, views):
                affine[id(out)] = (self._once(call.args[-1], x), call.args[0] if name == "baddbmm" else None)
            else:
                raise call.refused(" in the drive, which must be V x + b,")
        for part in parts:
            if id(part) not in affine or part.shape != (*x.shape[:3], part.shape[-1]) or part.shape[-1] % self.d:
                raise Unsupported("a drive that is not V x + b of d units, or of several times d")
            V, b = affine[id(part)]
            number = self.trace.invariants.numbers
            bias = None if b is None else number[id(b)]
            self.trace.gates += [Gate(number[id(V)], bias, k) for k in range(part.shape[-1] // self.d)]

    def _is_affine(self, call: Recorded, views: set[int]) -> bool:
        """Return whether a product is V x, or V x + b, with V and b that depend only on the weights."""
        *added, left, right = call.args
        return not call.kwargs and id(left) in views and all(t in self.trace.invariants for t in (*added, right))

    def _once(self, weight: Tensor, x: Tensor) -> Tensor:
        """Return the weight (M, p, k d) that a product repeats for each step of x; unchanged if it does not."""
        made = {id(t): call for call in self.trace.invariants.recorded for t in call.results}
        (members, steps), last, base = x.shape[:2], weight.shape[-2:], weight
        while base.shape != (members, *last):
            call = made.get(id(base))
            if call is None or call.name not in (*SAME, "unsqueeze"):
                return weight
            base = call.args[0]
            if base.shape not in {(members, n, *last) for n in (1, steps)} | {(members, *last)}:
                return weight
        return base
