"""How weights become operands by copies and sums alone: which entries go where."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from longwave.models.kernels.compiler.invariants import Invariants
from longwave.models.kernels.compiler.sources import Term, copied


@dataclass(frozen=True)
class Piece:
    """``count`` blocks of d rows of a tensor, or of its transpose, from ``first`` on; for W of one block of columns."""

    number: int | None
    flipped: bool
    first: int
    column: int = 0
    count: int = 1


@dataclass(frozen=True)
class CopiedBlock:
    """Rows and columns of one source, times ``factor``, to add to the block ``block`` of an operand.

    Attributes:
        operand: ``"V"``, ``"b"``, ``"W"``, ``"P"`` or ``"U"``.
        block: Index of d rows of V or W, of d entries of b or U, or of an entry of P.
        source: Index in ``Copies.sources``.
        at, row, column: Offset of a member's entries, and strides of its rows and columns.
        shared: Whether all members share it.
        rows, columns: How many; vectors and scalars have one row.
    """

    operand: str
    block: int
    source: int
    factor: float
    at: int
    row: int
    column: int
    shared: bool
    rows: int
    columns: int


class Copies:
    """All blocks of a loop's operands.

    Args:
        invariants: Those of which the operands consist.
        members, d, inputs: M, d, p.
        pieces: By operand, in order.

    Attributes:
        needed: Numbers of the weights that the operands depend on.
        sources: Shapes (M, ...) of the sources of blocks: weights, then ``computed``, then the number 1.
        direct, wide: Numbers of the weights among them, and whether these are in float64.
        computed: Numbers of the invariants that torch has to compute.
        blocks: The blocks.
    """

    def __init__(
        self, invariants: Invariants, members: int, d: int, inputs: int, pieces: Mapping[str, Sequence[Piece]]
    ) -> None:
        self.M, self.d, self.inputs = members, d, inputs
        self._invariants, self._terms_of = invariants, copied(invariants)
        self._shapes: dict[int, tuple[int, ...]] = {k: tuple(t.shape) for k, t in enumerate(invariants.roots)}
        for call, first in invariants.calls:
            self._shapes.update({first + k: tuple(t.shape) for k, t in enumerate(call.results)})
        numbers = dict.fromkeys(p.number for part in pieces.values() for p in part if p.number is not None)
        terms = {n: self._terms(n) for n in numbers}
        self.direct = tuple(dict.fromkeys(t.number for of_number in terms.values() for t in of_number or ()))
        self.computed = tuple(n for n in numbers if terms[n] is None)
        self.replay = invariants.replay(self.computed)
        self.needed = tuple(sorted({*self.direct, *self.replay.needed}))
        self._index_of = {n: k for k, n in enumerate((*self.direct, *self.computed))}
        self.wide = tuple(invariants.roots[n].dtype == torch.float64 for n in self.direct)
        self.sources = [self._shapes[n] for n in self.direct] + [_three(self._shapes[n]) for n in self.computed]
        self.sources.append(())
        terms_or_self = {n: (self._self_term(n),) if of_number is None else of_number for n, of_number in terms.items()}
        self.blocks = [
            b
            for operand, part in pieces.items()
            for at, p in _placed(part)
            for b in self._blocks(operand, at, p, terms_or_self)
        ]

    def made(self, weights: Mapping[int, Tensor]) -> list[Tensor]:
        """Return the invariants that torch has to compute, from the weights by number."""
        if not self.computed:
            return []
        values = self.replay(weights)
        return [values[n].to(torch.float32).reshape(_three(values[n].shape)).contiguous() for n in self.computed]

    def _terms(self, number: int) -> tuple[Term, ...] | None:
        """Return the terms of a tensor with three axes, of weights that have its members; None if torch computes it."""
        terms, shape = self._terms_of.get(number), self._shapes[number]
        if terms is None or len(shape) != 3:
            return None
        for t in terms:
            whole = self._shapes[t.number]
            if self.M > 1 and t.strides[0] and (whole[0] != self.M or t.strides[0] != math.prod(whole[1:])):
                return None
        return terms

    def _self_term(self, number: int) -> Term:
        members, rows, columns = _three(self._shapes[number])
        return Term(number, 1.0, 0, (rows * columns if members == self.M else 0, columns, 1))

    def _blocks(self, operand: str, block: int, p: Piece, terms: Mapping[int, tuple[Term, ...]]) -> list[CopiedBlock]:
        d, rows, columns = self.d, self.d, self.inputs if operand == "V" else self.d
        if p.number is None:
            one = len(self.sources) - 1
            return [CopiedBlock(operand, block, one, 1 / d, 0, 0, 0, True, d, d)] if operand == "W" else []
        _, high, wide = _three(self._shapes[p.number])
        first, column = p.first * d, p.column * columns
        if operand in "bPU":
            rows, columns = 1, 1 if operand == "P" else d
            first, column = 0, first if wide > 1 else 0
        blocks = []
        for t in terms[p.number]:
            member, row, along = t.strides
            if operand in "VW" and p.flipped:
                row, along = along, row
            if operand in "bPU":
                row, along = 0, along if wide > 1 else 0
            at = t.at + first * row + column * along
            source, shared = self._index_of[t.number], not member
            blocks.append(CopiedBlock(operand, block, source, t.factor, at, row, along, shared, rows, columns))
        return blocks


def _three(shape: Sequence[int]) -> tuple[int, int, int]:
    """Return the shape with axes for members and rows; without a members axis it is shared by all."""
    return (shape[0], shape[1], shape[2]) if len(shape) == 3 else (1, 1, math.prod(shape))


def _placed(pieces: Sequence[Piece]) -> list[tuple[int, Piece]]:
    """Return each single block of the pieces with its index."""
    single = [
        Piece(p.number, p.flipped, p.first + k if p.number is not None else 0, p.column)
        for p in pieces
        for k in range(p.count)
    ]
    return list(enumerate(single))
