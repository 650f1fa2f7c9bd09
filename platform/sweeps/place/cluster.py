"""The devices of a sweep, and what probes say of its packs there: how large they may be, and their shares of a GPU."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from longwave.platform.records.probe import CPU, Probe, load_key
from longwave.platform.records.trial import TrialConfig
from longwave.platform.sweeps.place.devices import PARTS, DevicePool, packs_per_gpu, spread_over_gpus
from longwave.platform.sweeps.place.probes import ProbeTable

PROBED_MEMBERS = 8
"""Members of the larger of the two packs that are probed of a load; the other has one."""


@dataclass(frozen=True)
class Cluster:
    """The devices of a sweep, and what probes say of its packs there.

    Attributes:
        pool: Of all devices, with all free.
        gpus: Share of a GPU that a pack takes; None for a measured one.
        probed: The probes of its packs.
    """

    pool: DevicePool
    gpus: float | None = None
    probed: ProbeTable = field(default_factory=ProbeTable)

    @property
    def count(self) -> int:
        """Number of packs that train at a time, over which trials are divided."""
        return self.pool.count

    def max_members(self, config: TrialConfig) -> int | None:
        """Return the greatest number of members of a pack that fits on every device; None where nothing was probed."""
        packs_per_node = min(self.pool.packs_per_node, self.count)
        limits = (self.probed.max_members(config, k, packs_per_node if k == CPU else 1) for k in self.pool.kinds)
        return min((limit for limit in limits if limit is not None), default=None)

    def gpu_shares(
        self, packs: Mapping[str, Sequence[TrialConfig]], before: int = 0, after: int = 0
    ) -> dict[str, dict[str, float]]:
        """Return the share of a GPU that each pack takes, by kind: the kind with the shortest epoch first.

        Args:
            packs: By key.
            before, after: Numbers of packs handed out before these, and still to be handed out after them.
        """
        gpus = sum(m.gpus for m in self.pool.nodes)
        total = before + len(packs) + after
        packs_per_gpu = spread_over_gpus(total, gpus) if gpus else [1] * total
        return {
            key: self._gpu_shares_of(configs[0], len(configs), on_same_gpu)
            for (key, configs), on_same_gpu in zip(packs.items(), packs_per_gpu[before:], strict=False)
        }

    def _gpu_shares_of(self, config: TrialConfig, members: int, on_same_gpu: int) -> dict[str, float]:
        kinds = [kind for kind in self.pool.kinds if kind != CPU]
        seconds = {kind: self.probed.epoch(config, kind, members) for kind in kinds}
        kinds.sort(key=lambda kind: seconds[kind] or math.inf)
        if self.gpus:
            return dict.fromkeys(kinds, self.gpus)
        fitting = {kind: packs_per_gpu(self.probed.share(config, kind, members)) for kind in kinds}
        return {kind: PARTS // min(packs, on_same_gpu) / PARTS for kind, packs in fitting.items()}

    def untried_packs(self, configs: Sequence[TrialConfig]) -> Iterator[tuple[str, list[TrialConfig]]]:
        """Yield the packs to probe before these trials are divided, each with a kind of device.

        There are two packs of each load: a line through them predicts any size. No pack is larger than is known to fit.
        """
        groups: dict[str, list[TrialConfig]] = {}
        for config in configs:
            groups.setdefault(load_key(config), []).append(config)
        for group in groups.values():
            same = [c for c in group if c.shape == group[0].shape]
            for kind in self.pool.kinds:
                if not self.probed.known(group[0], kind):
                    members_at_most = min(
                        PROBED_MEMBERS, len(same), self.probed.max_members(group[0], kind) or PROBED_MEMBERS
                    )
                    yield from ((kind, same[:members]) for members in sorted({1, members_at_most}))

    def with_probes(self, probes: Sequence[Probe]) -> Cluster:
        """Return the cluster with other probes."""
        return Cluster(self.pool, self.gpus, ProbeTable(probes))
