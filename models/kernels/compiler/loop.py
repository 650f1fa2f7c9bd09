"""A layer's step, compiled: its plan, and how weights become the loop's operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from torch import Tensor

from longwave.models.kernels.compiler.copies import Copies, Piece
from longwave.models.kernels.compiler.invariants import Invariants
from longwave.models.kernels.compiler.listing import digest
from longwave.models.kernels.compiler.nodes import ordered
from longwave.models.kernels.compiler.plan import Plan, plan
from longwave.models.kernels.compiler.recorder import Unsupported
from longwave.models.kernels.compiler.rows import Matrix
from longwave.models.kernels.compiler.trace import SMALL, Recurrent, trace


@dataclass(frozen=True)
class Operands:
    """The operands of a layer's fused loop, in the order of the cell.

    Attributes:
        V, b: Weights (M, d, p) and bias (M, 1, d) of the drive, one per gate, or several gates in one tensor.
        W: Recurrent matrices, (M, d, d) each, or several in one tensor.
        P: Scalars, (M, 1, 1) each.
        U: Vectors, (M, 1, d) each.
        lags: Delay of each member in steps, if the cell has one.
    """

    V: Sequence[Tensor]
    b: Sequence[Tensor]
    W: Sequence[Tensor] = ()
    P: Sequence[Tensor] = ()
    U: Sequence[Tensor] = ()
    lags: Sequence[int] = ()


class Loop:
    """A layer's compiled loop for weights of certain shapes.

    ``plan`` stores values that are expensive to compute; ``lean`` stores only sums, for a GPU, where memory traffic
    costs more.

    Args:
        of: The layer's drive and step.
        weights: The layer's tensors in mappings and dataclasses, of these shapes.

    Raises:
        Unsupported: The layer does something that the compiler does not support.
    """

    def __init__(self, of: Recurrent, weights: Any) -> None:
        traced = trace(of, weights)
        traced.check_same(trace(of, weights, SMALL))
        self.d, self.inputs = of.hidden, of.inputs
        if not any(n.op == "drive" for n in ordered(traced.after)):
            raise Unsupported("no part of the drive")
        if of.outputs > of.states:
            raise Unsupported(f"{of.outputs} states as outputs, of which it has {of.states}")
        self.plan: Plan = plan(traced.before, traced.after, outputs=of.outputs)
        if of.outputs > 1 and self.plan.delayed:
            raise Unsupported(f"delayed outputs of {of.outputs} states")
        self.name = digest(self.plan)
        # Always made, and second, so that its nodes have the same numbers in every process.
        self.lean: Plan = plan(traced.before, traced.after, lean=True, outputs=of.outputs)
        self.lean_name = digest(self.lean)
        origin = traced.invariants.origin
        gates = [None if n.attr[0] is None else traced.gates[n.attr[0]] for n in self.plan.gates]
        self._V = _joined([Piece(None, False, 0) if g is None else Piece(*origin(g.V, True), g.block) for g in gates])
        self._b = _joined(
            [Piece(None, False, 0) if g is None or g.b is None else Piece(g.b, True, g.block) for g in gates]
        )
        self._W = _joined([_matrix(traced.matrices[m], traced.invariants) for m in self.plan.matrices])
        self._P = [n.attr[0] for n in self.plan.nums]
        self._U = _joined([Piece(n.attr[0], True, n.attr[1]) for n in self.plan.vecs])
        self.M, self.roots = traced.members, len(traced.invariants.roots)
        pieces = (*self._V, *self._b, *self._W, *self._U)
        self._replay = traced.invariants.replay([*(p.number for p in pieces if p.number is not None), *self._P])
        self._invariants = traced.invariants

    def operands(self, weights: Sequence[Tensor], lags: Sequence[int] = ()) -> Operands:
        """Return the loop's operands, in the autograd graph, from the layer's tensors in the order of ``leaves``."""
        values, d, M = self._replay(dict(enumerate(weights))), self.d, self.M
        like = next((values[p.number] for p in self._V if p.number is not None), weights[0])

        def matrix(piece: Piece, width: int) -> Tensor:
            """(M, count d, width)."""
            if piece.number is None:
                return like.new_zeros(M, piece.count * d, width)
            t = values[piece.number]
            t = _cut(t.mT if piece.flipped else t, 1, piece.first * d, piece.count * d)
            return _cut(t, 2, piece.column * width, width)

        def vector(piece: Piece) -> Tensor:
            """(M, 1, count d), from a tensor with members and units, or with one number for all of them."""
            if piece.number is None:
                return like.new_zeros(M, 1, piece.count * d)
            t = values[piece.number].to(like.dtype)
            t = t if t.ndim == 3 else t.reshape(1, 1, -1)
            t = t if t.shape[2] == 1 else _cut(t, 2, piece.first * d, piece.count * d)
            return t if t.shape == (M, 1, piece.count * d) else t.expand(M, 1, piece.count * d)

        return Operands(
            V=[matrix(piece, self.inputs) for piece in self._V],
            b=[vector(piece) for piece in self._b],
            W=[like.new_full((M, d, d), 1 / d) if p.number is None else matrix(p, d) for p in self._W],
            P=[values[k].expand(M, 1, 1).to(like.dtype) for k in self._P],
            U=[vector(piece) for piece in self._U],
            lags=lags,
        )

    @cached_property
    def copies(self) -> Copies:
        """The mapping from entries of the weights to entries of the operands."""
        parts = {"V": self._V, "b": self._b, "W": self._W, "P": [Piece(k, True, 0) for k in self._P], "U": self._U}
        return Copies(self._invariants, self.M, self.d, self.inputs, parts)


def _cut(t: Tensor, axis: int, first: int, count: int) -> Tensor:
    return t if t.shape[axis] == count else t.narrow(axis, first, count)


def _matrix(m: Matrix, invariants: Invariants) -> Piece:
    """Return the block of W; the trace multiplies by Wᵀ, whose block (row, column) is W's (column, row)."""
    if m.number is None:
        return Piece(None, False, 0)
    number, flipped = invariants.origin(m.number, True)
    return Piece(number, flipped, m.column, m.row)


def _joined(pieces: list[Piece]) -> list[Piece]:
    """Return the pieces with neighbours of one tensor merged."""
    joined: list[Piece] = []
    for p in pieces:
        last = joined[-1] if joined else None
        joins = (
            last
            and p.number is not None
            and (last.number, last.flipped, last.column) == (p.number, p.flipped, p.column)
        )
        if last and joins and last.first + last.count == p.first:
            joined[-1] = Piece(p.number, p.flipped, last.first, p.column, last.count + 1)
        else:
            joined.append(p)
    return joined
