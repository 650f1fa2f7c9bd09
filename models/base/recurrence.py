"""Recurrences: layers that process time step by step."""

from __future__ import annotations

from typing import ClassVar, Generic

import torch
from torch import Tensor

from longwave.models.base.fused import Fusable
from longwave.models.base.layer import Generators, State
from longwave.models.base.weights import W
from longwave.models.kernels.compiler.recorder import Unsupported
from longwave.models.kernels.compiler.trace import Recurrent


class Recurrence(Fusable[W], Generic[W]):
    """A recurrent layer. Subclasses define ``STATE``, ``WEIGHTS``, ``shapes``, ``drive`` and ``step``.

    The output is the first tensor of the state, or the first ``OUTPUTS`` concatenated.

    Args: see ``SequenceLayer``.
    """

    OUTPUTS: ClassVar[int] = 1
    """Number of state tensors in the output, such as real and imaginary part."""

    @property
    def output_size(self) -> int:
        """Features of the output, d for each state in it."""
        return self.OUTPUTS * self.hidden_size

    def drive(self, x: Tensor, w: W) -> tuple[Tensor, ...]:
        """Return the parts of the step that depend only on the input, (M, T, B, d) each, from x (M, T, B, p)."""
        raise NotImplementedError

    def step(self, u: tuple[Tensor, ...], state: State, w: W) -> State:
        """Return the next state, (M, B, d) each, from one step ``u`` of the drive and the state."""
        raise NotImplementedError

    def recurrent(self, inputs: int) -> Recurrent:
        """Return ``drive`` and ``step``, to be compiled; see ``Fusable``."""
        d = self.hidden_size
        if any(shape != (d,) for shape in self.state_shapes().values()):
            raise Unsupported(f"a state that does not consist of vectors of d = {d} numbers")

        def step(u: tuple[Tensor, ...], state: State, late: Tensor, w: W) -> State:
            return self._checked_step(u, state, w)

        return Recurrent(self.drive, step, len(self.STATE), d, inputs, outputs=self.OUTPUTS)

    def readout(self, outputs: Tensor, state: State) -> Tensor:
        """Return the read-out's input at the last step, (M, B, OUTPUTS d)."""
        return self._output(state)

    def scan(self, x: Tensor, state: State, w: W, generators: Generators) -> tuple[Tensor, State]:
        """Return the outputs (M, T, B, OUTPUTS d) and the last state for x (M, T, B, p).

        Raises:
            TypeError: ``drive`` or ``step`` returns no tuple, or ``step`` one of another length than the state.
        """
        drive = self.drive(x, w)
        if not isinstance(drive, tuple):
            raise TypeError(f"{type(self).__name__}.drive must return a tuple of tensors, got {type(drive).__name__}.")
        return self.loop(drive, state, w)

    def loop(self, drive: tuple[Tensor, ...], state: State, w: W) -> tuple[Tensor, State]:
        """Return the output after each step, (M, T, B, OUTPUTS d), and the last state."""
        outputs = []
        for u in zip(*(part.unbind(1) for part in drive), strict=True):
            state = self._checked_step(u, state, w)
            outputs.append(self._output(state))
        return torch.stack(outputs, 1), state

    def _checked_step(self, u: tuple[Tensor, ...], state: State, w: W) -> State:
        """Return the result of ``step``.

        Raises:
            TypeError: It is not a tuple of as many tensors as the state has.
        """
        after = self.step(u, state, w)
        if not isinstance(after, tuple) or len(after) != len(self.STATE):
            got = f"{len(after)} of them" if isinstance(after, tuple) else type(after).__name__
            names = f"({', '.join(self.STATE)}{',' * (len(self.STATE) == 1)})"
            raise TypeError(f"{type(self).__name__}.step must return a tuple of tensors {names}, got {got}.")
        return after

    def _output(self, state: State) -> Tensor:
        return state[0] if self.OUTPUTS == 1 else torch.cat(state[: self.OUTPUTS], -1)
