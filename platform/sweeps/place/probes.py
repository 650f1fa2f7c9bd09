"""Predictions from probes: how large a pack may be, its share of a GPU, how long it trains. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from longwave.platform.records.probe import Probe, load_key
from longwave.platform.records.trial import TrialConfig
from longwave.platform.sweeps.place.devices import PARTS

USABLE = 0.9
"""Part of a device's memory that packs may fill: fragmentation wastes the rest."""
MAX_PACKS_PER_GPU = 16
"""Each pack is a process with a CUDA context of its own."""


class ProbeTable:
    """Probes by kind of device and by load.

    Args:
        probes: As the store has them.
    """

    def __init__(self, probes: Iterable[Probe] = ()) -> None:
        self._all: dict[tuple[str, str], list[Probe]] = {}
        for probe in sorted(probes, key=lambda p: p.members):
            self._all.setdefault((probe.kind, probe.shape), []).append(probe)

    def known(self, config: TrialConfig, kind: str) -> bool:
        """Return whether a pack of such trials was probed there, and memory has not run out since."""
        return bool(self._fitting(config, kind))

    def max_members(self, config: TrialConfig, kind: str, sharing: int = 1) -> int | None:
        """Return the greatest number of members that fits on a device, at least 1; None where nothing was probed.

        Where a probe ran out of memory, it is half of that probe's members.

        Args:
            config: A trial of the pack.
            kind: Kind of device.
            sharing: Number of packs that share its memory.
        """
        of_load, fitting = self._of(config, kind), self._fitting(config, kind)
        limits = [p.members // 2 for p in of_load if not p.fits]
        if fitting:
            fixed, each = _fit_line([(p.members, float(p.bytes)) for p in fitting])
            limits.append(
                int((USABLE * fitting[0].capacity / sharing - fixed) / each) if each > 0 else fitting[-1].members
            )
        return max(1, min(limits)) if limits else None

    def share(self, config: TrialConfig, kind: str, members: int) -> float:
        """Return the share of a GPU that a pack takes: one over a whole number; 1 where nothing was probed.

        It covers the memory that the pack needs, and the time that it keeps the GPU busy, if NVML reported that.
        """
        fitting = self._fitting(config, kind)
        if not fitting:
            return 1.0
        memory = _interpolate(members, [(p.members, float(p.bytes)) for p in fitting]) / (USABLE * fitting[0].capacity)
        busy = [(p.members, p.busy) for p in fitting if p.busy is not None]
        needed = max(memory, _interpolate(members, busy) if busy else 0.0, 1 / MAX_PACKS_PER_GPU)
        return PARTS // max(1, int(1 / needed)) / PARTS

    def epoch(self, config: TrialConfig, kind: str, members: int) -> float | None:
        """Return the seconds of an epoch of a pack; None where nothing was probed."""
        fitting = self._fitting(config, kind)
        return _interpolate(members, [(p.members, p.epoch) for p in fitting]) if fitting else None

    def _of(self, config: TrialConfig, kind: str) -> list[Probe]:
        return self._all.get((kind, load_key(config)), [])

    def _fitting(self, config: TrialConfig, kind: str) -> list[Probe]:
        return [p for p in self._of(config, kind) if p.fits]


def _fit_line(points: list[tuple[int, float]]) -> tuple[float, float]:
    """Return intercept and slope of the line through the first and the last point; through 0 if there is one point."""
    (a, low), (b, high) = points[0], points[-1]
    each = max((high - low) / (b - a), 0.0) if b > a else low / a
    return max(low - each * a, 0.0), each


def _interpolate(members: int, points: list[tuple[int, float]]) -> float:
    """Return the value at ``members``; no less than that of the smallest pack that was probed."""
    fixed, each = _fit_line(points)
    return max(points[0][1], fixed + each * members)
