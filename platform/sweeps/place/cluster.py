"""The devices of a sweep, the probes of its packs there, and an estimate of where packs train and for how long."""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from longwave.platform.errors import ConfigError
from longwave.platform.records.probe import CPU, Probe, load_key
from longwave.platform.records.stored import sum_by_device
from longwave.platform.records.trial import TrialConfig
from longwave.platform.sweeps.place.devices import PARTS, DevicePool, Slot, packs_per_gpu, spread_over_gpus

USABLE = 0.9
"""Share of a device's memory that packs may fill: fragmentation wastes the rest."""
MAX_PACKS_PER_GPU = 16
"""Each pack is a process with its own CUDA context."""

Packs = Mapping[str, Sequence[TrialConfig]]


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
        """Return the greatest number of members that fits on a device, at least 1; None without a probe.

        If a probe ran out of memory, it is half of that probe's members.

        Args:
            config: A trial of the pack.
            kind: Kind of device.
            sharing: Number of packs that share its memory.
        """
        probes, fitting = self._of(config, kind), self._fitting(config, kind)
        limits = [p.members // 2 for p in probes if not p.fits]
        if fitting:
            fixed, per_member = _fit_line([(p.members, float(p.bytes)) for p in fitting])
            limits.append(
                int((USABLE * fitting[0].capacity / sharing - fixed) / per_member)
                if per_member > 0
                else fitting[-1].members
            )
        return max(1, min(limits)) if limits else None

    def share(self, config: TrialConfig, kind: str, members: int) -> float:
        """Return the share of a GPU that a pack takes: 1 divided by a whole number; 1 without a probe.

        It covers the memory that the pack needs, and the time that it keeps the GPU busy, if NVML reported that.
        """
        fitting = self._fitting(config, kind)
        if not fitting:
            return 1.0
        memory = _interpolate(members, [(p.members, float(p.bytes)) for p in fitting]) / (USABLE * fitting[0].capacity)
        busy = [(p.members, p.busy) for p in fitting if p.busy is not None]
        needed_share = max(memory, _interpolate(members, busy) if busy else 0.0, 1 / MAX_PACKS_PER_GPU)
        return PARTS // max(1, int(1 / needed_share)) / PARTS

    def epoch(self, config: TrialConfig, kind: str, members: int) -> float | None:
        """Return the seconds of an epoch of a pack; None without a probe."""
        fitting = self._fitting(config, kind)
        return _interpolate(members, [(p.members, p.epoch) for p in fitting]) if fitting else None

    def _of(self, config: TrialConfig, kind: str) -> list[Probe]:
        return self._all.get((kind, load_key(config)), [])

    def _fitting(self, config: TrialConfig, kind: str) -> list[Probe]:
        return [p for p in self._of(config, kind) if p.fits]


def _fit_line(points: list[tuple[int, float]]) -> tuple[float, float]:
    """Return intercept and slope of the line through the first and last point; of a single point, through 0."""
    (a, low), (b, high) = points[0], points[-1]
    slope = max((high - low) / (b - a), 0.0) if b > a else low / a
    return max(low - slope * a, 0.0), slope


def _interpolate(members: int, points: list[tuple[int, float]]) -> float:
    """Return the value at ``members``; no less than that of the smallest pack that was probed."""
    fixed, per_member = _fit_line(points)
    return max(points[0][1], fixed + per_member * members)


PROBED_MEMBERS = 8
"""Members of the larger of the two packs that are probed for each load; the other has one."""


@dataclass(frozen=True)
class Cluster:
    """The devices of a sweep, and the probes of its packs there.

    Attributes:
        pool: All devices, all of them free.
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
        """Return the greatest number of members of a pack that fits on every device; None without a probe."""
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

        There are two packs of each load: a line through them predicts any size. No pack is larger than known to fit.
        """
        groups: dict[str, list[TrialConfig]] = {}
        for config in configs:
            groups.setdefault(load_key(config), []).append(config)
        for group in groups.values():
            same_shape = [c for c in group if c.shape == group[0].shape]
            for kind in self.pool.kinds:
                if not self.probed.known(group[0], kind):
                    members_at_most = min(
                        PROBED_MEMBERS, len(same_shape), self.probed.max_members(group[0], kind) or PROBED_MEMBERS
                    )
                    yield from ((kind, same_shape[:members]) for members in sorted({1, members_at_most}))

    def with_probes(self, probes: Sequence[Probe]) -> Cluster:
        """Return the cluster with other probes."""
        return Cluster(self.pool, self.gpus, ProbeTable(probes))


@dataclass(frozen=True)
class SweepEstimate:
    """Where packs are expected to train, and how long they take, one stage after another.

    Attributes:
        placed: Number of packs by kind of device, share of a device that each takes, and number of members.
        seconds: Time from start to end, without starting workers.
        held: Device seconds by kind.
        unknown: Number of packs by model without a probe on their device; their seconds are missing.
    """

    placed: Mapping[tuple[str, float, int], int]
    seconds: float
    held: Mapping[str, float]
    unknown: Mapping[str, int]


def estimate_stages(cluster: Cluster, stages: Sequence[Packs]) -> SweepEstimate:
    """Return an estimate for packs handed out as the queue does; each stage waits for the previous one.

    Args:
        cluster: The devices.
        stages: Packs by key.
    """
    placed, unknown, held, seconds = Counter[tuple[str, float, int]](), Counter[str](), dict[str, float](), 0.0
    for packs in stages:
        shares = cluster.gpu_shares(packs)

        def train_seconds(key: str, slot: Slot, packs: Packs = packs) -> float:
            first, members = packs[key][0], len(packs[key])
            placed[slot.kind, slot.devices, members] += 1
            epoch = cluster.probed.epoch(first, slot.kind, members)
            unknown.update([first.model] if epoch is None else ())
            return (epoch or 0.0) * first.epochs

        stage_seconds, held_in_stage = _simulate(cluster.pool.emptied(), shares, train_seconds)
        seconds, held = seconds + stage_seconds, sum_by_device(held, held_in_stage)
    return SweepEstimate(placed, seconds, held, unknown)


def _simulate(
    pool: DevicePool, packs: Mapping[str, Mapping[str, float]], seconds: Callable[[str, Slot], float]
) -> tuple[float, dict[str, float]]:
    """Hand packs out as slots become free; return the time at which the last ends, and how long devices were held."""
    waiting, now, held = dict(packs), 0.0, dict[str, float]()
    ends: list[tuple[float, int, Slot]] = []
    while waiting or ends:
        for key, shares in [*waiting.items()]:
            if slot := pool.take_slot(shares):
                del waiting[key]
                duration = seconds(key, slot)
                held = sum_by_device(held, {slot.kind: duration * slot.devices})
                heapq.heappush(ends, (now + duration, len(waiting), slot))
        if not ends:
            return math.inf, held
        now, _, slot = heapq.heappop(ends)
        pool.return_slot(slot)
    return now, held


def like_retrainings(trials: Sequence[TrialConfig], count: int) -> list[TrialConfig]:
    """Return trials like the retrainings of a search, whose winner is not known yet."""
    return [replace(trials[0], phase="retrain", halving=None, seed=k) for k in range(count)] if trials else []


def parse_prices(text: str) -> dict[str, float]:
    """Return prices per hour by kind of device from ``A100=2.5,cpu=0.04``; a single number is the price of any kind.

    Raises:
        ConfigError: The text has another form.
    """
    prices: dict[str, float] = {}
    for part in filter(None, text.split(",")):
        kind, _, price = part.strip().rpartition("=")
        if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?", price):
            raise ConfigError(f"--price is a number for an hour of a device, 2.5 or A100=2.5,T4=0.4; got {text!r}.")
        if (kind := kind.strip()) in prices:
            raise ConfigError(f"--price has one number for each kind, got two for {kind or 'any'}: {text!r}. Keep one.")
        prices[kind] = float(price)
    return prices


def total_cost(held: Mapping[str, float], price: Mapping[str, float]) -> float | None:
    """Return the cost of device seconds; None if a kind has no price, or nothing has."""
    price_of = {kind: price.get(kind, price.get("")) for kind in held}
    if not price or any(p is None for p in price_of.values()):
        return None
    return sum(seconds / 3600 * (price_of[kind] or 0.0) for kind, seconds in held.items())
