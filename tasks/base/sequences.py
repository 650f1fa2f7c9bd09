"""Sequences of numbers, pixels or tokens, of equal or ragged length, with targets at the last or at every step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import ClassVar, Literal, Self

import torch
from torch import Tensor

from longwave.tasks.base.batch import NO_TARGET, Batch

STRANDS = 10
"""Segments into which a text is split for scoring, run in parallel."""


@dataclass(frozen=True)
class Tail:
    """Steps of noise that follow every sequence. They are never stored per sequence.

    Attributes:
        values: (S, p): the shape and, with ``law="fixed"``, the noise itself, one block for all sequences.
        law: ``"fixed"``, or ``"normal"``: N(0, 1) noise for each sequence, reproducible per sequence.
        seed: Of the noise per sequence, below 256, different for each split. torch uses the low 32 bits of a seed.
    """

    values: Tensor
    law: Literal["fixed", "normal"] = "fixed"
    seed: int = 0

    def of(self, index: Tensor) -> Tensor:
        """Return the noise of the sequences ``index``, (..., S, p)."""
        if self.law == "fixed":
            return self.values.expand(*index.shape, *self.values.shape)
        blocks = [
            torch.randn(self.values.shape, generator=torch.Generator().manual_seed(self.seed * 2**24 + k))
            for k in index.flatten().tolist()
        ]
        return torch.stack(blocks).view(*index.shape, *self.values.shape).to(self.values)


@dataclass(frozen=True)
class Sequences(Batch):
    """Sequences and their targets.

    Attributes:
        inputs: (N, T, p) float32; or uint8, scaled to value / 255; or tokens (N, T) of an integer type. As taken for a
            pack (M, B, T, p) floats, or (M, B, T) int64.
        targets: (N,) int64 classes or (N, q) float32 values at the last step; or, if every step is read out, (N, T)
            int64 classes or (N, T, q) float32 values, with −100 or NaN at steps without a target.
        tail: Noise that follows the inputs.
        lengths: (N,) int64, steps of each sequence if they are ragged: all later steps are padding without targets, and
            the last step is the one before them.
        dtype: Type to which bytes are converted.

    Raises:
        ValueError: Shapes do not fit, a length is not within 1 … T, or padding has a target.
    """

    inputs: Tensor
    targets: Tensor
    tail: Tail | None = None
    lengths: Tensor | None = None
    dtype: torch.dtype = torch.float32

    def __post_init__(self) -> None:
        lead = self.inputs.ndim - (1 if self.tokens else 2)
        axes = self.targets.shape[:-1] if self.targets.is_floating_point() else self.targets.shape
        rows, target_axes = self.inputs.shape[:lead], axes[lead:]
        if lead < 1 or axes[:lead] != rows or target_axes not in ((), (self._steps,)) or 0 in self.inputs.shape:
            shapes = f"{tuple(self.inputs.shape)} and {tuple(self.targets.shape)}"
            raise ValueError(f"A split needs inputs (N, T, p) or tokens (N, T), and N > 0 targets, got {shapes}.")
        if self.lengths is not None:
            self._check_lengths(self.lengths, rows)

    @property
    def tokens(self) -> bool:
        """Whether the inputs are tokens."""
        kind = self.inputs.dtype
        return not kind.is_floating_point and (kind != torch.uint8 or self.inputs.ndim == 2)

    @property
    def positions(self) -> int:
        """Steps T of a sequence, the tail included."""
        return self._steps

    @property
    def every_step(self) -> bool:
        """Whether every step is read out, not only the last."""
        axes = self.targets.ndim - (1 if self.targets.is_floating_point() else 0)
        return axes == self.inputs.ndim - (0 if self.tokens else 1)

    @property
    def x(self) -> Tensor:
        """The inputs time-major, (M, T, B, p) or (M, T, B)."""
        return self.inputs.transpose(-2, -1) if self.tokens else self.inputs.transpose(-3, -2)

    @property
    def ordered_targets(self) -> Tensor:
        """The targets in the order of the outputs: time-major, (M, T, B, q) or (M, T, B), if every step is read."""
        if not self.every_step:
            return self.targets
        return self.targets.transpose(-3, -2) if self.targets.is_floating_point() else self.targets.transpose(-2, -1)

    def order_outputs(self, outputs: Tensor) -> Tensor:
        """Return outputs of a whole split time-major, (T, N, q), if every step is read."""
        return outputs.transpose(0, 1) if self.every_step else outputs

    def ends(self, outputs: Tensor) -> Tensor:
        """Return the last of the outputs (..., T, B, d) of each sequence, (..., B, d)."""
        if self.lengths is None:
            return outputs[..., -1, :, :]
        return outputs.take_along_dim((self.lengths - 1)[..., None, :, None], -3).squeeze(-3)

    def numbers(self, outputs: int) -> int:
        """Return about how many numbers training stores per sequence, besides a layer's states."""
        return self.positions * (1 if self.tokens else self.inputs.shape[-1]) + self._read_out(outputs)

    def content(self) -> Iterator[str | Tensor]:
        """Yield the rule of the tail, then all tensors."""
        if self.tail:
            yield f"{self.tail.law}{self.tail.seed}"
        yield from super().content()
        if self.tail:
            yield self.tail.values

    def take(self, index: Tensor) -> Self:
        """Return the sequences ``index``, (...), as a network takes them: (..., T, p) floats or (..., T) int64."""
        batch = super().take(index)
        x = batch.inputs
        if self.tokens:
            x = x.long()
        elif not x.is_floating_point():
            x = x.to(self.dtype) / 255
        if self.tail:
            x = torch.cat([x, self.tail.of(index).to(x)], -2)
        return batch._with(inputs=x, tail=None)

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> Self:
        """Return the batch on ``device``, its floats and the tail's in ``dtype``, without copies where not needed."""
        tail = self.tail and replace(self.tail, values=self.tail.values.to(device, dtype))
        return super().to(device, dtype)._with(tail=tail, dtype=dtype or self.dtype)

    def map_inputs(self, change: Callable[[Tensor], Tensor]) -> Self:
        """Return the batch with ``change`` applied to its inputs, time-major before and after."""
        return self._with(inputs=change(self.x).transpose(-3, -2))

    @property
    def _steps(self) -> int:
        return self.inputs.shape[-1 if self.tokens else -2] + (len(self.tail.values) if self.tail else 0)

    def _check_lengths(self, lengths: Tensor, rows: torch.Size) -> None:
        """Raise ValueError if a sequence ends outside its T steps, or has a target after its end."""
        steps = self._steps
        if self.tail:
            raise ValueError("Ragged sequences have no tail: it would follow their padding.")
        if lengths.shape != rows or lengths.is_floating_point():
            got = f"{lengths.dtype} {tuple(lengths.shape)}"
            raise ValueError(f"Lengths must be whole numbers {tuple(rows)}, got {got}.")
        if lengths.min() < 1 or lengths.max() > steps:
            raise ValueError(f"Lengths must be 1 to {steps}, got {lengths.min()} to {lengths.max()}.")
        if self.every_step:
            values = self.targets.is_floating_point()
            scored = ~self.targets.isnan().all(-1) if values else self.targets != NO_TARGET
            after = torch.arange(steps, device=lengths.device) >= lengths.unsqueeze(-1)
            if (scored & after).any():
                row = int((scored & after).any(-1).flatten().nonzero()[0])
                raise ValueError(f"Steps after a sequence's end must not have a target, but sequence {row} has one.")


@dataclass(frozen=True)
class Text(Sequences):
    """One long text, (1, T), for truncated backpropagation.

    It is split into as many parallel strands as a batch has rows, and the state is carried from segment to segment. All
    members of a pack read it in the same order.

    Attributes:
        segment: Steps of a segment.

    Raises:
        ValueError: It is not one sequence of tokens with targets at every step, or a segment has no step.
    """

    CARRIED: ClassVar[bool] = True

    segment: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.inputs.shape != self.targets.shape or len(self) != 1 or self.lengths is not None or self.segment < 1:
            got = f"{tuple(self.inputs.shape)}, {tuple(self.targets.shape)} and {self.segment}"
            raise ValueError(f"A text needs tokens (1, T), targets (1, T) and a segment of a step or more, got {got}.")

    @property
    def positions(self) -> int:
        """Steps of a segment, the only ones in memory at a time."""
        return self.segment

    @property
    def read_positions(self) -> int:
        """Steps of a segment."""
        return self.segment

    @property
    def rule(self) -> str:
        """The steps of a segment."""
        return f"{self.segment}"

    def pieces(self, size: int) -> Iterator[Self]:
        """Yield the segments of the text, split into ``STRANDS`` strands."""
        yield from self.segments(min(STRANDS, self.inputs.shape[1]))

    def batches(self, size: int) -> int:
        """Return the number of segments of the text, split into ``size`` strands."""
        return -(-(self.inputs.shape[1] // size) // self.segment)

    def epoch(self, orders: Tensor, size: int, skip: int = 0) -> Iterator[Self]:
        """Yield the segments of the text, split into ``size`` strands, for as many members as there are orders."""
        for segment in islice(self.segments(size), skip, None):
            yield segment.shared(len(orders))

    def segments(self, strands: int) -> Iterator[Self]:
        """Yield the text split into ``strands`` of equal length, as segments (strands, length) in order.

        An incomplete strand is dropped; the last segment may be shorter.

        Raises:
            ValueError: The text has fewer steps than there are strands.
        """
        if not (steps := self.inputs.shape[1] // strands):
            raise ValueError(f"A text of {self.inputs.shape[1]} steps cannot be folded into {strands} strands.")
        whole = self.take(torch.zeros(1, dtype=torch.int64, device=self.inputs.device))
        inputs, targets = (part[0, : steps * strands].view(strands, steps) for part in (whole.inputs, whole.targets))
        for start in range(0, steps, self.segment):
            end = start + self.segment
            yield whole._with(inputs=inputs[:, start:end], targets=targets[:, start:end])
