"""The calls of a step, lowered: every tensor that depends on state or drive is a list of rows, d units each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from longwave.models.kernels.compiler.invariants import Invariants
from longwave.models.kernels.compiler.lowering import COMPARED, EXTRA, FORMULAS, SAME
from longwave.models.kernels.compiler.nodes import Graph, Node
from longwave.models.kernels.compiler.recorder import Recorded, Unsupported, unnumbered

LAST = (-1, 2)


@dataclass(frozen=True)
class Matrix:
    """The d × d block (row, column) of an invariant Wᵀ that multiplies rows; None means 1/d in every entry."""

    number: int | None
    row: int = 0
    column: int = 0


class Rows:
    """Lowers calls on tensors (M, B, k d), which are k concatenated rows of d units.

    Args:
        invariants: Values that depend only on the weights; calls on nothing else are added there.
        like: A weight, for the number of members and the dtype.
        batch, d: B, d.

    Attributes:
        matrices: The blocks of matrices that multiply rows, as numbered in products.
    """

    def __init__(self, invariants: Invariants, like: Tensor, batch: int, d: int) -> None:
        self.invariants, self.members, self.batch, self.d, self._like = invariants, len(like), batch, d, like
        self.g = Graph()
        self.matrices: list[Matrix] = []
        self.values: dict[int, list[Node]] = {}
        self._sources: list[Tensor] = []  # kept alive, so that their ids stay unique

    def source(self, op: str, count: int, first: int = 0) -> Tensor:
        """Return a tensor of ``count`` new sources of the kind ``op``, numbered from ``first`` on."""
        t = unnumbered((self.members, self.batch, count * self.d), self._like.dtype)
        self._sources.append(t)
        self.values[id(t)] = [self.g.node(op, attr=(first + j,), kind="row") for j in range(count)]
        return t

    def lower(self, call: Recorded) -> None:
        """Add a call.

        Raises:
            Unsupported: The intermediate form has no such operation.
        """
        if not any(id(t) in self.values for t in call.tensors):
            self.invariants.add(call)
            return
        if any(t.dtype not in (self._like.dtype, torch.bool) for t in call.results):
            raise call.refused(f" of {str(call.results[0].dtype).removeprefix('torch.')}")
        try:
            results = self._results(call)
        except NotImplementedError as error:
            raise call.refused(str(error)) from None
        except TypeError:  # the formula has no such argument
            raise call.refused() from None
        stopped = call.name == "detach" or not call.differentiated
        for t, nodes in zip(call.results, results, strict=True):
            width = max(t.shape[-1] // self.d, 1) if t.ndim else 0
            if t.shape[:-1] != (self.members, self.batch) or len(nodes) not in (1, width):
                raise call.refused(f" of shape {tuple(t.shape)}")
            self.values[id(t)] = [self.g("stop", n) for n in nodes] if stopped else nodes

    def _results(self, call: Recorded) -> list[list[Node]]:
        """Return the rows of each result of a call on rows."""
        if call.name in OF_ROWS:
            return OF_ROWS[call.name](self, call)
        formula = FORMULAS.get(call.name)
        truths = all(t.dtype == torch.bool for t in call.results)
        if formula is None or len(call.results) != 1 or truths != (call.name in COMPARED):
            raise NotImplementedError
        args = [self._operand(v, call) for v in call.args]
        kwargs = {k: self._operand(v, call) for k, v in call.kwargs.items() if k not in EXTRA}
        return [self._wide(formula, args, kwargs)]

    def _same(self, call: Recorded) -> list[list[Node]]:
        return [self._row(call.args[0], call)]

    def _copied(self, call: Recorded) -> list[list[Node]]:
        """Return the same rows in the layer's dtype; booleans are already 0 and 1."""
        if call.results[0].dtype != self._like.dtype:
            raise NotImplementedError
        return self._same(call)

    def _multiplied(self, call: Recorded) -> list[list[Node]]:
        """Return a row times a matrix, plus the term of ``baddbmm``."""
        *added, row, weight = call.args
        if call.kwargs or not isinstance(weight, Tensor):
            raise NotImplementedError
        product = self._product(self._row(row, call), weight, call)
        return [self._wide(FORMULAS["add"], [self._row(added[0], call), product]) if added else product]

    def _joined(self, call: Recorded) -> list[list[Node]]:
        tensors, axis = (*call.args, 0)[:2]
        if axis not in LAST:
            raise NotImplementedError
        return [[n for t in tensors for n in self._row(t, call, whole=True)]]

    def _reduced(self, call: Recorded) -> list[list[Node]]:
        """Return the mean or the sum over the units, at every unit: a product with a constant matrix."""
        row, axes = (*call.args, None)[:2]
        if axes not in ([-1], [2]):
            raise NotImplementedError
        return [self._over_units(self._row(row, call, whole=True), call.name == "mean")]

    def _cuts(self, call: Recorded) -> list[list[Node]]:
        """Return the pieces of a row of several times d: splits and slices at multiples of d."""
        axis, first = (*call.args[1:], 0, 0)[:2] if call.name == "slice" else ((*call.args[2:], 0)[0], 0)
        pieces, sizes = self._row(call.args[0], call, whole=True), [t.shape[-1] for t in call.results]
        at = (first or 0) // self.d
        if axis not in LAST or any(n % self.d for n in (first or 0, *sizes)) or len(call.args) > 4:
            raise NotImplementedError
        cuts = list[list[Node]]()
        for n in sizes:
            cuts.append(pieces[at:][: n // self.d])
            at += n // self.d
        return cuts

    def _over_units(self, row: list[Node], mean: bool) -> list[Node]:
        products = [self._mm(Matrix(None), n) for n in row]
        total = products[0]
        for n in products[1:]:
            total = total + n
        return [total * (1.0 / len(row)) if mean else total * float(self.d)]

    def _normalised(self, call: Recorded) -> list[list[Node]]:
        """Return a row normalised to mean 0 and variance 1, times weight, plus bias; the mean; 1/√(variance + ε)."""
        (x, shape, weight, bias, epsilon), d = call.args, self.d
        row = self._row(x, call, whole=True)
        if list(shape) != [len(row) * d]:
            raise NotImplementedError
        (mean,) = self._over_units(row, True)
        centred = [n - mean for n in row]
        (variance,) = self._over_units([n * n for n in centred], True)
        scale = 1.0 / self.g("sqrt", variance + epsilon)
        scaled = [n * scale for n in centred]
        scaled = scaled if weight is None else self._wide(FORMULAS["mul"], [scaled, self._row(weight, call)])
        scaled = scaled if bias is None else self._wide(FORMULAS["add"], [scaled, self._row(bias, call)])
        return [scaled, [mean], [scale]]

    def _product(self, row: list[Node], weight: Tensor, call: Recorded) -> list[Node]:
        """Return the blocks of x Wᵀ; the traced matrix is Wᵀ."""
        d, (height, width) = self.d, weight.shape[-2:]
        if weight not in self.invariants or height != len(row) * d or width % d:
            raise call.refused(f" with a matrix of shape {tuple(weight.shape)}")
        totals, number = [], self.invariants.numbers[id(weight)]
        for j in range(width // d):
            parts = [self._mm(Matrix(number, i, j), n) for i, n in enumerate(row)]
            total = parts[0]
            for n in parts[1:]:
                total = total + n
            totals.append(total)
        return totals

    def _mm(self, matrix: Matrix, row: Node) -> Node:
        if matrix not in self.matrices:
            self.matrices.append(matrix)
        return self.g.node("mm", row, attr=(self.matrices.index(matrix),), kind="row")

    def _operand(self, value: Any, call: Recorded) -> Any:
        if isinstance(value, Tensor):
            return self._row(value, call)
        return [self.g.const(value)] if isinstance(value, (int, float)) else value

    def _wide(self, formula: Callable[..., Node], args: list[Any], kwargs: dict[str, Any] | None = None) -> list[Node]:
        """Return a formula applied to the pieces of rows, piece by piece; a single piece is broadcast."""
        lists = [v for v in (*args, *(kwargs or {}).values()) if isinstance(v, list)]
        count = max(len(v) for v in lists)
        if any(len(v) not in (1, count) for v in lists):
            raise NotImplementedError

        def piece(v: Any, j: int) -> Any:
            return v[j if len(v) > 1 else 0] if isinstance(v, list) else v

        return [
            formula(*(piece(v, j) for v in args), **{k: piece(v, j) for k, v in (kwargs or {}).items()})
            for j in range(count)
        ]

    def _row(self, t: Tensor, call: Recorded, whole: bool = False) -> list[Node]:
        """Return the pieces of a tensor combined with rows; if ``whole``, with as many pieces as it is wide."""
        if id(t) in self.values:
            nodes = self.values[id(t)]
            if whole and len(nodes) * self.d != t.shape[-1]:
                raise NotImplementedError
            return nodes
        if t not in self.invariants:
            self.invariants.add(call)  # raises the specific error
        last = t.shape[-1] if t.ndim else 1
        if t.numel() not in (last, self.members * last) or (last != 1 and last % self.d) or t.ndim not in (0, 1, 3):
            raise call.refused(f" of rows (M, B, {self.d}) and a weight of shape {tuple(t.shape)}")
        number = self.invariants.numbers[id(t)]
        if last == 1:
            return [self.g.node("num", attr=(number,), kind="num")]
        return [self.g.node("vec", attr=(number, j), kind="vec") for j in range(last // self.d)]

    def state(self, t: Tensor, calls: list[Recorded]) -> list[Node]:
        """Return the row of a new state."""
        if t.shape != (self.members, self.batch, self.d) or t.dtype != self._like.dtype:
            raise Unsupported(f"a state of shape {tuple(t.shape)} and {str(t.dtype).removeprefix('torch.')}")
        if id(t) in self.values:
            return self.values[id(t)]
        if calls and t in self.invariants:
            return self._row(t, calls[-1])
        raise Unsupported("a state that is neither computed from states and drive nor a weight")


OF_ROWS: Mapping[str, Callable[[Rows, Recorded], list[list[Node]]]] = {
    **dict.fromkeys(SAME, Rows._same),
    **dict.fromkeys(("bmm", "baddbmm"), Rows._multiplied),
    **dict.fromkeys(("split", "split_with_sizes", "slice"), Rows._cuts),
    **dict.fromkeys(("mean", "sum"), Rows._reduced),
    "_to_copy": Rows._copied,
    "cat": Rows._joined,
    "native_layer_norm": Rows._normalised,
}
"""Handlers of operations that are not elementwise."""
