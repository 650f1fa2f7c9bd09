"""The calls that depend only on the weights, and their recomputation in torch at each call of a layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor

from longwave.models.kernels.compiler.recorder import Recorded, flat, leaves


class Invariants:
    """The part of a trace that depends only on the weights: torch recomputes it, with autograd, at each call.

    Each tensor in it has a number. Equal calls on equal tensors share one number.

    Args:
        weights: The weights that the layer was traced with.
    """

    def __init__(self, weights: Any) -> None:
        self.weights = weights
        self.roots = leaves(weights)[0]
        self.numbers = {id(t): k for k, t in enumerate(self.roots)}
        self.count = len(self.numbers)
        self.recorded: list[Any] = []
        self.calls: list[tuple[Recorded, int]] = []  # and the number of the first result
        self._same: dict[Any, int] = {}

    def __contains__(self, t: Tensor) -> bool:
        return id(t) in self.numbers

    def add(self, call: Recorded) -> None:
        """Add a call whose tensors are all known.

        Raises:
            Unsupported: It reads an unknown tensor, or values that a trace does not have.
        """
        if call.name == "lift_fresh":  # a tensor made from Python numbers in the layer's code
            if call.results[0].is_meta:
                raise call.refused(" of numbers on another tensor's device")
        elif not all(t in self for t in call.tensors):
            raise call.refused(" of a tensor that is neither state, drive nor weight")
        self.recorded.append(call)
        key = (call.op, call.differentiated, self._key(call.args), self._key(sorted(call.kwargs.items())))
        try:
            first = self._same.setdefault(key, self.count)
        except TypeError:
            first = self.count
        for k, t in enumerate(call.results):
            self.numbers[id(t)] = first + k
        if first == self.count:
            self.calls.append((call, first))
            self.count += len(call.results)

    def origin(self, number: int, flipped: bool) -> tuple[int, bool]:
        """Return the tensor under a transpose, with ``flipped`` inverted; unchanged if it is not a transpose."""
        for call, first in self.calls:
            turns = call.name == "transpose" and {a % 3 for a in call.args[1:]} == {1, 2} and call.results[0].ndim == 3
            if first == number and turns and call.differentiated:
                return self.numbers[id(call.args[0])], not flipped
        return number, flipped

    def replay(self, numbers: Sequence[int]) -> Replay:
        """Return the function that computes the tensors of these numbers from weights."""
        needed, calls = set(numbers), list[tuple[Recorded, int]]()
        for call, first in reversed(self.calls):
            if any(first + k in needed for k in range(len(call.results))):
                calls.append((call, first))
                needed |= {self.numbers[id(t)] for t in call.tensors if t in self}
        return Replay(self, needed & set(range(len(self.roots))), tuple(reversed(calls)))

    def _key(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return ("tensor", self.numbers.get(id(value), -id(value)))
        if isinstance(value, (list, tuple)):
            return tuple(map(self._key, value))
        return repr(value) if isinstance(value, (int, float)) else value  # 0.0 == −0.0 == False


class Replay:
    """Recomputes invariants from the weights of the numbers ``needed``; see ``Invariants``."""

    def __init__(self, of: Invariants, needed: set[int], calls: tuple[tuple[Recorded, int], ...]) -> None:
        self.of, self.needed, self.calls = of, needed, calls

    def __call__(self, weights: Mapping[int, Tensor]) -> dict[int, Tensor]:
        """Return the requested tensors and the weights, by number."""
        # The traced tensor was contiguous, which a view of it may require.
        values = {k: t.contiguous() for k, t in weights.items()}
        device = next(iter(values.values())).device if values else None

        for call, first in self.calls:
            more = {k: self._of(values, v) for k, v in call.kwargs.items()}
            more |= {"device": device} if more.get("device") else {}
            with nullcontext() if call.differentiated else torch.no_grad():
                result = call.op(*self._of(values, call.args), **more)
            values |= {first + k: t for k, t in enumerate(flat(result))}
        return values

    def _of(self, values: Mapping[int, Tensor], value: Any) -> Any:
        """Return an argument of a call with actual tensors in place of the traced ones."""
        # A recursive nested function would keep the graph alive until Python collects cycles.
        if isinstance(value, Tensor):
            return values.get(self.of.numbers.get(id(value), -1), value)
        return type(value)(self._of(values, v) for v in value) if isinstance(value, (list, tuple)) else value
