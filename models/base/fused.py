"""The way from a layer to its fused loop, where it can be compiled and run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, Generic
from weakref import WeakKeyDictionary

from torch import Tensor

from longwave.models import kernels
from longwave.models.base.layer import State
from longwave.models.base.sequence import SequenceLayer
from longwave.models.base.weights import W
from longwave.models.kernels.cells import planned
from longwave.models.kernels.compiler.loop import Loop
from longwave.models.kernels.compiler.recorder import Unsupported, leaves
from longwave.models.kernels.compiler.trace import Recurrent

PLAIN = (bool, int, float, str, tuple, type(None))
_loops: dict[Any, Loop | Unsupported] = {}
_names: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
_count = count()


class Fusable(SequenceLayer[W], Generic[W]):
    """A sequence layer whose step is compiled to a fused loop. Subclasses give ``recurrent``."""

    @property
    def cell(self) -> str | None:
        """The cell of ``kernels.cells`` whose Triton loop computes the layer, None where there is none."""
        return None

    def operands(self, w: W) -> kernels.Operands:
        """Return what the Triton loop of ``cell`` needs."""
        raise NotImplementedError

    def recurrent(self, inputs: int) -> Recurrent:
        """Return what is compiled, for a loop that reads so many features.

        Raises:
            Unsupported: The layer's state is not made of vectors of d numbers.
        """
        raise NotImplementedError

    def loops(self, given: Mapping[str, Tensor]) -> list[tuple[W, int]]:
        """Return weights and input features of each loop over time that a call runs, from all weights by name."""
        return [(self.weights(given), self.input_size)]

    def lags(self) -> list[int]:
        """Return how many steps each member looks back; nothing for a layer that does not."""
        return []

    def loop_of(self, w: W, inputs: int) -> Loop:
        """Return the loop for weights of these shapes and so many features, one for all layers that are alike.

        Raises:
            Unsupported: The step does what the compiler does not know; the message names it, and the line.
        """
        return self._loop(w, inputs, leaves(w)[1])

    def why(self) -> kernels.Route:
        """Return which way the time loop takes where the weights are, and why."""
        routes = [self._way(w, inputs, leaves(w)[1])[0] for w, inputs in self.loops(self.held())]
        return next((route for route in routes if route.path == "reference"), routes[0])

    def through(
        self, x: Tensor, state: State, w: W, reference: Callable[[], tuple[Tensor, State]]
    ) -> tuple[Tensor, State]:
        """Return what ``reference`` defines, by the fused loop where it can run."""
        weights, form = leaves(w)
        route, key = self._way(w, x.shape[-1], form)
        if route.path == "reference":
            return reference()
        if route.path == "triton":
            return kernels.advance(route.path, key, self.operands(w), x, state)
        loop = self._loop(w, x.shape[-1], form)
        return kernels.advance(route.path, key, loop.operands(weights, self.lags()), x, state)

    def _way(self, w: W, inputs: int, form: tuple[Any, ...]) -> tuple[kernels.Route, str]:
        weight = next(self.parameters())

        def cell(path: str) -> str:
            if path == "triton":
                if self.cell is None:
                    raise Unsupported("this layer, with these options, has no fused Triton loop")
                return self.cell
            loop = self._loop(w, inputs, form)
            return planned(loop.name, loop.plan).name

        return kernels.choose(type(self).__name__, cell, self.hidden_size, weight.device, weight.dtype)

    def _loop(self, w: W, inputs: int, form: tuple[Any, ...]) -> Loop:
        key = self._signature(inputs, form)
        if key not in _loops:
            try:
                _loops[key] = Loop(self.recurrent(inputs), w)
            except Unsupported as error:
                rule = f"the step of {type(self).__name__} uses {error}, which the compiler does not know"
                _loops[key] = Unsupported(rule)
        found = _loops[key]
        if isinstance(found, Unsupported):
            raise found
        return found

    def _signature(self, inputs: int, form: tuple[Any, ...]) -> Any:
        """Return what decides how a layer computes: its code, its plain attributes, the shapes of its weights."""
        kind = type(self)
        mine = [(name, value) for name, value in vars(self).items() if name[0] != "_"]
        plain = tuple(item for item in mine if isinstance(item[1], PLAIN))
        own = 0 if len(plain) == len(mine) else _names.setdefault(self, next(_count) + 1)
        code = tuple(getattr(kind, name, None) for name in ("drive", "step", "next"))
        return kind, code, plain, own, form, inputs
