"""Which invariants are weights, views or sums of them, so that their entries need only be copied."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from longwave.models.kernels.compiler.invariants import Invariants
from longwave.models.kernels.compiler.recorder import Recorded


@dataclass(frozen=True)
class Term:
    """``factor`` times a tensor's entries, read from offset ``at`` with ``strides``; ``number`` is the tensor's."""

    number: int
    factor: float
    at: int
    strides: tuple[int, ...]


Terms = tuple[Term, ...]
ZEROS = ("zeros", "zeros_like", "new_zeros")


def copied(of: Invariants) -> dict[int, Terms]:
    """Return the terms of each invariant that is a view of a weight, or a sum of such views, by its number.

    Zeros have no terms. A weight in float64 is read as float32, the only dtype of sums here.
    """
    finder = _Finder(of)
    for call, first in of.calls:
        for k, t in enumerate(call.results):
            terms = finder.terms(call, t)
            if terms is not None:
                finder.enter(first + k, t, terms)
    return finder.terms_of


class _Finder:
    def __init__(self, of: Invariants) -> None:
        self.of = of
        self.terms_of: dict[int, Terms] = {}
        self.owners: dict[int, tuple[Tensor, Terms]] = {}
        """The tensor for which a storage was allocated."""
        for k, t in enumerate(of.roots):
            if t.dtype in (torch.float32, torch.float64):
                self.enter(k, t, (Term(k, 1.0, 0, t.stride()),))

    def enter(self, number: int, t: Tensor, terms: Terms) -> None:
        self.terms_of[number] = terms
        self.owners.setdefault(_memory(t), (t, terms))

    def terms(self, call: Recorded, t: Tensor) -> Terms | None:
        """Return the terms of a result; None if it is not such a sum, or has no gradient."""
        if call.name in ZEROS:
            return ()
        of_args = [self.terms_of.get(self.of.numbers[id(a)]) if a in self.of else None for a in call.tensors]
        found_terms = [terms for terms in of_args if terms is not None]
        if not of_args or len(found_terms) < len(of_args):
            return None
        if not any(found_terms):
            return () if call.name in ("mul", "detach") else None
        if call.name == "detach" or not call.differentiated:
            return None
        if any(_memory(t) == _memory(a) for a in call.tensors):
            return self._view(t)
        if call.name == "_to_copy":
            return found_terms[0] if t.dtype == torch.float32 and t.is_contiguous() else None
        return self._sum(call, t, found_terms) if t.dtype == torch.float32 else None

    @staticmethod
    def _sum(call: Recorded, t: Tensor, of_args: list[Terms]) -> Terms | None:
        numbers = [a for a in call.args if not isinstance(a, Tensor)]
        if call.name == "mul" and len(of_args) == 1 and all(isinstance(a, (int, float)) for a in numbers):
            return _scaled(of_args[0], numbers[0])
        if call.name in ("add", "sub") and len(of_args) == 2 and all(a.shape == t.shape for a in call.tensors):
            sign = -1.0 if call.name == "sub" else 1.0
            return of_args[0] + _scaled(of_args[1], sign * call.kwargs.get("alpha", 1))
        return None

    def _view(self, t: Tensor) -> Terms | None:
        """Return the terms of a view."""
        if _memory(t) not in self.owners:
            return None
        owner, terms = self.owners[_memory(t)]
        if len(terms) == 1 and terms[0].number < len(self.of.roots) and owner is self.of.roots[terms[0].number]:
            return (replace(terms[0], at=int(t.storage_offset()), strides=t.stride()),)
        if not t.is_contiguous() or [n for n in t.shape if n > 1] != [n for n in owner.shape if n > 1]:
            return None
        viewed = []
        for term in terms:
            strides = iter([s for s, n in zip(term.strides, owner.shape, strict=True) if n > 1])
            viewed.append(replace(term, strides=tuple(next(strides) if n > 1 else 0 for n in t.shape)))
        return tuple(viewed)


def _scaled(terms: Terms, factor: float) -> Terms:
    return tuple(replace(term, factor=factor * term.factor) for term in terms)


def _memory(t: Tensor) -> int:
    return int(t.untyped_storage()._cdata)
