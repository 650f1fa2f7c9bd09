"""Estimates of a sweep: which packs go where, how long that takes, what it costs. Pure."""

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
    """Where packs are expected to go, and how long they take, one stage after another.

    Attributes:
        placed: Number of packs by kind of device, share of one that each takes, and number of members.
        seconds: Time from first to last, without that of starting workers.
        held: Device seconds by kind.
        unknown: Number of packs by model that were not probed where they go; their seconds are missing.
    """

    placed: Mapping[tuple[str, float, int], int]
    seconds: float
    held: Mapping[str, float]
    unknown: Mapping[str, int]


def estimate_stages(cluster: Cluster, stages: Sequence[Packs]) -> SweepEstimate:
    """Return an estimate for packs handed out as the queue does; each stage waits for the previous one.

    Args:
        cluster: Where they go.
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

        last, of_stage = _simulate(cluster.pool.emptied(), shares, train_seconds)
        seconds, held = seconds + last, sum_by_device(held, of_stage)
    return SweepEstimate(placed, seconds, held, unknown)


def _simulate(
    pool: DevicePool, packs: Mapping[str, Mapping[str, float]], seconds: Callable[[str, Slot], float]
) -> tuple[float, dict[str, float]]:
    """Hand packs out as slots become free; return when the last is done, and how long devices were held."""
    waiting, now, held = dict(packs), 0.0, dict[str, float]()
    ends: list[tuple[float, int, Slot]] = []
    while waiting or ends:
        for key, shares in [*waiting.items()]:
            if slot := pool.take_slot(shares):
                del waiting[key]
                lasts = seconds(key, slot)
                held = sum_by_device(held, {slot.kind: lasts * slot.devices})
                heapq.heappush(ends, (now + lasts, len(waiting), slot))
        if not ends:
            return math.inf, held
        now, _, slot = heapq.heappop(ends)
        pool.return_slot(slot)
    return now, held


def like_retrainings(trials: Sequence[TrialConfig], count: int) -> list[TrialConfig]:
    """Return trials like the retrainings of a search, whose winner is not known yet."""
    return [replace(trials[0], phase="retrain", halving=None, seed=k) for k in range(count)] if trials else []


def parse_prices(text: str) -> dict[str, float]:
    """Return prices per hour by kind of device from ``A100=2.5,cpu=0.04``; a number alone is the price of any.

    Raises:
        ConfigError: The text has another form.
    """
    prices: dict[str, float] = {}
    for part in filter(None, text.split(",")):
        kind, _, price = part.strip().rpartition("=")
        if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?", price):
            raise ConfigError(f"--price is a number for an hour of a device, 2.5 or A100=2.5,T4=0.4; got {text!r}.")
        prices[kind.strip()] = float(price)
    return prices


def total_cost(held: Mapping[str, float], price: Mapping[str, float]) -> float | None:
    """Return the cost of device seconds; None where a kind has no price."""
    each = {kind: price.get(kind, price.get("")) for kind in held}
    if any(p is None for p in each.values()):
        return None
    return sum(seconds / 3600 * (each[kind] or 0.0) for kind, seconds in held.items())
