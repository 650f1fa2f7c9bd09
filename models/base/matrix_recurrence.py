"""Recurrences whose state has two axes: linear attention, delta rules and selective state spaces."""

from __future__ import annotations

from typing import ClassVar, Generic

import torch
from torch import Tensor

from longwave.models.base.layer import Generators, State
from longwave.models.base.sequence import SequenceLayer
from longwave.models.base.weights import W
from longwave.models.kernels.matrix.form import Form


class MatrixRecurrence(SequenceLayer[W], Generic[W]):
    """A recurrent layer of H heads with states (I, J). Subclasses give ``STATE``, ``form``, ``shapes``, ``drive`` and
    ``step``.

    The step reads a state by sums over i alone, so that its columns j are independent. Everything else, such as
    projections, norms and gates, stands in ``drive`` and ``finish``, which see all steps at once.

    Args: see ``SequenceLayer``.
    """

    OUTPUTS: ClassVar[int] = 1
    """The output has d numbers, as that of a ``Recurrence`` with one state that is put out."""

    def form(self) -> Form:
        """Return H, I and J, and the axes of states, of drives and of constants, by name."""
        raise NotImplementedError

    def drive(self, x: Tensor, w: W) -> tuple[Tensor, ...]:
        """Return what each step reads, (M, T, B, H, ·) each, with the axes of ``form().drives``; x is (M, T, B, p)."""
        raise NotImplementedError

    def constants(self, w: W) -> tuple[Tensor, ...]:
        """Return what all steps read, (M, 1, H, ·) each, with the axes of ``form().constants``."""
        return ()

    def step(self, u: tuple[Tensor, ...], state: State, constants: tuple[Tensor, ...]) -> tuple[Tensor, State]:
        """Return the output (M, B, H, J) and the next state, (M, B, H, ·) each, from one step ``u`` of the drive."""
        raise NotImplementedError

    def finish(self, outputs: Tensor, x: Tensor, w: W) -> Tensor:
        """Return the layer's output (M, T, B, d) from that of all steps, (M, T, B, H, J): by default side by side."""
        return outputs.flatten(-2)

    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of each state: of a matrix (H, I, J)."""
        form = self.form()
        return {name: (form.heads, *form.shape(axes)) for name, axes in form.states.items()}

    def scan(self, x: Tensor, state: State, w: W, generators: Generators) -> tuple[Tensor, State]:
        """Return the outputs (M, T, B, d) and the last state for x (M, T, B, p)."""
        outputs, last = self.loop(self.drive(x, w), state, self.constants(w))
        return self.finish(outputs, x, w), last

    def loop(self, drive: tuple[Tensor, ...], state: State, constants: tuple[Tensor, ...]) -> tuple[Tensor, State]:
        """Return the output after each step, (M, T, B, H, J), and the last state."""
        outputs = []
        for u in zip(*(part.unbind(1) for part in drive), strict=True):
            output, state = self.step(u, state, constants)
            outputs.append(output)
        return torch.stack(outputs, 1), state
