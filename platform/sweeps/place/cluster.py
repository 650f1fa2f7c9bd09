"""What a sweep's packs may go to, and what is known of them there: how large they may be, which share of a GPU each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from longwave.platform.records.probe import CPU, Probe, load_key
from longwave.platform.records.trial import TrialConfig
from longwave.platform.sweeps.place.devices import PARTS, DevicePool, packs_per_gpu, spread_over_gpus
from longwave.platform.sweeps.place.probes import ProbeTable

PROBED_MEMBERS = 8
"""Members of the larger of the two packs that are tried of a load; the other has one."""


@dataclass(frozen=True)
class Cluster:
    """The places of a sweep.

    Attributes:
        room: With all free.
        gpus: Share of a GPU that a pack is to take; None for a measured one.
        probed: What probes say.
    """

    room: DevicePool
    gpus: float | None = None
    probed: ProbeTable = field(default_factory=ProbeTable)

    @property
    def count(self) -> int:
        """How many packs the trials are divided over."""
        return self.room.count

    def most(self, config: TrialConfig) -> int | None:
        """Return the members that a pack of such trials may have on any device; None where nothing was probed."""
        beside = min(self.room.beside, self.count)
        found = (self.probed.most(config, k, beside if k == CPU else 1) for k in self.room.kinds)
        return min((most for most in found if most is not None), default=None)

    def shares(
        self, packs: Mapping[str, Sequence[TrialConfig]], before: int = 0, after: int = 0
    ) -> dict[str, dict[str, float]]:
        """Return the share of a GPU that each pack takes, by kind: the kind with the shortest epoch first.

        Args:
            packs: By key.
            before, after: How many others were handed out before them, and will be after them.
        """
        gpus = sum(m.gpus for m in self.room.machines)
        every = before + len(packs) + after
        beside = spread_over_gpus(every, gpus) if gpus else [1] * every
        return {
            key: self._shares(configs[0], len(configs), most)
            for (key, configs), most in zip(packs.items(), beside[before:], strict=False)
        }

    def _shares(self, config: TrialConfig, members: int, beside: int) -> dict[str, float]:
        kinds = [kind for kind in self.room.kinds if kind != CPU]
        known = {kind: self.probed.epoch(config, kind, members) for kind in kinds}
        kinds.sort(key=lambda kind: known[kind] or math.inf)
        if self.gpus:
            return dict.fromkeys(kinds, self.gpus)
        needed = {kind: packs_per_gpu(self.probed.share(config, kind, members)) for kind in kinds}
        return {kind: PARTS // min(most, beside) / PARTS for kind, most in needed.items()}

    def untried(self, configs: Sequence[TrialConfig]) -> Iterator[tuple[str, list[TrialConfig]]]:
        """Yield what is to be probed before these trials are divided: kinds of devices, each with a pack.

        Of each load two packs: the line through them tells of any size. No pack has more members than are known to fit.
        """
        groups: dict[str, list[TrialConfig]] = {}
        for config in configs:
            groups.setdefault(load_key(config), []).append(config)
        for group in groups.values():
            same = [c for c in group if c.shape == group[0].shape]
            for kind in self.room.kinds:
                if not self.probed.known(group[0], kind):
                    most = min(PROBED_MEMBERS, len(same), self.probed.most(group[0], kind) or PROBED_MEMBERS)
                    yield from ((kind, same[:members]) for members in sorted({1, most}))

    def knowing(self, probes: Sequence[Probe]) -> Cluster:
        """Return the cluster with other probes."""
        return Cluster(self.room, self.gpus, ProbeTable(probes))
