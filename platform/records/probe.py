"""Measured memory and time of a pack on a device, which placement uses."""

from __future__ import annotations

from dataclasses import dataclass

from longwave.platform.records.identity import digest
from longwave.platform.records.trial import TrialConfig

CPU = "cpu"
"""Device kind of a pack on CPU cores."""
ELSEWHERE = ("phase", "seed", "drops", "epochs", "halving", "selection")
"""Fields of a trial that change neither the memory nor the time of a step."""


@dataclass(frozen=True)
class Probe:
    """The measurement of one pack on one device.

    Attributes:
        kind: Device kind: ``cpu``, or Ray's name of a GPU's type, such as ``A100``.
        shape: Shape of its trials; see ``load_key``.
        members: Trials in the pack.
        bytes: Peak memory; if memory ran out, all there was.
        capacity: Memory of the device, bytes.
        step: Seconds of a training step.
        epoch: Seconds of an epoch, its validation included.
        busy: Utilisation of a GPU, 0 to 1; None if NVML does not report it.
        fits: False if memory ran out.
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
    """Return a key that is equal for trials whose steps take the same memory and time."""
    fields = {name: value for name, value in config.to_dict().items() if name not in ELSEWHERE}
    return digest({**fields, "params": sorted(config.params), "clip": config.clip is None})
