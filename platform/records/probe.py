"""What a pack took of a device when it was tried: what placement knows of memory and time."""

from __future__ import annotations

from dataclasses import dataclass

from longwave.platform.records.identity import digest
from longwave.platform.records.trial import TrialConfig

CPU = "cpu"
"""The kind of device of a pack on cores."""
ELSEWHERE = ("phase", "seed", "drops", "epochs", "halving", "selection")
"""Fields of a trial that change neither the memory nor the time of a step."""


@dataclass(frozen=True)
class Probe:
    """What one pack took of one device.

    Attributes:
        kind: Of device: ``cpu``, or Ray's name of a GPU's type, such as ``A100``.
        shape: Of its trials, as ``load`` says.
        members: Trials in the pack.
        bytes: Memory at its peak; where memory ran out, all there was.
        capacity: Memory of the device, bytes.
        step: Seconds of a training step.
        epoch: Seconds of an epoch, its validation included.
        busy: Part of the time that a GPU was at work, 0 to 1; None where NVML does not say.
        fits: False where memory ran out.
    """

    kind: str
    shape: str
    members: int
    bytes: int
    capacity: int
    step: float = 0.0
    epoch: float = 0.0
    busy: float | None = None
    fits: bool = True


def load_key(config: TrialConfig) -> str:
    """Return a name of what a trial asks of a device: equal for trials whose steps take the same memory and time."""
    fields = {name: value for name, value in config.to_dict().items() if name not in ELSEWHERE}
    return digest({**fields, "params": sorted(config.params), "clip": config.clip is None})
