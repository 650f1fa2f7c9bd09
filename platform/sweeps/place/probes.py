"""What probes say of packs: how large one may be, which share of a GPU it takes, how long it trains. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from longwave.platform.records.probe import Probe, load_key
from longwave.platform.records.trial import TrialConfig
from longwave.platform.sweeps.place.devices import PARTS

USABLE = 0.9
"""Part of a device's memory that packs may fill: blocks of different sizes leave holes."""
MOST_A_GPU = 16
"""Packs on one GPU at most: each is a process with a context of its own."""


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

    def most(self, config: TrialConfig, kind: str, beside: int = 1) -> int | None:
        """Return the members that a device holds at most, 1 at least; None where nothing was probed.

        Where memory ran out it is half of those with whom it did.

        Args:
            config: A trial of the pack.
            kind: Of device.
            beside: Packs that share its memory.
        """
        of, fitting = self._of(config, kind), self._fitting(config, kind)
        limits = [p.members // 2 for p in of if not p.fits]
        if fitting:
            fixed, each = _fit_line([(p.members, float(p.bytes)) for p in fitting])
            limits.append(
                int((USABLE * fitting[0].capacity / beside - fixed) / each) if each > 0 else fitting[-1].members
            )
        return max(1, min(limits)) if limits else None

    def share(self, config: TrialConfig, kind: str, members: int) -> float:
        """Return the share of a GPU that a pack takes: one over a whole number; 1 where nothing was probed.

        It has the memory it needs, and of the GPU's time what it keeps it busy for, where NVML said that.
        """
        fitting = self._fitting(config, kind)
        if not fitting:
            return 1.0
        memory = _interpolate(members, [(p.members, float(p.bytes)) for p in fitting]) / (USABLE * fitting[0].capacity)
        busy = [(p.members, p.busy) for p in fitting if p.busy is not None]
        needed = max(memory, _interpolate(members, busy) if busy else 0.0, 1 / MOST_A_GPU)
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
    """Return what is fixed and what each member adds, by the first and the last point; all is the members' by one."""
    (a, low), (b, high) = points[0], points[-1]
    each = max((high - low) / (b - a), 0.0) if b > a else low / a
    return max(low - each * a, 0.0), each


def _interpolate(members: int, points: list[tuple[int, float]]) -> float:
    """Return what ``members`` take; no less than the smallest pack that was probed."""
    fixed, each = _fit_line(points)
    return max(points[0][1], fixed + each * members)
