"""Free runs: sequences with a given beginning, after which each input is the previous output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from longwave.tasks.base.batch import Answer, Answerer
from longwave.tasks.base.sequences import Sequences


@dataclass(frozen=True)
class FreeRuns(Sequences):
    """Given sequences (N, W, p), and the values (N, H, p) that follow them, which are not shown.

    The first output is at the last given value; from there on the input of each step is the previous output. A
    recurrence reads the given steps in one call, and then one step at a time from its state; a layer without a state
    reads the whole sequence so far at each step.

    Attributes:
        inputs: (N, W, p) float32, or as taken for a pack (M, B, W, p).
        targets: (N, H, p) float32: the values at the steps W, W + 1, ..., W + H − 1 of a sequence that starts at 0.

    Raises:
        ValueError: Inputs and targets are not values of equal features of the same sequences, or are padded.
    """

    def __post_init__(self) -> None:
        shapes, float_ = (self.inputs.shape, self.targets.shape), self.targets.is_floating_point()
        fits = float_ and self.inputs.is_floating_point() and len(shapes[0]) == len(shapes[1]) >= 3
        if (
            not fits
            or shapes[0][:-2] != shapes[1][:-2]
            or shapes[0][-1] != shapes[1][-1]
            or 0 in (*shapes[0], *shapes[1])
        ):
            got = f"{tuple(shapes[0])} and {tuple(shapes[1])}"
            raise ValueError(f"Free runs need values (N, W, p) and the values (N, H, p) after them, got {got}.")
        if self.tail is not None or self.lengths is not None:
            raise ValueError("Free runs have no tail and no lengths: their steps follow each other without a gap.")

    @property
    def horizon(self) -> int:
        """Steps H of the free run."""
        return self.targets.shape[-2]

    @property
    def positions(self) -> int:
        """Steps that a layer processes: the given ones, and all outputs but the last."""
        return self._steps + self.horizon - 1

    @property
    def every_step(self) -> bool:
        """True: every step of the free run has a target."""
        return True

    @property
    def rule(self) -> str:
        """That outputs are fed back, and their number."""
        return f"free {self.horizon}"

    def answers(self, run: Answerer, state: Sequence[Tensor] | None = None) -> Answer:
        """Return the outputs of the free run, (M, H, B, p), and the state before the last one is fed back."""
        inputs = self.inputs
        output, last = run(self._at_last_step(inputs), state)
        outputs = [output]
        while len(outputs) < self.horizon:
            fed_back = output.unsqueeze(-2)
            inputs = fed_back if last else torch.cat([inputs, fed_back], -2)
            output, last = run(self._at_last_step(inputs), last or None)
            outputs.append(output)
        return torch.stack(outputs, -3), last

    def _at_last_step(self, inputs: Tensor) -> Sequences:
        """Return these inputs, with the target at the last step."""
        return Sequences(inputs, self.targets[..., 0, :])
