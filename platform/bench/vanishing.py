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
"""Stands where a cell's name does."""


@dataclass(frozen=True)
class Vanishing:
    """One cell at one size, with a loss on the last step alone. Times are µs a step.

    Attributes:
        cell, size: What runs.
        forward, backward: Its loop.
        whole: The backward pass from a loss on all steps.
        kept: The backward pass with subnormal numbers kept.
        eager, fused: The plain loop, and ours in turns with it, forward and backward; None for torch's own and for
            a model that has no plain loop here.
        capped: Steps that ``eager`` ran. Where it is below T its time is scaled.
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
        """Backward pass over that from all steps, with subnormal numbers over without, and the plain loop over ours."""
        known = {"last": self.backward / self.whole, "kept": self.kept / self.backward}
        return known | ({"eager": self.eager / self.fused} if self.eager and self.fused else {})


class LastStep(nn.Module):
    """What a read-out of the last step sees of a layer or of another network, (T, B, p) to (B, d)."""

    def __init__(self, run: nn.Module) -> None:
        super().__init__()
        self.run = run

    def forward(self, x: Tensor) -> Tensor:
        """Return a layer's own read-out, and another network's last output."""
        features = self.run(x)
        last: Tensor = self.run.readout(*features) if isinstance(self.run, SequenceLayer) else features[-1]
        return last


def measure_vanishing(cell: str, size: Size, repeats: int, seconds: float, cap: int) -> Vanishing:
    """Return what a loop takes where its loss reads the last step alone; measured on a processor's one thread.

    Args:
        cell: A cell's or a model's name, or ``OTHER``.
        size: Of the call.
        repeats, seconds: As ``fastest_turns`` takes them.
        cap: Most steps of the plain loop; its time is scaled to the whole.
    """
    x, own = torch.randn(size.shape), None if cell == OTHER else make_layer(cell, size, torch.device("cpu"))
    run = own or OtherLSTM(size.inputs, size.hidden)
    last = network_contender(LastStep(run), x)
    alike = {
        "last": last,
        "whole": network_contender(run, x),
        "kept": Contender(keep_subnormals(last.once), size.steps),
    }
    best = fastest_turns(alike, repeats, seconds)
    eager, fused = None, None
    if (
        own is not None and cell in LAYERS
    ):  # in turns of its own: what comes after it finds the caches full of other things
        plain = network_contender(LastStep(PlainLoop(own)), x[:cap])
        eager, fused = map(sum, fastest_turns({"eager": plain, "last": last}, repeats, seconds).values())
    back = {name: times[1] for name, times in best.items()}
    capped = min(cap, size.steps)
    return Vanishing(cell, size, *best["last"], back["whole"], back["kept"], eager, fused, capped)


def keep_subnormals(once: Callable[[], tuple[float, float]]) -> Callable[[], tuple[float, float]]:
    """Return the same with subnormal numbers kept, by our loops and in this thread; it is one that flushes them."""

    def kept() -> tuple[float, float]:
        torch.set_flush_denormal(False)
        try:
            with keeping_subnormals():
                return once()
        finally:
            torch.set_flush_denormal(True)

    return kept


def gain_text(lines: Sequence[Vanishing]) -> str:
    """Return in words what flushing gains on this machine."""
    kept = [line.ratios["kept"] for line in lines]
    times = f"from {min(kept):.2f} to {max(kept):.2f} times as long as with them flushed"
    return f"With subnormal numbers kept, the backward pass takes {times}, median {median(kept):.2f}."
