"""Loops whose loss reads only the last step: their gradient vanishes backward in time, through subnormal numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import torch
from torch import Tensor, nn

from longwave.models.base.sequence import SequenceLayer
from longwave.models.kernels.cpu.run import keeping_subnormals
from longwave.platform.bench.loops import PlainLoop
from longwave.platform.bench.peers import OtherLSTM
from longwave.platform.bench.sizes import LAYERS, Size, make_layer
from longwave.platform.bench.turns import Contender, fastest_turns, network_contender

OTHER = "torch's LSTM"
"""Used in place of a cell's name."""


@dataclass(frozen=True)
class Vanishing:
    """One cell at one size, with a loss only on the last step. Times are µs per step.

    Attributes:
        cell, size: What was measured.
        forward, backward: Times of its loop.
        whole: The backward pass for a loss on all steps.
        kept: The backward pass without flushing of subnormal numbers.
        eager, fused: The plain loop, and ours timed in turns with it, forward and backward; None for torch's LSTM and
            for models without a plain loop.
        capped: Steps of ``eager``. If below T, its time is scaled.
    """

    cell: str
    size: Size
    forward: float
    backward: float
    whole: float
    kept: float
    eager: float | None
    fused: float | None
    capped: int

    @property
    def ratios(self) -> dict[str, float]:
        """Backward pass over that for all steps, unflushed over flushed backward pass, and the plain loop over ours."""
        backward_ratios = {"last": self.backward / self.whole, "kept": self.kept / self.backward}
        return backward_ratios | ({"eager": self.eager / self.fused} if self.eager and self.fused else {})


class LastStep(nn.Module):
    """The features of the last step, (T, B, p) to (B, d), of a layer or another network."""

    def __init__(self, run: nn.Module) -> None:
        super().__init__()
        self.run = run

    def forward(self, x: Tensor) -> Tensor:
        """Return what a layer's read-out receives, or another network's last output."""
        features = self.run(x)
        last: Tensor = self.run.readout(*features) if isinstance(self.run, SequenceLayer) else features[-1]
        return last


def measure_vanishing(cell: str, size: Size, repeats: int, seconds: float, cap: int) -> Vanishing:
    """Return the times of a loop whose loss reads only the last step, measured on one CPU thread.

    Args:
        cell: A cell's or a model's name, or ``OTHER``.
        size: Size of the call.
        repeats, seconds: As for ``fastest_turns``.
        cap: Maximal steps of the plain loop, whose time is scaled to the full length.
    """
    x, layer = torch.randn(size.shape), None if cell == OTHER else make_layer(cell, size, torch.device("cpu"))
    run = layer or OtherLSTM(size.inputs, size.hidden)
    last = network_contender(LastStep(run), x)
    contenders = {
        "last": last,
        "whole": network_contender(run, x),
        "kept": Contender(keep_subnormals(last.once), size.steps),
    }
    best = fastest_turns(contenders, repeats, seconds)
    eager, fused = None, None
    if layer is not None and cell in LAYERS:  # timed apart, because it evicts the caches of the next contender
        plain = network_contender(LastStep(PlainLoop(layer)), x[:cap])
        eager, fused = map(sum, fastest_turns({"eager": plain, "last": last}, repeats, seconds).values())
    backward = {name: times[1] for name, times in best.items()}
    capped = min(cap, size.steps)
    return Vanishing(cell, size, *best["last"], backward["whole"], backward["kept"], eager, fused, capped)


def keep_subnormals(once: Callable[[], tuple[float, float]]) -> Callable[[], tuple[float, float]]:
    """Return ``once`` without flushing of subnormal numbers, in our loops and in this thread, which otherwise flushes
    them."""

    def kept() -> tuple[float, float]:
        torch.set_flush_denormal(False)
        try:
            with keeping_subnormals():
                return once()
        finally:
            torch.set_flush_denormal(True)

    return kept


def gain_text(lines: Sequence[Vanishing]) -> str:
    """Return a sentence on what flushing gains on this machine."""
    gains = [line.ratios["kept"] for line in lines]
    times = f"from {min(gains):.2f} to {max(gains):.2f} times as long as with them flushed"
    return f"With subnormal numbers kept, the backward pass takes {times}, median {median(gains):.2f}."
