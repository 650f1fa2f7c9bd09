"""From a step on matrix states to nodes: it runs once, on tensors whose sizes identify their axes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import Tensor

from longwave.models.kernels.compiler.lowering import COMPARED, EXTRA, FORMULAS
from longwave.models.kernels.compiler.nodes import Graph, Node
from longwave.models.kernels.compiler.recorder import Recorded, Unsupported, record, unnumbered
from longwave.models.kernels.compiler.sizes import ShapesOnly
from longwave.models.kernels.matrix.form import Form

SIZES = {"m": 1013, "b": 1019, "h": 1021, "i": 1031, "j": 1033}
"""Sizes of members, sequences, heads, rows and columns while a step is traced: primes."""
LEAD = "mbh"
"""Axes of all states; their entries are independent."""
Dims = tuple[str, ...]
"""The axes of each dimension of a tensor, ``""`` for length 1, ``"mb"`` for two axes merged."""
MatrixStep = Callable[[tuple[Tensor, ...], tuple[Tensor, ...], tuple[Tensor, ...]], tuple[Tensor, Sequence[Tensor]]]


class MatrixGraph(Graph):
    """Nodes whose kind is the subset of ``"ij"`` in their axes."""

    number = ""

    def widest(self, args: Sequence[Node]) -> str:
        """Return the union of the axes of ``args``."""
        return axes_of(a.kind for a in args)


def axes_of(kinds: Iterable[str]) -> str:
    """Return the union of axes, in order."""
    return "".join(sorted(set("".join(kinds))))


@dataclass(frozen=True)
class Traced:
    """A traced step: nodes of the states before it, of those after it, and of its output."""

    before: tuple[Node, ...]
    after: tuple[Node, ...]
    output: Node


def trace(step: MatrixStep, form: Form) -> Traced:
    """Return the trace of ``step`` on a form's states, drives and constants, for any sizes.

    Raises:
        Unsupported: It uses an operation that a loop over matrices cannot; the message names it and its line.
    """
    steps = _Steps()
    u = tuple(steps.source("drive", k, axes) for k, axes in enumerate(form.drives.values()))
    states = tuple(steps.source("state", k, axes) for k, axes in enumerate(form.states.values()))
    fixed = tuple(steps.source("constant", k, axes) for k, axes in enumerate(form.constants.values()))
    with ShapesOnly(tuple(SIZES.values())):
        try:
            (output, after), calls = record(lambda: step(u, states, fixed))
        except Unsupported as error:
            if isinstance(error.__cause__, RuntimeError):  # torch reported a size mismatch
                raise Unsupported(
                    f"{error}, which combines rows with columns or with another number of rows,"
                ) from error.__cause__
            raise
    for call in calls:
        steps.lower(call)
    if len(after) != len(states):
        raise Unsupported(f"a step that returns {len(after)} states instead of {len(states)}")
    return Traced(
        tuple(steps.values[id(s)].node for s in states),
        tuple(steps.result(t, axes) for t, axes in zip(after, form.states.values(), strict=True)),
        steps.result(output, "j"),
    )


@dataclass(frozen=True)
class _Value:
    """A tensor of the step: its node, and the axes of its dimensions; a node may lack axes along which it is equal."""

    node: Node
    dims: Dims


class _Steps:
    def __init__(self) -> None:
        self.g = MatrixGraph()
        self.values: dict[int, _Value] = {}
        self._sources: list[Tensor] = []

    def source(self, op: str, k: int, axes: str) -> Tensor:
        """Return a tensor for an input of a step."""
        dims = (*(("m", "", "h") if op == "constant" else LEAD), *axes)
        t = unnumbered([SIZES.get(axis, 1) for axis in dims], torch.float32)
        self._sources.append(t)
        self.values[id(t)] = _Value(self.g.node(op, attr=(k,), kind=axes), dims)
        return t

    def result(self, t: Tensor, axes: str) -> Node:
        """Return the node of a result of the step, with these axes."""
        value = self.values.get(id(t))
        if value is None:
            raise Unsupported("a state or an output that depends on neither states, drives nor constants")
        if value.dims != (*LEAD, *axes):
            named = ", ".join(value.dims)
            raise Unsupported(f"a state or an output of axes ({named}) in place of ({', '.join((*LEAD, *axes))})")
        return value.node

    def lower(self, call: Recorded) -> None:
        """Add a call.

        Raises:
            Unsupported: A loop over matrices has no such operation.
        """
        (t,) = call.results if len(call.results) == 1 else (None,)
        if t is None:
            raise call.refused(" of several results")
        try:
            value = self._result(call, t)
        except (NotImplementedError, TypeError) as error:
            raise call.refused(str(error) if isinstance(error, NotImplementedError) else "") from None
        if tuple(map(_size, value.dims)) != tuple(t.shape):
            raise call.refused(f" of shape {tuple(t.shape)}")
        stopped = call.name == "detach" or not call.differentiated
        self.values[id(t)] = _Value(self.g("stop", value.node), value.dims) if stopped else value

    def _result(self, call: Recorded, t: Tensor) -> _Value:
        if call.name in MOVES:
            return MOVES[call.name](self, call, t)
        formula = FORMULAS.get(call.name)
        if formula is None or (t.dtype == torch.bool) != (call.name in COMPARED):
            raise NotImplementedError
        args = [self._operand(v) for v in call.args]
        kwargs = {k: self._operand(v) for k, v in call.kwargs.items() if k not in EXTRA}
        dims = _broadcast([v.dims for v in (*args, *kwargs.values()) if isinstance(v, _Value)])
        nodes = [v.node if isinstance(v, _Value) else v for v in args]
        node = formula(*nodes, **{k: v.node if isinstance(v, _Value) else v for k, v in kwargs.items()})
        return _Value(node if isinstance(node, Node) else self.g.const(node), dims)

    def _operand(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return self._of(value)
        return _Value(self.g.const(value), ()) if isinstance(value, (int, float)) else value

    def _of(self, t: Tensor) -> _Value:
        if id(t) not in self.values:
            raise NotImplementedError(" of a tensor that is neither a state, a drive nor a constant")
        return self.values[id(t)]

    def _same(self, call: Recorded, t: Tensor) -> _Value:
        """Return a view in the same memory order, or a copy: dimensions are merged or split."""
        value = self._of(call.args[0])
        return _Value(value.node, _regrouped("".join(value.dims), t.shape))

    def _expanded(self, call: Recorded, t: Tensor) -> _Value:
        value, axes = self._of(call.args[0]), {n: axis for axis, n in SIZES.items()}
        dims = ("",) * (t.ndim - len(value.dims)) + value.dims
        return _Value(value.node, tuple(d or axes.get(int(n), "") for d, n in zip(dims, t.shape, strict=True)))

    def _turned(self, call: Recorded, t: Tensor) -> _Value:
        value, dims = self._of(call.args[0]), [*self._of(call.args[0]).dims]
        if call.name == "permute":
            return _Value(value.node, tuple(dims[k] for k in call.args[1]))
        first, second = call.args[1:] if call.name == "transpose" else (0, 1)
        dims[first], dims[second] = dims[second], dims[first]
        return _Value(value.node, tuple(dims))

    def _added(self, call: Recorded, t: Tensor) -> _Value:
        value, axis = self._of(call.args[0]), call.args[1]
        dims = [*value.dims]
        dims.insert(axis % (len(dims) + 1), "")
        return _Value(value.node, tuple(dims))

    def _dropped(self, call: Recorded, t: Tensor) -> _Value:
        if len(call.args) < 2:
            raise NotImplementedError(" without an axis")
        value, axis = self._of(call.args[0]), call.args[1]
        dims = [*value.dims]
        if dims.pop(axis):
            raise NotImplementedError(" of one entry among several")
        return _Value(value.node, tuple(dims))

    def _sliced(self, call: Recorded, t: Tensor) -> _Value:
        value = self._of(call.args[0])
        if t.shape != call.args[0].shape:
            raise NotImplementedError(" of a part of the entries")
        return value

    def _summed(self, call: Recorded, t: Tensor) -> _Value:
        value = self._of(call.args[0])
        keep = bool((*call.args, False, False)[2])
        if len(call.args) < 2 or not call.args[1]:
            raise NotImplementedError(" over all axes")
        dims, node = [*value.dims], value.node
        for k in sorted((axis % len(dims) for axis in call.args[1]), reverse=True):
            node = self._sum(node, dims[k])
            dims[k : k + 1] = [""] if keep else []
        return _Value(node, tuple(dims))

    def _product(self, call: Recorded, t: Tensor) -> _Value:
        left, right = (self._of(a) for a in call.args)
        (first, row, inner), (second, other, column) = left.dims, right.dims
        if inner != other:
            raise NotImplementedError(f" over {inner or 'one entry'} and {other or 'one entry'}")
        return _Value(self._sum(left.node * right.node, inner), (_broadcast([(first,), (second,)])[0], row, column))

    def _sum(self, node: Node, axes: str) -> Node:
        if axes == "":
            return node
        if axes != "i":
            raise NotImplementedError(f" over {' and '.join(AXES[a] for a in axes)}, where a loop sums only over rows")
        if "i" not in node.kind:
            return node * self.g.node("rows", kind="")
        return self.g.node("sum_i", node, kind=node.kind.replace("i", ""))


AXES = {"m": "members", "b": "sequences", "h": "heads", "i": "rows", "j": "columns"}


def _size(dim: str) -> int:
    return prod(SIZES[axis] for axis in dim)


def _broadcast(all_dims: Sequence[Dims]) -> Dims:
    """Return the axes of an operation on tensors with these axes, aligned at their last dimension."""
    length = max(map(len, all_dims), default=0)
    out = list[str]()
    for k in range(-length, 0):
        here = {dims[k] for dims in all_dims if len(dims) >= -k} - {""}
        if len(here) > 1:
            raise NotImplementedError(f" of {' and '.join(sorted(here))} side by side")
        out.append(here.pop() if here else "")
    return tuple(out)


def _regrouped(axes: str, shape: Sequence[int]) -> Dims:
    """Return the axes of the dimensions of a view of a tensor with the axes ``axes``, in order."""
    out = list[str]()
    for s in shape:
        size, dim = int(s), ""
        while size != 1:
            if not axes or size % SIZES[axes[0]]:
                raise NotImplementedError(f" to the shape {tuple(shape)}")
            size, dim, axes = size // SIZES[axes[0]], dim + axes[0], axes[1:]
        out.append(dim)
    if axes:
        raise NotImplementedError(f" to the shape {tuple(shape)}")
    return tuple(out)


MOVES: Mapping[str, Callable[[_Steps, Recorded, Tensor], _Value]] = {
    **dict.fromkeys(("detach", "clone", "alias", "view", "_unsafe_view", "reshape"), _Steps._same),
    **dict.fromkeys(("transpose", "permute", "t"), _Steps._turned),
    **dict.fromkeys(("select", "squeeze"), _Steps._dropped),
    "expand": _Steps._expanded,
    "unsqueeze": _Steps._added,
    "slice": _Steps._sliced,
    "sum": _Steps._summed,
    "bmm": _Steps._product,
}
"""Handlers of operations that are not elementwise."""
