"""Which machine a pack goes to: pure. GPUs first, never more than fits, none idle while packs wait."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from longwave.platform.records.probe import CPU

PARTS = 10_000
"""Parts of a GPU or a core that Ray tells apart."""


@dataclass(frozen=True)
class ClusterNode:
    """What a node offers.

    Attributes:
        cpus: Cores.
        gpus: GPUs.
        kind: Of its GPUs, as Ray names their type: ``A100``.
    """

    cpus: float
    gpus: int = 0
    kind: str = CPU


@dataclass(frozen=True)
class Slot:
    """Where a pack trains.

    Attributes:
        kind: Of device.
        gpus: Share of one GPU; 0 on cores.
        cpus: Cores, or a part of one.
        machine, gpu: Their numbers; which of several equal ones Ray takes is its own choice.
    """

    kind: str = CPU
    gpus: float = 0.0
    cpus: float = 1.0
    machine: int = 0
    gpu: int = 0

    @property
    def devices(self) -> float:
        """How many devices it holds: a share of a GPU, or cores."""
        return self.gpus or self.cpus


def usable_nodes(machines: Iterable[ClusterNode], cpu: bool = False, cpus: float = 1.0) -> list[ClusterNode]:
    """Return the machines that packs may go to.

    Where there is any GPU, these are those with GPUs, since a core would be at its pack long after all GPUs are done.

    Args:
        machines: All there are.
        cpu: Leave the GPUs alone.
        cpus: Cores a pack.
    """
    found = list(machines)
    if not cpu and any(m.gpus for m in found):
        return [m for m in found if m.gpus]
    return [replace(m, gpus=0, kind=CPU) for m in found if m.cpus >= cpus]


def requested_node(count: int, gpus: float | None, cpus: float = 1.0) -> ClusterNode:
    """Return a machine that takes just ``count`` packs, each ``gpus`` of a GPU or else ``cpus`` cores.

    It stands for a cluster that has what was asked for, or starts it when packs wait.
    """
    needed = count * cpus
    return ClusterNode(needed, math.ceil(count / packs_per_gpu(gpus)), "GPU") if gpus else ClusterNode(needed)


def packs_per_gpu(share: float) -> int:
    """Return how many packs of a share fit on a GPU."""
    return _fit(1, share)


def _fit(devices: float, each: float) -> int:
    return round(devices * PARTS) // round(each * PARTS)


def spread_over_gpus(packs: int, gpus: int) -> list[int]:
    """Return how many packs are to be on the GPU of each, in their order, so that all GPUs are used, and alike.

    It is said by shares: Ray fills one GPU before it goes to the next.

    Args:
        packs: All that wait.
        gpus: All there are.
    """
    each, more = divmod(packs, gpus)
    return [each] * (each * (gpus - more)) + [each + 1] * ((each + 1) * more)


class DevicePool:
    """What is free of some machines: each GPU by itself, or cores.

    A pack on a GPU holds the same share of the cores that its machine has for each GPU, ``cpus`` at most, so that
    cores never leave a GPU idle.

    Args:
        machines: As ``usable_nodes`` gives them.
        most: Packs at a time at most.
        cpus: Cores a pack.
    """

    def __init__(self, machines: Sequence[ClusterNode], most: int | None = None, cpus: float = 1.0) -> None:
        self.machines, self.most, self.cpus, self.taken = list(machines), most, cpus, 0
        self.gpus = [[PARTS] * m.gpus for m in self.machines]
        self.free = [0 if m.gpus else _fit(m.cpus, cpus) for m in self.machines]
        self.cores = {
            kind: min(cpus, *(m.cpus / m.gpus for m in self.machines if m.kind == kind))
            for kind in {m.kind for m in self.machines if m.gpus}
        }

    @property
    def kinds(self) -> list[str]:
        """Kinds of devices, each once."""
        return list(dict.fromkeys(m.kind for m in self.machines))

    @property
    def count(self) -> int:
        """How many packs of a whole GPU, or on cores, there is room for when all is free."""
        whole = sum(m.gpus or _fit(m.cpus, self.cpus) for m in self.machines)
        return whole if self.most is None else min(whole, self.most)

    @property
    def beside(self) -> int:
        """How many packs lie beside one another on the cores of a machine at most."""
        return max((_fit(m.cpus, self.cpus) for m in self.machines if not m.gpus), default=1)

    @property
    def idle(self) -> list[str]:
        """Kinds of the GPUs of which nothing is taken, one word a GPU."""
        return [m.kind for m, gpus in zip(self.machines, self.gpus, strict=True) for left in gpus if left == PARTS]

    @property
    def whole(self) -> dict[str, float]:
        """The shares of a pack that takes a whole GPU of whatever kind."""
        return dict.fromkeys(self.kinds, 1.0)

    def take(self, shares: Mapping[str, float]) -> Slot | None:
        """Take a place, on the GPU with most left of the first kind that has one; None if there is none now.

        Args:
            shares: Of one GPU, by kind, the one to prefer first.
        """
        if self.most is not None and self.taken >= self.most:
            return None
        found = next((place for kind in shares if (place := self._on(kind, shares[kind]))), None)
        found = found or self._on_cores()
        if found:
            self.taken += 1
        return found

    def give(self, place: Slot) -> None:
        """Give a place back."""
        self.taken -= 1
        if place.gpus:
            self.gpus[place.machine][place.gpu] += round(place.gpus * PARTS)
        else:
            self.free[place.machine] += 1

    def _on(self, kind: str, share: float) -> Slot | None:
        parts = round(share * PARTS)
        places = [(k, g) for k, m in enumerate(self.machines) if m.kind == kind for g in range(m.gpus)]
        free = [(self.gpus[k][g], -k, -g) for k, g in places if self.gpus[k][g] >= parts]
        if not free:
            return None
        k, g = (-number for number in max(free)[1:])
        self.gpus[k][g] -= parts
        return Slot(kind, parts / PARTS, math.floor(self.cores[kind] * parts) / PARTS, k, g)

    def _on_cores(self) -> Slot | None:
        k = max(range(len(self.free)), key=lambda k: self.free[k], default=None)
        if k is None or not self.free[k]:
            return None
        self.free[k] -= 1
        return Slot(cpus=self.cpus, machine=k)

    def afresh(self) -> DevicePool:
        """Return the same with all free."""
        return DevicePool(self.machines, self.most, self.cpus)


def describe_idle_gpus(room: DevicePool, packs: Sequence[Mapping[str, float]]) -> str:
    """Return one line if packs leave a GPU idle from the start, and why; else an empty one.

    Args:
        room: Where they go; it stays as it is.
        packs: The shares of each.
    """
    room = room.afresh()
    placed = sum(room.take(shares) is not None for shares in packs)
    if not (idle := room.idle):
        return ""
    kinds = ", ".join(f"{n} {kind}" for kind, n in Counter(idle).items())
    why = f"{len(packs)} {'pack' if len(packs) == 1 else 'packs'}, {placed} at a time"
    are = "GPU is" if len(idle) == 1 else "GPUs are"
    return f"{len(idle)} {are} left idle ({kinds}): {why}"


def describe_pool(room: DevicePool) -> str:
    """Return what packs go to, in words: ``2 A100: a pack takes a share of one``, or ``8 cores: 8 packs at a time``."""
    gpus: Counter[str] = Counter()
    for machine in room.machines:
        gpus[machine.kind] += machine.gpus
    at_most = f", at most {room.most} packs at a time" if room.most is not None else ""
    if any(gpus.values()):
        return f"{', '.join(f'{n} {kind}' for kind, n in gpus.items() if n)}: a pack takes a share of one{at_most}"
    cores = math.floor(sum(m.cpus for m in room.machines))
    packs = f"{room.count} packs at a time" if room.count > 1 else "one pack at a time"
    return f"{cores} {'core' if cores == 1 else 'cores'}: {packs}"
