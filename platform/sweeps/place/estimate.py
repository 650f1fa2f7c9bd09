"""What a sweep is expected to take: which packs go where, how long that takes, what it costs. Pure."""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from longwave.platform.errors import ConfigError
from longwave.platform.records.stored import sum_by_device
from longwave.platform.records.trial import TrialConfig
from longwave.platform.sweeps.place.cluster import Cluster
from longwave.platform.sweeps.place.devices import DevicePool, Slot

Packs = Mapping[str, Sequence[TrialConfig]]


@dataclass(frozen=True)
class SweepEstimate:
    """What packs are expected to take, one stage after another.

    Attributes:
        placed: Packs by kind of device, the share of one that each takes, and members.
        seconds: From the first to the last, without starting.
        held: Seconds that they hold devices, by kind.
        unknown: Loads that nothing was probed of where they go; with any, the seconds lack theirs.
    """

    placed: Mapping[tuple[str, float, int], int]
    seconds: float
    held: Mapping[str, float]
    unknown: Mapping[str, int]


def estimate_stages(cluster: Cluster, stages: Sequence[Packs]) -> SweepEstimate:
    """Return what it takes to train the packs of each stage, as the queue hands them out; a stage waits for the last.

    Args:
        cluster: Where they go, and what is known there.
        stages: Packs by key.
    """
    placed, unknown, held, seconds = Counter[tuple[str, float, int]](), Counter[str](), dict[str, float](), 0.0
    for packs in stages:
        shares = cluster.shares(packs)

        def taken(key: str, place: Slot, packs: Packs = packs) -> float:
            first, members = packs[key][0], len(packs[key])
            placed[place.kind, place.devices, members] += 1
            epoch = cluster.probed.epoch(first, place.kind, members)
            unknown.update([first.model] if epoch is None else ())
            return (epoch or 0.0) * first.epochs

        last, of_stage = _simulate(cluster.room.afresh(), shares, taken)
        seconds, held = seconds + last, sum_by_device(held, of_stage)
    return SweepEstimate(placed, seconds, held, unknown)


def _simulate(
    room: DevicePool, packs: Mapping[str, Mapping[str, float]], seconds: Callable[[str, Slot], float]
) -> tuple[float, dict[str, float]]:
    """Hand packs out as places become free; return when the last is done, and how long devices were held."""
    waiting, now, held = dict(packs), 0.0, dict[str, float]()
    ends: list[tuple[float, int, Slot]] = []
    while waiting or ends:
        for key, shares in [*waiting.items()]:
            if place := room.take(shares):
                del waiting[key]
                lasts = seconds(key, place)
                held = sum_by_device(held, {place.kind: lasts * place.devices})
                heapq.heappush(ends, (now + lasts, len(waiting), place))
        if not ends:
            return math.inf, held
        now, _, place = heapq.heappop(ends)
        room.give(place)
    return now, held


def like_retrainings(trials: Sequence[TrialConfig], count: int) -> list[TrialConfig]:
    """Return what the retrainings of a search are like, whichever of its trials is the best."""
    return [replace(trials[0], phase="retrain", halving=None, seed=k) for k in range(count)] if trials else []


def parse_prices(told: str) -> dict[str, float]:
    """Return prices of an hour of a device, by kind, of ``A100=2.5,cpu=0.04``; a number alone is that of any.

    Raises:
        ConfigError: It is not of that form.
    """
    found: dict[str, float] = {}
    for part in filter(None, told.split(",")):
        kind, _, price = part.strip().rpartition("=")
        if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?", price):
            raise ConfigError(f"--price is a number for an hour of a device, 2.5 or A100=2.5,T4=0.4; got {told!r}.")
        found[kind.strip()] = float(price)
    return found


def total_cost(held: Mapping[str, float], price: Mapping[str, float]) -> float | None:
    """Return what device seconds cost; None where a kind has no price."""
    each = {kind: price.get(kind, price.get("")) for kind in held}
    if any(p is None for p in each.values()):
        return None
    return sum(seconds / 3600 * (each[kind] or 0.0) for kind, seconds in held.items())
