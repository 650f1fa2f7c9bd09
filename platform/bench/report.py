"""Results of ``longwave bench kernels``: errors, times, ratios, and which targets they meet."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from longwave.platform.bench.sizes import EIGENWORMS, FITZHUGH, PSMNIST, SHORT_ADDING, Size
from longwave.platform.bench.vanishing import OTHER, Vanishing

EXACT = 1e-5
"""Largest relative error of a float32 loop."""


@dataclass(frozen=True)
class Timing:
    """One cell at one size, without members. Times are µs per step, forward and backward together unless stated.

    Attributes:
        cell, size: What was measured.
        path, reason: How our loop runs, and why.
        error: Worst relative error of values and gradients against float64, over at most ``CAP`` steps.
        forward, backward: Our loop.
        gemm: Only the matrix products, as torch runs them.
        rate: Independent multiply-adds per second of one thread; None on a GPU and without a compiler.
        floor: Lower bound for any implementation on this machine; None for a loop without products on a CPU.
        eager, compiled: The plain loop as its authors write it, and the same with a step compiled by torch.compile.
        lstm: torch.nn.LSTM of the same size.
        peer: The other checkout's LEM.
        capped: Steps of ``eager``, ``compiled`` and ``peer``. If below T, their times are scaled.
    """

    cell: str
    size: Size
    path: str
    reason: str
    error: float
    forward: float
    backward: float
    gemm: float
    rate: float | None
    floor: float | None
    eager: float
    compiled: float | None
    lstm: float
    peer: float | None
    capped: int

    @property
    def exact(self) -> bool:
        """Whether the loop is as exact as single precision allows."""
        return self.error < EXACT

    @property
    def ratios(self) -> dict[str, float]:
        """Our time over floor and products, and the other times over ours; only those that were measured."""
        ours = self.forward + self.backward
        under = {"floor": self.floor, "gemm": self.gemm}
        over = {"eager": self.eager, "compiled": self.compiled, "lstm": self.lstm, "peer": self.peer}
        return {k: ours / v for k, v in under.items() if v} | {k: v / ours for k, v in over.items() if v}

    @property
    def roofline(self) -> dict[str, float]:
        """GFlop/s of our products and of independent multiply-adds, and the share; none without a floor or a rate."""
        if not self.floor or not self.rate:
            return {}
        share, peak = self.floor / (self.forward + self.backward), 2e-9 * self.rate
        return {"reached": peak * share, "peak": peak, "share": share}


@dataclass(frozen=True)
class PackLine:
    """LEM in a pack: ms of forward and backward for one member alone, and for all members in one call."""

    size: Size
    members: int
    threads: int
    one: float
    pack: float

    @property
    def ratio(self) -> float:
        """Cost of the pack, in units of one member trained alone."""
        return self.pack / self.one


@dataclass(frozen=True)
class KernelReport:
    """All measurements.

    Attributes:
        versions: Of packages and the machine, by name.
        device: The device; lines run on one thread.
        lines, vanishing, packs: The measurements.
        budgets: Costs of the GPU kernels as compiled, by cell, direction and hidden size.
        notes: Which other checkout was used, and what could not be measured.
        failed: Measurements that raised an error.
    """

    versions: dict[str, str]
    device: str
    lines: list[Timing] = field(default_factory=list)
    vanishing: list[Vanishing] = field(default_factory=list)
    packs: list[PackLine] = field(default_factory=list)
    budgets: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Whether every line ran and agrees with float64."""
        return not self.failed and all(line.exact for line in self.lines)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data, with ratios, rooflines and targets."""
        lines = [asdict(line) | {"ratios": line.ratios, "roofline": line.roofline} for line in self.lines]
        vanishing = [asdict(line) | {"ratios": line.ratios} for line in self.vanishing]
        packs = [asdict(pack) | {"ratio": pack.ratio} for pack in self.packs]
        judged = [target.to_dict() for target in judge_targets(self)]
        parts = {"lines": lines, "vanishing": vanishing, "packs": packs, "targets": judged}
        return {**asdict(self), "sound": self.sound, **parts}


@dataclass(frozen=True)
class Target:
    """A measured ratio and what it should be: at least ``bound``, or at most if ``at_most``."""

    what: str
    ratio: float
    bound: float
    at_most: bool = False

    @property
    def met(self) -> bool:
        """Whether it is met."""
        return self.ratio <= self.bound if self.at_most else self.ratio >= self.bound

    def to_dict(self) -> dict[str, Any]:
        """Return the target as written in reports."""
        return {"what": self.what, "found": self.ratio, "bound": self.bound, "most": self.at_most, "met": self.met}


_OTHERS = ("cornn", "lipschitz_euler", "lipschitz_rk2", "tau_gru", "unicornn")
ON_PROCESSOR = {
    ("lem", FITZHUGH): {"eager": 30.0, "lstm": 1.0},
    ("lem", PSMNIST): {"eager": 2.6, "lstm": 1.2, "gemm": 1.5},
    **{(cell, FITZHUGH): {"eager": 8.0} for cell in _OTHERS},
    **{(cell, PSMNIST): {"eager": 1.8} for cell in _OTHERS},
}
"""Target ratios on one thread; ``gemm`` and ``floor`` are upper bounds."""
SIZES = {size for _, size in ON_PROCESSOR} | {SHORT_ADDING}
LAST = 1.15
"""Largest time of the backward pass for a loss on the last step, relative to a loss on all steps."""
ON_GPU = {
    ("lem", PSMNIST): {"eager": 150.0, "lstm": 2.0, "peer": 30.0},
    ("lem", EIGENWORMS): {"eager": 400.0, "lstm": 2.0, "peer": 80.0},
    ("lipschitz_euler", PSMNIST): {"eager": 130.0, "lstm": 4.0},
    ("lipschitz_rk2", PSMNIST): {"eager": 250.0, "lstm": 2.0},
    ("tau_gru", PSMNIST): {"eager": 150.0, "lstm": 2.5},
    ("unicornn", PSMNIST): {"eager": 40.0, "lstm": 8.0},
    ("lstm", PSMNIST): {"lstm": 1.5},
    ("gru", PSMNIST): {"lstm": 1.5},
}
"""Target ratios on an H200."""
PACKS = {("cpu", 16, FITZHUGH): 8.0, ("cuda", 64, EIGENWORMS): 1.3}
"""Largest cost of a pack, in units of one member, by device, members and size."""
NAMES = {
    "eager": "times faster than the plain loop",
    "lstm": "times faster than torch's LSTM",
    "peer": "times faster than the other checkout",
    "gemm": "times its products alone",
}
"""Meaning of each ratio."""


def judge_targets(report: KernelReport) -> list[Target]:
    """Return the targets for the report's lines, with the measured ratios."""
    kind = report.device.split(":")[0]
    bounds, judged = ON_PROCESSOR if kind == "cpu" else ON_GPU, []
    for line in report.lines:
        for name, bound in bounds.get((line.cell, line.size), {}).items():
            if name in line.ratios:
                what = f"{line.cell}, {line.size}: {NAMES[name]}"
                judged.append(Target(what, line.ratios[name], bound, at_most=name == "gemm"))
    for loop in report.vanishing:
        if "eager" in loop.ratios and (min_ratio := bounds.get((loop.cell, loop.size), {}).get("eager")):
            what = f"{loop.cell}, {loop.size}, loss on the last step: {NAMES['eager']}"
            judged.append(Target(what, loop.ratios["eager"], min_ratio))
    if backs := [loop.ratios["last"] for loop in report.vanishing if loop.cell != OTHER and loop.size in SIZES]:
        what = "slowest backward pass, loss on the last step over loss on all steps"
        judged.append(Target(what, max(backs), LAST, at_most=True))
    for pack in report.packs:
        if limit := PACKS.get((kind, pack.members, pack.size)):
            what = f"pack of {pack.members}, {pack.size}: times one member, threads: {pack.threads}"
            judged.append(Target(what, pack.ratio, limit, at_most=True))
    return judged
