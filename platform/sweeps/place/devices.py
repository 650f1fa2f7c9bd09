"""Assigns packs to nodes and devices, without side effects. GPUs come first; none is idle while packs wait."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from longwave.platform.records.probe import CPU

PARTS = 10_000
"""Ray's resolution: the smallest share of a GPU or a core is one part."""


@dataclass(frozen=True)
class ClusterNode:
    """The devices of a node.

    Attributes:
        cpus: Cores.
        gpus: GPUs.
        kind: Type of its GPUs, as Ray names it: ``A100``.
    """

    cpus: float
    gpus: int = 0
    kind: str = CPU


@dataclass(frozen=True)
class Slot:
    """Where a pack trains.

    Attributes:
        kind: Kind of device.
        gpus: Share of one GPU; 0 on cores.
        cpus: Number of cores, or a fraction of one.
        node, gpu: Their numbers; Ray itself chooses among equal ones.
    """

    kind: str = CPU
    gpus: float = 0.0
    cpus: float = 1.0
    node: int = 0
    gpu: int = 0

    @property
    def devices(self) -> float:
        """Number of devices it holds: a share of a GPU, or cores."""
        return self.gpus or self.cpus


def usable_nodes(nodes: Iterable[ClusterNode], cpu: bool = False, cpus: float = 1.0) -> list[ClusterNode]:
    """Return the nodes that packs may use.

    If any node has a GPU, only those with GPUs are used: a core would train its pack long after all GPUs are done.

    Args:
        nodes: All nodes.
        cpu: Whether to train on cores only.
        cpus: Cores of a pack.
    """
    usable = list(nodes)
    if not cpu and any(m.gpus for m in usable):
        return [m for m in usable if m.gpus]
    return [replace(m, gpus=0, kind=CPU) for m in usable if m.cpus >= cpus]


def requested_node(count: int, gpus: float | None, cpus: float = 1.0) -> ClusterNode:
    """Return a node that takes exactly ``count`` packs, each on a share ``gpus`` of a GPU or on ``cpus`` cores.

    It represents a cluster that has the requested devices, or starts nodes with them when packs wait.
    """
    needed = count * cpus
    return ClusterNode(needed, math.ceil(count / packs_per_gpu(gpus)), "GPU") if gpus else ClusterNode(needed)


def packs_per_gpu(share: float) -> int:
    """Return how many packs that take a share fit on a GPU."""
    return _count_fitting(1, share)


def _count_fitting(devices: float, share: float) -> int:
    return round(devices * PARTS) // round(share * PARTS)


def spread_over_gpus(packs: int, gpus: int) -> list[int]:
    """Return, for each pack in order, how many packs share its GPU, so that all GPUs are used evenly.

    Ray fills one GPU before it uses the next, so only the packs' shares can spread them.

    Args:
        packs: Number of waiting packs.
        gpus: Number of GPUs.
    """
    per_gpu, with_one_more = divmod(packs, gpus)
    return [per_gpu] * (per_gpu * (gpus - with_one_more)) + [per_gpu + 1] * ((per_gpu + 1) * with_one_more)


class DevicePool:
    """The free GPUs, or cores, of some nodes.

    A pack on a GPU also holds its share of the cores that the node has per GPU, ``cpus`` at most, so that a lack of
    cores never leaves a GPU idle.

    Args:
        nodes: As ``usable_nodes`` returns them.
        max_packs: Greatest number of packs at a time.
        cpus: Cores of a pack.
    """

    def __init__(self, nodes: Sequence[ClusterNode], max_packs: int | None = None, cpus: float = 1.0) -> None:
        self.nodes, self.max_packs, self.cpus, self.used = list(nodes), max_packs, cpus, 0
        self.gpus = [[PARTS] * m.gpus for m in self.nodes]
        self.free = [0 if m.gpus else _count_fitting(m.cpus, cpus) for m in self.nodes]
        self.cores = {
            kind: min(cpus, *(m.cpus / m.gpus for m in self.nodes if m.kind == kind))
            for kind in {m.kind for m in self.nodes if m.gpus}
        }

    @property
    def kinds(self) -> list[str]:
        """Kinds of devices, each once."""
        return list(dict.fromkeys(m.kind for m in self.nodes))

    @property
    def count(self) -> int:
        """Number of packs, each on a whole GPU or on cores, that fit when all is free."""
        whole = sum(m.gpus or _count_fitting(m.cpus, self.cpus) for m in self.nodes)
        return whole if self.max_packs is None else min(whole, self.max_packs)

    @property
    def packs_per_node(self) -> int:
        """Greatest number of packs on the cores of one node."""
        return max((_count_fitting(m.cpus, self.cpus) for m in self.nodes if not m.gpus), default=1)

    @property
    def idle_gpus(self) -> list[str]:
        """Kinds of the idle GPUs, one entry for each GPU."""
        return [
            m.kind for m, gpus in zip(self.nodes, self.gpus, strict=True) for free_parts in gpus if free_parts == PARTS
        ]

    @property
    def whole_gpu(self) -> dict[str, float]:
        """Shares of a pack that takes a whole GPU of any kind."""
        return dict.fromkeys(self.kinds, 1.0)

    def take_slot(self, shares: Mapping[str, float]) -> Slot | None:
        """Take and return a slot: on the emptiest GPU of the first kind that has one, or on cores; None if all is full.

        Args:
            shares: Share of one GPU by kind, the preferred kind first.
        """
        if self.max_packs is not None and self.used >= self.max_packs:
            return None
        slot = next((candidate for kind in shares if (candidate := self._take_gpu(kind, shares[kind]))), None)
        slot = slot or self._take_cores()
        if slot:
            self.used += 1
        return slot

    def return_slot(self, slot: Slot) -> None:
        """Free a slot that ``take_slot`` returned."""
        self.used -= 1
        if slot.gpus:
            self.gpus[slot.node][slot.gpu] += round(slot.gpus * PARTS)
        else:
            self.free[slot.node] += 1

    def _take_gpu(self, kind: str, share: float) -> Slot | None:
        parts = round(share * PARTS)
        gpus = [(k, g) for k, m in enumerate(self.nodes) if m.kind == kind for g in range(m.gpus)]
        free = [(self.gpus[k][g], -k, -g) for k, g in gpus if self.gpus[k][g] >= parts]
        if not free:
            return None
        k, g = (-number for number in max(free)[1:])
        self.gpus[k][g] -= parts
        return Slot(kind, parts / PARTS, math.floor(self.cores[kind] * parts) / PARTS, k, g)

    def _take_cores(self) -> Slot | None:
        k = max(range(len(self.free)), key=lambda k: self.free[k], default=None)
        if k is None or not self.free[k]:
            return None
        self.free[k] -= 1
        return Slot(cpus=self.cpus, node=k)

    def emptied(self) -> DevicePool:
        """Return the same pool with all devices free."""
        return DevicePool(self.nodes, self.max_packs, self.cpus)


def describe_idle_gpus(pool: DevicePool, packs: Sequence[Mapping[str, float]]) -> str:
    """Return one line that says which GPUs stay idle from the start, and why; empty if none.

    Args:
        pool: The devices; it is not changed.
        packs: The shares of each pack.
    """
    pool = pool.emptied()
    placed = sum(pool.take_slot(shares) is not None for shares in packs)
    if not (idle := pool.idle_gpus):
        return ""
    kinds = ", ".join(f"{n} {kind}" for kind, n in Counter(idle).items())
    packs_text = f"{len(packs)} {'pack' if len(packs) == 1 else 'packs'}, {placed} at a time"
    subject = "GPU is" if len(idle) == 1 else "GPUs are"
    return f"{len(idle)} {subject} left idle ({kinds}): {packs_text}"


def describe_pool(pool: DevicePool) -> str:
    """Return a pool's devices in words: ``2 A100: a pack takes a share of one``, or ``8 cores: 8 packs at a time``."""
    gpus: Counter[str] = Counter()
    for node in pool.nodes:
        gpus[node.kind] += node.gpus
    at_most = f", at most {pool.max_packs} packs at a time" if pool.max_packs is not None else ""
    if any(gpus.values()):
        return f"{', '.join(f'{n} {kind}' for kind, n in gpus.items() if n)}: a pack takes a share of one{at_most}"
    cores = math.floor(sum(m.cpus for m in pool.nodes))
    packs = f"{pool.count} packs at a time" if pool.count > 1 else "one pack at a time"
    return f"{cores} {'core' if cores == 1 else 'cores'}: {packs}"
