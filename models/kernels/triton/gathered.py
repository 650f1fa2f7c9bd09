"""A loop's operands on a GPU, gathered from the stored weights by index.

A few launches take the place of several per weight, which cost more than a small layer's loop of 1000 steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors

from longwave.models.kernels.cells import planned
from longwave.models.kernels.compiler.loop import Loop

MAX_ENTRIES = 2**22
"""Entries of operands above which indices take too much memory; assembling such operands takes little of the time."""
MAX_TERMS = 8
"""Most terms of an entry's sum: a few fixed sums per entry have the same order on every run."""


class FixedSums:
    """Sums of products of a factor and an entry: for each of ``count`` results its terms, padded to equal number.

    Args:
        results, entries, factors: Of each term, the result to which it belongs, the entry and the factor.
        count: Number of results.
        zero: Index of an entry that is 0.
        device: Where the indices are kept.
    """

    def __init__(
        self, results: NDArray[Any], entries: NDArray[Any], factors: NDArray[Any], count: int, zero: int, device: Any
    ) -> None:
        order = np.argsort(results, kind="stable")
        results, entries, factors = results[order], entries[order], factors[order]
        rank = np.arange(len(results)) - np.searchsorted(results, results)
        self.most = int(rank.max(initial=0)) + 1
        if self.most > MAX_TERMS:
            return
        indices = np.full((self.most, count), zero, np.int32)
        weights = np.ones((self.most, count), np.float32)
        indices[rank, results], weights[rank, results] = entries, factors
        self.indices = torch.from_numpy(indices).flatten().to(device)
        self.weights = None if (factors == 1).all() else torch.from_numpy(weights).to(device)

    def __call__(self, entries: Tensor) -> Tensor:
        """Return the results, (count,)."""
        terms = entries.index_select(0, self.indices).view(self.most, -1)
        terms = terms if self.weights is None else terms * self.weights
        return terms.sum(0) if self.most > 1 else terms[0]


class GatherTable:
    """The indices of a loop's operands in its sources, and back; unusable if they are too many.

    Sources are all entries of the weights that ``copies`` reads, one weight after the other, then 1 and 0.
    """

    def __init__(self, loop: Loop, device: torch.device) -> None:
        self.copies, cell = loop.copies, planned(loop.name, loop.plan)
        M, d, p = loop.M, loop.d, loop.inputs
        G, N, H, K = (len(part) for part in (cell.gates, cell.matrices, cell.scalars, cell.vectors))
        self.shapes = {"V": (M, G * d, p), "b": (M, G * d), "W": (M, N, d, d), "P": (M, H), "U": (M, K, d)}
        self.sizes = [prod(shape) for shape in self.shapes.values()]
        self.lengths = [prod(shape) for shape in self.copies.sources[:-1]]
        self.sources = [torch.empty(shape, device="meta") for shape in self.copies.sources[:-1]]
        self.ends = torch.tensor([1.0, 0.0], device=device)
        total, sources = sum(self.sizes), sum(self.lengths)
        self.usable = max(total, sources) <= MAX_ENTRIES
        if self.usable:
            operands, entries, factors = self._terms()
            self.forward = FixedSums(operands, entries, factors, total, sources + 1, device)
            of_weights = entries < sources
            self.backward = FixedSums(
                entries[of_weights], operands[of_weights], factors[of_weights], sources, total, device
            )
            self.usable = max(self.forward.most, self.backward.most) <= MAX_TERMS

    def _terms(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return, for all terms, the index among the operands, the index among the sources, and the factor."""
        starts = dict(zip(self.shapes, accumulate(self.sizes, initial=0), strict=False))
        offsets = [*accumulate(self.lengths, initial=0)]
        parts = []
        for b in self.copies.blocks:
            M, *axes = self.shapes[b.operand]
            columns = axes[-1] if b.operand in "VW" else 1
            width = 1 if b.operand == "P" else self.shapes["U"][-1] * columns
            member, row, column = np.ogrid[:M, : b.rows, : b.columns]
            own = 0 if b.shared else self.lengths[b.source] // M
            result = starts[b.operand] + member * prod(axes) + b.block * width + row * columns + column
            entry = offsets[b.source] + b.at + member * own + row * b.row + column * b.column
            shape = (M, b.rows, b.columns)
            parts.append([np.broadcast_to(array, shape).ravel() for array in (result, entry, np.float32(b.factor))])
        return tuple(np.concatenate(part) for part in zip(*parts, strict=True))  # type: ignore[return-value]


class Gathered(torch.autograd.Function):
    """The operands of a table from its sources."""

    @staticmethod
    def forward(ctx: Any, table: GatherTable, *sources: Tensor) -> tuple[Tensor, ...]:
        """Return V, b, W, P and U."""
        ctx.table = table
        entries = table.forward(_flatten_dense_tensors([*sources, table.ends]))
        # Not _unflatten_dense_tensors: older versions of torch change the shape of tensors without entries.
        return tuple(t.view(s) for t, s in zip(entries.split(table.sizes), table.shapes.values(), strict=True))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Return the sources' gradients."""
        table = ctx.table
        entries = table.backward(torch.cat([*(g.reshape(-1) for g in gradients), table.ends[1:]]))
        return None, *_unflatten_dense_tensors(entries, table.sources)


@lru_cache(maxsize=32)  # tables of shapes that are no longer trained would fill the GPU's memory
def table_of(loop: Loop, device: torch.device) -> GatherTable:
    """Return the table of a loop on a device."""
    with torch.inference_mode(False):  # tensors made in that mode cannot be used in a graph later
        return GatherTable(loop, device)


def gather_operands(loop: Loop, weights: Sequence[Tensor]) -> tuple[Tensor, ...] | None:
    """Return a loop's operands V, b, W, P and U, in the autograd graph, or None if its table is unusable."""
    table = table_of(loop, weights[0].device)
    if not table.usable:
        return None
    direct = [weights[n].float() for n in table.copies.direct]  # numbers may be in float64
    computed = table.copies.made({n: weights[n] for n in table.copies.needed})
    operands: tuple[Tensor, ...] = Gathered.apply(table, *direct, *computed)
    return operands
