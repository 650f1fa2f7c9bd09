"""Recurrences whose state has two axes: linear attention, delta rules and selective state spaces."""

from __future__ import annotations

from typing import ClassVar, Generic, NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from longwave.models import kernels
from longwave.models.base.fused import compiled_once
from longwave.models.base.layer import Generators, State
from longwave.models.base.sequence import SequenceLayer
from longwave.models.base.weights import W
from longwave.models.kernels.compiler.locations import Check
from longwave.models.kernels.compiler.recorder import Unsupported
from longwave.models.kernels.compiler.watch import Watch
from longwave.models.kernels.matrix.form import Form
from longwave.models.kernels.matrix.plan import MatrixPlan, plan


class KnownPlan(NamedTuple):
    """The result of a layer's last request for a plan, valid while axes and values read by the step are the same."""

    axes: tuple[object, ...]
    unchanged: Check
    outcome: MatrixPlan | Unsupported


_known: WeakKeyDictionary[object, KnownPlan] = WeakKeyDictionary()


class MatrixRecurrence(SequenceLayer[W], Generic[W]):
    """A recurrent layer of H heads with states (I, J). Subclasses define ``STATE``, ``form``, ``shapes``, ``drive`` and
    ``step``.

    The step reads a state only by sums over i, so that its columns j are independent. Everything else, such as
    projections, norms and gates, goes into ``drive`` and ``finish``, which see all steps at once.

    Args: see ``SequenceLayer``.
    """

    OUTPUTS: ClassVar[int] = 1
    """The output has d features, like that of a ``Recurrence`` that outputs one state."""

    def form(self) -> Form:
        """Return H, I and J, and the axes of states, of drives and of constants, by name."""
        raise NotImplementedError

    def drive(self, x: Tensor, w: W) -> tuple[Tensor, ...]:
        """Return the step's inputs, (M, T, B, H, ·) each, with the axes of ``form().drives``; x is (M, T, B, p)."""
        raise NotImplementedError

    def constants(self, w: W) -> tuple[Tensor, ...]:
        """Return the constants of all steps, (M, 1, H, ·) each, with the axes of ``form().constants``."""
        return ()

    def step(self, u: tuple[Tensor, ...], state: State, constants: tuple[Tensor, ...]) -> tuple[Tensor, State]:
        """Return the output (M, B, H, J) and the next state, (M, B, H, ·) each, from one step ``u`` of the drive."""
        raise NotImplementedError

    def finish(self, outputs: Tensor, x: Tensor, w: W) -> Tensor:
        """Return the layer's output (M, T, B, d) from that of all steps, (M, T, B, H, J): by default heads joined."""
        return outputs.flatten(-2)

    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of each state: of a matrix (H, I, J)."""
        form = self.form()
        return {name: (form.heads, *form.shape(axes)) for name, axes in form.states.items()}

    def plan(self) -> MatrixPlan:
        """Return the plan of the step, shared by all equal layers.

        Raises:
            Unsupported: The step uses an operation that the compiler does not support; the message names it and its
                line.
        """
        form, known = self.form(), _known.get(self)
        axes = (tuple(form.states.values()), tuple(form.drives.values()), tuple(form.constants.values()))

        def compiled(watch: Watch) -> MatrixPlan:
            return plan(watch.watched(self.step), form)

        if known is None or known.axes != axes or not known.unchanged():
            known = _known[self] = KnownPlan(axes, *compiled_once(type(self), axes, {"self": self}, compiled))
        if isinstance(known.outcome, Unsupported):
            raise type(known.outcome)(*known.outcome.args)  # a new one: a raised exception would keep the layer alive
        return known.outcome

    def why(self) -> kernels.Route:
        """Return how the time loop is computed on the weights' device, and why."""
        return self._route()[0]

    def scan(self, x: Tensor, state: State, w: W, generators: Generators) -> tuple[Tensor, State]:
        """Return the outputs (M, T, B, d) and the last state for x (M, T, B, p), by the fused loop if it can run."""
        advance = self._route()[1] or self.loop
        outputs, last = advance(self.drive(x, w), state, self.constants(w))
        return self.finish(outputs, x, w), last

    def loop(self, drives: tuple[Tensor, ...], state: State, constants: tuple[Tensor, ...]) -> tuple[Tensor, State]:
        """Return the output after each step, (M, T, B, H, J), and the last state, step by step in torch."""
        outputs = []
        for u in zip(*(part.unbind(1) for part in drives), strict=True):
            output, state = self.step(u, state, constants)
            outputs.append(output)
        return torch.stack(outputs, 1), state

    def _route(self) -> tuple[kernels.Route, kernels.MatrixAdvance | None]:
        weight = self.first_weight()
        return kernels.choose_matrix(type(self).__name__, self.plan, self.form(), weight.device, weight.dtype)
