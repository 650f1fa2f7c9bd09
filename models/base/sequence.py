"""Layers that read sequences: torch.nn.LSTM's shapes, the last step, and ragged lengths."""

from __future__ import annotations

from typing import Any, ClassVar, Generic

from torch import Tensor

from longwave.models.base.layer import Generators, Layer, State
from longwave.models.base.weights import W
from longwave.tasks.base.batch import Batch
from longwave.tasks.base.sequences import Sequences


class SequenceLayer(Layer[W], Generic[W]):
    """A layer over time. Subclasses define ``WEIGHTS``, ``shapes`` and ``scan``; those with a state, ``STATE`` too.

    Args:
        batch_first: Take and return (B, T, ·) in place of (T, B, ·).
        input_size, hidden_size, members, t_max, settings: See ``Layer``.
    """

    READS = Sequences
    STATE: ClassVar[tuple[str, ...]] = ()
    """Names of the tensors carried from step to step; in a stack, those of one layer."""

    def __init__(self, input_size: int, hidden_size: int, *, batch_first: bool = False, **settings: Any) -> None:
        super().__init__(input_size, hidden_size, **settings)
        self.batch_first = batch_first

    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of each state tensor of one sequence, by name."""
        return dict.fromkeys(self.STATE, (self.hidden_size,))

    def scan(self, x: Tensor, state: State, w: W, generators: Generators) -> tuple[Tensor, State]:
        """Return the outputs (M, T, B, d), which depend on no later input, and the last state, for x (M, T, B, p)."""
        raise NotImplementedError

    def run(self, x: Tensor, state: State, generators: Generators) -> tuple[Tensor, State]:
        """Return the same with the layer's own weights."""
        return self.scan(x, state, self.weights(self.lifted_tensors()), generators)

    def readout(self, outputs: Tensor, state: State) -> Tensor:
        """Return the read-out's input at the last step, (M, B, d)."""
        return outputs[..., -1, :, :]

    def features(self, batch: Batch, state: State | None = None, generators: Generators = None) -> tuple[Tensor, State]:
        """Return the read-out's input, and the last state; see ``Layer``.

        Returns:
            The outputs (M, T, B, d) if every step is read out, else those of the last step (M, B, d), in a ragged batch
            of each sequence's last step.
        """
        if not isinstance(batch, Sequences):
            raise ValueError(f"{type(self).__name__} reads Sequences, got {type(batch).__name__}.")
        x = batch.x.transpose(-3, -2) if self.batch_first else batch.x
        outputs, last = self(x, state, generators)
        outputs = outputs.transpose(-3, -2) if self.batch_first else outputs
        if batch.every_step:
            return outputs, last
        return batch.ends(outputs) if batch.lengths is not None else self.readout(outputs, last), last

    def forward(self, x: Tensor, state: State | None = None, generators: Generators = None) -> tuple[Tensor, State]:
        """Run a whole sequence.

        Args:
            x: (T, B, p), or (B, T, p) if ``batch_first``; with members (M, T, B, p) or (M, B, T, p).
            state: Initial state, a tensor (B, ·) or (M, B, ·) for each of ``state_shapes()``; zeros by default.
            generators: One per member, for dropout in training; torch's own by default.

        Returns:
            The outputs, like x with ``output_size`` in place of p, and the last state. A sequence run through a
            recurrence in pieces, each starting from the last state, gives the same outputs as in one call (dropout in
            training aside).

        Raises:
            ValueError: x or the state has another shape than the layer needs, or another dtype or device than its
                weights.
        """
        self._check(x, state)
        if generators is not None and len(generators) != (self.members or 1):
            raise ValueError(f"{type(self).__name__}: one generator per member is needed, got {len(generators)}.")
        if self.batch_first:
            x = x.transpose(-3, -2)
        lone = self.members is None
        if lone:
            x = x.unsqueeze(0)
            state = state and tuple(s.unsqueeze(0) for s in state)
        if state is None:
            state = tuple(x.new_zeros(x.shape[0], x.shape[2], *s) for s in self.state_shapes().values())
        output, state = self.run(x, state, generators)
        if lone:
            output, state = output.squeeze(0), tuple(s.squeeze(0) for s in state)
        return output.transpose(-3, -2) if self.batch_first else output, state

    def _check(self, x: Tensor, state: State | None) -> None:
        """Raise ValueError where x or the state has another shape, dtype or device than the layer needs."""
        name = type(self).__name__
        lead = () if self.members is None else (self.members,)
        size, shape = self.input_size, tuple(x.shape) if isinstance(x, Tensor) else ()
        if len(shape) != len(lead) + 3 or shape[: len(lead)] != lead or shape[-1] != size or 0 in shape:
            axes = ("B", "T") if self.batch_first else ("T", "B")
            expected = f"({', '.join([*map(str, lead), *axes, str(size)])})"
            if isinstance(x, Tensor):
                raise ValueError(f"{name}: x must be {expected} and not empty, got {shape}.")
            got = type(x).__name__
            raise ValueError(f"{name}: x must be one tensor {expected}, of members of equal length, got {got}.")
        if state is not None and not (isinstance(state, (tuple, list)) and all(isinstance(s, Tensor) for s in state)):
            raise ValueError(f"{name}: state must be a tuple of tensors, got {type(state).__name__}.")
        weight = self.first_weight()
        for label, tensor in (("x", x), *zip(self.state_shapes(), state or (), strict=False)):
            for what in ("dtype", "device"):
                if (got := getattr(tensor, what)) != (needed := getattr(weight, what)):
                    raise ValueError(f"{name}: {label} must have the weights' {what} {needed}, got {got}.")
        if state is None:
            return
        rows = (*lead, x.shape[-3 if self.batch_first else -2])
        shapes = {s: (*rows, *shape) for s, shape in self.state_shapes().items()}
        if [tuple(s.shape) for s in state] != list(shapes.values()):
            got = [tuple(s.shape) for s in state]
            needed = ", ".join(f"{s} {shape}" for s, shape in shapes.items())
            raise ValueError(f"{name}: state must be {f'the tensors {needed}' if needed else 'empty'}, got {got}.")
