"""How a layer gets its fused loop, if that can be compiled and run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from longwave.models import kernels
from longwave.models.base.layer import Generators, State
from longwave.models.base.sequence import SequenceLayer
from longwave.models.base.weights import W
from longwave.models.kernels.cells import Cell, planned
from longwave.models.kernels.compiler.locations import Check
from longwave.models.kernels.compiler.loop import Loop
from longwave.models.kernels.compiler.names import Reads
from longwave.models.kernels.compiler.reads import Snapshot
from longwave.models.kernels.compiler.recorder import Unsupported, leaves
from longwave.models.kernels.compiler.trace import Recurrent
from longwave.models.kernels.compiler.watch import Refused, Watch, unchanged

T = TypeVar("T")
FORM = attrgetter("shape", "dtype")
"""The properties of a weight for which a loop is specialised."""


class KnownLoop(NamedTuple):
    """The result of a layer's last request for a loop, valid while shapes and values read by the code are the same."""

    shapes: list[Any]
    unchanged: Check
    outcome: Loop | Unsupported


_loops: dict[Any, dict[Reads, dict[Any, Any]]] = {}
"""By class, shapes, loop and features: the locations that the code can read, and the loop by the values found there."""
_known: WeakKeyDictionary[Any, dict[tuple[int, int], KnownLoop]] = WeakKeyDictionary()
"""By layer, loop and features."""


class Fusable(SequenceLayer[W], Generic[W]):
    """A sequence layer whose step is compiled to a fused loop. Subclasses define ``recurrent``, and ``scan``, the same
    without a fused loop.

    Attributes:
        storage: ``"float32"``, or ``"bfloat16"`` for a loop on a GPU that stores drives, and values saved for the
            backward pass, in half the memory. Sums, states, outputs and gradients are float32 in both cases.
    """

    storage = "float32"

    def recurrent(self, inputs: int) -> Recurrent:
        """Return the functions to compile, for a loop with ``inputs`` input features.

        Raises:
            Unsupported: The layer's state is not made of vectors of d numbers.
        """
        raise NotImplementedError

    def loops(self) -> list[int]:
        """Return the number of input features of each loop over time in a call."""
        return [self.input_size]

    def loop_weights(self, tensors: Mapping[str, Tensor], loop: int = 0) -> W:
        """Return the inputs of one of these loops, by the names of ``lifted_tensors``."""
        return self.weights(tensors)

    def lags(self) -> list[int]:
        """Return the delay of each member, in steps; empty for a layer without delays."""
        return []

    def loop_of(self, loop: int, inputs: int) -> tuple[Loop, list[Tensor]]:
        """Return one of ``loops``, for ``inputs`` features, shared by all equal layers, and its arguments.

        These are ``raw``, or, if ``weights`` cannot be traced, its result.

        Raises:
            Unsupported: The step uses an operation that the compiler does not support; the message names it and its
                line.
        """
        raw = self.raw()
        shapes = [*map(FORM, raw.values())]
        known_loops = _known.get(self) or _known.setdefault(self, {})
        known = known_loops.get((loop, inputs))
        if known is None or shapes != known.shapes or not known.unchanged():
            key = (loop, inputs, *raw, *shapes)
            made = self._made(
                key, raw, lambda stored: self.loop_weights(self.lifted_tensors(stored), loop), {"self": self}
            )
            known_loops[loop, inputs] = known = KnownLoop(shapes, *made)
        if isinstance(known.outcome, Loop):
            return known.outcome, [*raw.values()]
        if isinstance(known.outcome, Refused):
            raise Refused(*known.outcome.args)  # a new one: a raised exception would keep the layer alive
        w = self.loop_weights(self.lifted_tensors(), loop)
        tensors, form = leaves(w)
        _, compiled = self._made((loop, inputs, *shapes), w, lambda stored: stored, {"self": self, "the weights": form})
        if isinstance(compiled, Unsupported):
            raise type(compiled)(*compiled.args)
        return compiled, tensors

    def cell_on(self, path: str) -> Cell:
        """Return the cell that computes the layer, or its first loop, on one of the paths of ``kernels``.

        Raises:
            Unsupported: There is none; the message says why.
        """
        return self._cell(path, self.loop_of(0, self.loops()[0])[0])

    def why(self) -> kernels.Route:
        """Return how the time loop is computed on the weights' device, and why."""
        routes = [self._route(loop, inputs)[0] for loop, inputs in enumerate(self.loops())]
        return next((route for route in routes if route.path == "reference"), routes[0])

    def run(self, x: Tensor, state: State, generators: Generators) -> tuple[Tensor, State]:
        """Return the outputs (M, T, B, d) and the last state with the layer's own weights."""
        return self.through(x, state, generators)

    def through(self, x: Tensor, state: State, generators: Generators, loop: int = 0) -> tuple[Tensor, State]:
        """Return the result of ``scan``, for one of ``loops``, by the fused loop if it can run."""
        route, key, loops = self._route(loop, x.shape[-1])
        if loops is None:
            return self.scan(x, state, self.loop_weights(self.lifted_tensors(), loop), generators)
        return kernels.advance_from(route.path, key, *loops, self.lags(), x, state)

    def _route(self, loop: int, inputs: int) -> tuple[kernels.Route, str, tuple[Loop, list[Tensor]] | None]:
        weight, loops = self.first_weight(), list[tuple[Loop, list[Tensor]]]()

        def cell(path: str) -> str:
            loops.append(self.loop_of(loop, inputs))
            return self._cell(path, loops[0][0]).name

        name = type(self).__name__
        route, key = kernels.choose(name, cell, self.hidden_size, weight.device, weight.dtype, self.storage)
        return route, key, None if route.path == "reference" else loops[0]

    def _cell(self, path: str, compiled: Loop) -> Cell:
        handwritten: Cell | None = getattr(getattr(type(self), "step", None), "cell", None)
        if path == "cpu":
            return planned(compiled.name, compiled.plan)
        plan = compiled.lean  # in a layer of one unit vectors are scalars, which hand-written kernels do not support
        fits = handwritten and (len(handwritten.scalars), len(handwritten.vectors)) == (len(plan.nums), len(plan.vecs))
        return handwritten if handwritten and fits else planned(compiled.lean_name, plan)

    def _made(
        self, key: tuple[Any, ...], arguments: Any, weights: Callable[[Any], Any], roots: Mapping[str, Any]
    ) -> tuple[Check, Loop | Unsupported]:
        """Return the compiled loop for tensors like ``arguments``, and a check that it is still valid.

        Args:
            key: The loop, its features, and all else that determines it besides the values that its code reads.
            arguments: Arguments of the loop.
            weights: Returns those of them that drive and step read.
            roots: Objects from which the code starts to read, by label.
        """
        return compiled_once(
            type(self), key, roots, lambda watch: self._compiled(watch.watched, key[1], arguments, weights)
        )

    def _compiled(self, run: Callable[[Any], Any], inputs: int, arguments: Any, weights: Callable[[Any], Any]) -> Loop:
        """Return the loop; ``run`` watches the reads of the layer's own code."""
        of = run(self.recurrent)(inputs)
        return Loop(replace(of, drive=run(of.drive), step=run(of.step), weights=run(weights)), arguments)


def compiled_once(
    kind: type[Any], key: tuple[Any, ...], roots: Mapping[str, Any], make: Callable[[Watch], T]
) -> tuple[Check, T | Unsupported]:
    """Return what ``make`` compiles, or why it cannot, shared by all equal layers, and a check that it is still valid.

    Args:
        kind: The layers' class.
        key: All that determines the result besides the values that the layers' code reads.
        roots: Where that code begins to read, by label.
        make: Compiles, while the reads of the layer's own code are watched.
    """
    variants = _loops.setdefault((kind, *key), {})
    for reads, loops in variants.items():
        snapshot = Snapshot(reads, roots)
        if snapshot.form in loops:
            return snapshot.check(), loops[snapshot.form]
    watch, name = Watch(roots), kind.__name__
    try:
        with saved_tensors_hooks(unchanged, unchanged), watch:
            outcome: T | Unsupported = make(watch)
    except RecursionError:
        outcome = Refused(f"the step of {name} is too long to be compiled")
    except Refused as error:
        outcome = Refused(f"the step of {name} {error}")
    except Unsupported as error:
        outcome = Unsupported(f"the step of {name} uses {error}, which the compiler does not support")
    snapshot = Snapshot(watch.reads, roots)
    variants.setdefault(snapshot.reads, {})[snapshot.form] = outcome
    return snapshot.check(), outcome
