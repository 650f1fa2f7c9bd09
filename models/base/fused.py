"""The way from a layer to its fused loop, where it can be compiled and run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from operator import is_
from typing import Any, Generic
from weakref import WeakKeyDictionary

from torch import Tensor

from longwave.models import kernels
from longwave.models.base.layer import Generators, State
from longwave.models.base.sequence import SequenceLayer
from longwave.models.base.weights import W
from longwave.models.kernels.cells import Cell, planned
from longwave.models.kernels.compiler.loop import Loop
from longwave.models.kernels.compiler.recorder import Unsupported, leaves
from longwave.models.kernels.compiler.trace import Recurrent

PLAIN = (bool, int, float, str, tuple, type(None))
_loops: dict[Any, Loop | Unsupported] = {}
_names: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
_count = count()
_seen: WeakKeyDictionary[Any, dict[tuple[int, int], tuple[list[Any], list[Any], Loop | Unsupported]]] = (
    WeakKeyDictionary()
)
"""By layer, loop and features: what decided about the loop when it was last asked for, and the loop."""


class Fusable(SequenceLayer[W], Generic[W]):
    """A sequence layer whose step is compiled to a fused loop. Subclasses give ``recurrent``, and ``scan``: the same
    without a fused loop.

    Attributes:
        storage: ``"float32"``, or ``"bfloat16"`` for a loop on a GPU that stores drives, and what it keeps for the way
            back, in half the memory. Sums, states, outputs and gradients are float32 all the same.
    """

    storage = "float32"

    def recurrent(self, inputs: int) -> Recurrent:
        """Return what is compiled, for a loop that reads so many features.

        Raises:
            Unsupported: The layer's state is not made of vectors of d numbers.
        """
        raise NotImplementedError

    def loops(self) -> list[int]:
        """Return the input features of each loop over time that a call runs."""
        return [self.input_size]

    def loop_weights(self, given: Mapping[str, Tensor], loop: int = 0) -> W:
        """Return what one of these loops reads, by ``held``'s names."""
        return self.weights(given)

    def lags(self) -> list[int]:
        """Return how many steps each member looks back; nothing for a layer that does not."""
        return []

    def loop_of(self, loop: int, inputs: int) -> tuple[Loop, list[Tensor]]:
        """Return one of ``loops``, for so many features, the same for all layers that are alike, and what it is given.

        That is ``raw``; or, where ``weights`` does what no trace can follow, what ``weights`` returns.

        Raises:
            Unsupported: The step does what the compiler does not know; the message names it, and the line.
        """
        mine, raw = list(vars(self).values()), self.raw()
        shapes: list[Any] = [x for t in raw.values() for x in (t.shape, t.dtype)]
        known = _seen.setdefault(self, {})
        before = known.get((loop, inputs))
        if before is None or len(mine) != len(before[0]) or not all(map(is_, mine, before[0])) or shapes != before[1]:
            found = self._made(inputs, raw, lambda own: self.loop_weights(self.held(own), loop), loop)
            known[loop, inputs] = before = (mine, shapes, found)
        if isinstance(before[2], Loop):
            return before[2], [*raw.values()]
        w = self.loop_weights(self.held(), loop)
        tensors, form = leaves(w)
        found = self._made(inputs, w, lambda own: own, loop, form)
        if isinstance(found, Unsupported):
            raise found
        return found, tensors

    def cell_on(self, path: str) -> Cell:
        """Return the cell that computes the layer, or its first loop of several, on a path of ``kernels``.

        Raises:
            Unsupported: There is none; the message says why.
        """
        return self._cell(path, self.loop_of(0, self.loops()[0])[0])

    def why(self) -> kernels.Route:
        """Return which way the time loop takes where the weights are, and why."""
        routes = [self._way(loop, inputs)[0] for loop, inputs in enumerate(self.loops())]
        return next((route for route in routes if route.path == "reference"), routes[0])

    def run(self, x: Tensor, state: State, generators: Generators) -> tuple[Tensor, State]:
        """Return the outputs (M, T, B, d) and the last state with the layer's own weights."""
        return self.through(x, state, generators)

    def through(self, x: Tensor, state: State, generators: Generators, loop: int = 0) -> tuple[Tensor, State]:
        """Return what ``scan`` defines, for one of ``loops``, by the fused loop where it can run."""
        route, key, found = self._way(loop, x.shape[-1])
        if found is None:
            return self.scan(x, state, self.loop_weights(self.held(), loop), generators)
        return kernels.advance_from(route.path, key, *found, self.lags(), x, state)

    def _way(self, loop: int, inputs: int) -> tuple[kernels.Route, str, tuple[Loop, list[Tensor]] | None]:
        weight, found = next(iter(self.raw().values())), list[tuple[Loop, list[Tensor]]]()

        def cell(path: str) -> str:
            found.append(self.loop_of(loop, inputs))
            return self._cell(path, found[0][0]).name

        name = type(self).__name__
        route, key = kernels.choose(name, cell, self.hidden_size, weight.device, weight.dtype, self.storage)
        return route, key, None if route.path == "reference" else found[0]

    def _cell(self, path: str, compiled: Loop) -> Cell:
        hand: Cell | None = getattr(getattr(type(self), "step", None), "cell", None)
        if path == "cpu":
            return planned(compiled.name, compiled.plan)
        plan = compiled.lean  # in a layer of one unit vectors are scalars, which what is by hand does not know
        fits = hand and (len(hand.scalars), len(hand.vectors)) == (len(plan.nums), len(plan.vecs))
        return hand if hand and fits else planned(compiled.lean_name, plan)

    def _made(self, inputs: int, given: Any, weights: Callable[[Any], Any], *key: Any) -> Loop | Unsupported:
        """Return what is compiled for tensors like ``given``; ``key`` is what else decides on it."""
        key = (*self._signature(), inputs, *key)
        if key not in _loops:
            try:
                _loops[key] = Loop(replace(self.recurrent(inputs), weights=weights), given)
            except Unsupported as error:
                rule = f"the step of {type(self).__name__} uses {error}, which the compiler does not know"
                _loops[key] = Unsupported(rule)
        return _loops[key]

    def _signature(self) -> tuple[Any, ...]:
        """Return what decides how a layer computes: its code, its plain attributes, the shapes of its weights."""
        kind = type(self)
        mine = [(name, value) for name, value in vars(self).items() if name[0] != "_"]
        plain = tuple(item for item in mine if isinstance(item[1], PLAIN))
        own = 0 if len(plain) == len(mine) else _names.setdefault(self, next(_count) + 1)
        code = tuple(getattr(kind, name, None) for name in ("drive", "step", "next", "weights"))
        form = tuple((name, t.shape, t.dtype) for name, t in self.raw().items())
        return kind, code, plain, own, form
