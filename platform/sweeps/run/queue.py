"""Which packs are trained now: of trials that this driver leases, as they were divided before or divided anew."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import psutil

from longwave.platform.records.report import Cohort
from longwave.platform.records.stored import PlannedTrial
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage.leases import Leases
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.place.cluster import Cluster
from longwave.platform.sweeps.place.devices import ClusterNode, DevicePool
from longwave.platform.sweeps.place.packing import divide_into_packs, largest_pack, pack_key, trial_bytes
from longwave.platform.sweeps.place.workers import Job, Workers
from longwave.platform.sweeps.plan.cells import Sweep
from longwave.platform.sweeps.plan.stored import with_search_spaces
from longwave.platform.sweeps.run.halving import cohort_name, decide_rungs, packs_to_join

TRIALS_PER_WAVE = 1_000
"""Trials that are leased and read at once, about: the first pack waits for no more than these."""


class PackQueue:
    """The packs of a round, in waves: each is leased and read when it is handed out, so that few are held at a time.

    All trials that are in no pack are divided before the first wave, so that packs are the same whatever a wave holds.

    Args:
        sweep, store, leases, workers: Of this driver.
        left: Trials that have not ended.
        parents: Packs whose checkpoints may serve those that have none.
        most: Trials that may be trained at most; a cohort is not cut for it.
        cluster: What packs may go to; by default a core for each of the workers.

    Attributes:
        handed: How many packs were handed out.
        left: How many still are to be.
    """

    def __init__(
        self,
        sweep: Sweep,
        store: Store,
        leases: Leases,
        workers: Workers,
        left: Sequence[PlannedTrial],
        parents: Mapping[str, tuple[str, ...]],
        most: int | None = None,
        cluster: Cluster | None = None,
    ) -> None:
        self.sweep, self.store, self.leases, self.workers, self.parents = sweep, store, leases, workers, parents
        self.cluster, self.handed = cluster or Cluster(DevicePool([ClusterNode(workers.count or 1)])), 0
        self._groups = deque(store.with_retry(lambda: self._grouped(left, most)))
        self.left = len({a.pack for group in self._groups for a in group})

    def next(self) -> dict[str, Job]:
        """Return the next packs, by key, whose trials are leased from now on; none if others hold all that is left.

        A pack of the store of which others hold a part, or have ended one, is cut anew. A cohort is trained by one
        driver alone.
        """
        while self._groups:
            wave = self._groups.popleft()
            while self._groups and len(wave) + len(self._groups[0]) <= TRIALS_PER_WAVE:
                wave += self._groups.popleft()
            self.left -= len({a.pack for a in wave})
            if jobs := self.store.with_retry(partial(self._leased, [a.id for a in wave])):
                self.handed += len(jobs)
                return jobs
        return {}

    def _grouped(self, left: Sequence[PlannedTrial], most: int | None) -> list[list[PlannedTrial]]:
        """Return what is leased together, a pack or a cohort each, in the order of their first trials."""
        cohorts = self.store.cohorts([a.id for a in left]) if self.sweep.file.halving else {}
        wanted = _within_budget(left, cohorts, most)
        fresh = self.store.configs([a.id for a in wanted if a.pack is None])
        new = [fresh[a.id] for a in wanted if a.pack is None]
        packs = self.store.assign_new(divide_new_trials(self.sweep, self.cluster, new)) if new else {}
        self._open = self._still_open({a.id: a.pack for a in left if a.pack is not None} | packs)
        groups: dict[str, list[PlannedTrial]] = {}
        for a in (replace(a, pack=a.pack or packs[a.id]) for a in wanted):
            groups.setdefault(cohorts.get(a.id) or str(a.pack), []).append(a)
        return list(groups.values())

    def _still_open(self, packs: Mapping[str, str]) -> dict[str, int]:
        """Return how many trials of each pack have not ended. That only falls: a pack is named by its trials.

        Args:
            packs: Of all open trials of the sweep that are in one; packs may hold those of another sweep, too.
        """
        shared = {packs[trial] for trial in self.store.shared_trials(self.sweep.file.name) if trial in packs}
        return Counter(packs.values()) | self.store.count_open(shared)

    def _leased(self, wave: Sequence[str]) -> dict[str, Job]:
        """Return the packs of some trials as far as they can be leased."""
        now = self.store.packs(wave)  # another driver may have cut some since
        self._open |= self.store.count_open({*now.values()} - self._open.keys())
        configs = self.store.configs([*now])
        taken = self.leases.take(configs)
        torn = {cohort_name(config) for i, config in configs.items() if i not in taken} - {""}
        if torn:
            self.leases.release([i for i in taken if cohort_name(configs[i]) in torn])
            taken = {i for i in taken if cohort_name(configs[i]) not in torn}
        packs, before = self._cut({i: now[i] for i in wave if i in taken}, configs)
        cohorts = decide_rungs(self.sweep, self.store, self.leases, [pack[0] for pack in packs.values()])
        older = {key: before.get(key, ()) + self.parents.get(key, ()) for key in packs}
        joins = self._joins({k: pack for k, pack in packs.items() if k not in self.parents}, cohorts)
        for key, part in joins.items():
            older[key] = (*part, *(old for k in part for old in older.pop(k)))
            packs[key] = [config for k in part for config in packs.pop(k)]
        shares = self.cluster.shares(packs, self.handed, self.left)
        weights = self.sweep.file.keep_weights
        return {
            key: Job(
                pack, cohorts.get(cohort_name(pack[0])), older[key], tuple(joins.get(key, ())), shares[key], weights
            )
            for key, pack in packs.items()
        }

    def _cut(
        self, mine: Mapping[str, str], configs: Mapping[str, TrialConfig]
    ) -> tuple[dict[str, list[TrialConfig]], dict[str, tuple[str, ...]]]:
        """Return packs of leased trials by key, and of those cut from another the key of that one."""
        stored: dict[str, list[TrialConfig]] = {}
        for trial, pack in mine.items():
            stored.setdefault(pack, []).append(configs[trial])
        packs: dict[str, list[TrialConfig]] = {}
        before: dict[str, tuple[str, ...]] = {}
        for key, part in stored.items():
            if cut := len(part) < self._open[key]:
                before[pack_key(part)] = (key,)
            packs[pack_key(part) if cut else key] = part
        self.store.assign({key: packs[key] for key in before})
        return packs, before

    def _joins(self, packs: Mapping[str, Sequence[TrialConfig]], cohorts: Mapping[str, Cohort]) -> dict[str, list[str]]:
        """Return which packs of cohorts go on as one; none where each cohort is one pack anyway.

        Neither do those that were cut since they ran out of memory or their worker died: they would be cut again.
        """
        if not (self.sweep.file.halving and self.sweep.file.halving.cohort):
            return {}
        known, memory = with_search_spaces(self.sweep), _bytes_per_worker(self.cluster)
        whole = {key: pack for key, pack in packs.items() if not self.workers.checkpoint(key).parted}
        others = sum(map(len, self._groups))

        def most(config: TrialConfig, trials: int) -> int:
            fit = self.cluster.most(config) or memory // trial_bytes(known, config)
            return largest_pack(trials + others, self.cluster.count, self.sweep.file.pack, fit)

        return packs_to_join(whole, cohorts, most)


def _within_budget(left: Sequence[PlannedTrial], cohorts: Mapping[str, str], most: int | None) -> list[PlannedTrial]:
    """Return the trials that a budget allows: cohorts whole or not at all."""
    if most is None:
        return list(left)
    found: list[PlannedTrial] = []
    groups: dict[str, list[PlannedTrial]] = {}
    for a in left:
        groups.setdefault(cohorts.get(a.id, a.id), []).append(a)
    for group in groups.values():
        if len(found) + len(group) <= most:
            found += group
    return found


def divide_new_trials(sweep: Sweep, cluster: Cluster, fresh: Sequence[TrialConfig]) -> dict[str, list[TrialConfig]]:
    """Return the packs that trials which are in none are divided into, by key."""
    known = with_search_spaces(sweep)
    looped = {entry.base.model for entry in known.entries if entry.looped}
    together = not (sweep.file.halving and sweep.file.halving.cohort)
    memory, size = _bytes_per_worker(cluster), sweep.file.pack
    return divide_into_packs(
        fresh, cluster.count, size, partial(trial_bytes, known), memory, looped, together, cluster.most
    )


def _bytes_per_worker(cluster: Cluster) -> int:
    """Return the bytes that a worker may use, where nothing was measured."""
    return int(psutil.virtual_memory().available // (2 * cluster.count))
