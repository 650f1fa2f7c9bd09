"""Which packs are trained now: leases trials, decides the rungs of their cohorts, and hands them out in packs."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

import psutil

from longwave.platform.records.identity import digest
from longwave.platform.records.report import Cohort, Report
from longwave.platform.records.stored import PlannedTrial
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage.leases import LeaseLostError, Leases
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.place.cluster import Cluster
from longwave.platform.sweeps.place.devices import ClusterNode, DevicePool
from longwave.platform.sweeps.place.packing import divide_into_packs, largest_pack, pack_key, trial_bytes
from longwave.platform.sweeps.place.workers import Job, Workers
from longwave.platform.sweeps.plan.cells import Sweep
from longwave.platform.sweeps.plan.stored import with_search_spaces
from longwave.platform.training.stopping import decided


def cohort_name(config: TrialConfig) -> str:
    """Return the name of a trial's cohort; empty without successive halving."""
    return str(config.halving["cohort"]) if config.halving else ""


def decide_rungs(sweep: Sweep, store: Store, leases: Leases, trials: Iterable[TrialConfig]) -> dict[str, Cohort]:
    """Decide each rung that can be decided; return the cohorts of some trials by name.

    A rung is decided once all its trials have a score in the store, for all of them at once; their packs learn of it
    when they continue.

    Args:
        sweep, store: Of this driver.
        leases: They hold all open trials of the cohorts; decisions are written under them.
        trials: Some of each cohort; trials without a cohort are ignored.
    """
    goals = {cell.base.task: cell.goal for cell in sweep.cells}
    cohorts: dict[str, Cohort] = {}
    for config in trials:
        if not config.halving or cohort_name(config) in cohorts:
            continue
        cohort = store.cohort(cohort_name(config))
        for epoch in sorted({r.epoch for r in cohort.rungs if r.stays is None}):
            if (now := decided(cohort, config.halving, epoch, goals[config.task])) is not None:
                report = Report(rungs=[rung for rung in now[0].values() if rung.trial in leases.fences])
                with suppress(LeaseLostError):  # the packs' own writes will raise it again
                    leases.write(report)
                cohort = cohort.after(report)
        cohorts[cohort.cohort] = cohort
    return cohorts


def packs_to_join(
    packs: Mapping[str, Sequence[TrialConfig]],
    cohorts: Mapping[str, Cohort],
    max_members: Callable[[TrialConfig, int], int],
) -> dict[str, list[str]]:
    """Return which packs continue as one, by the key of the joint pack: those that a rung left small, as many as fit.

    Trials that the rung stopped end in it at once. The key follows from the packs alone, so that an interrupted driver
    finds the joint pack again.

    Args:
        packs: Open trials by pack.
        cohorts: By name.
        max_members: Returns how many trials like a given one a pack may hold, from how many continue in all.
    """
    stay = {name: _survivors(cohort) for name, cohort in cohorts.items()}
    alike: dict[tuple[str, str], dict[str, int]] = {}
    for key, pack in packs.items():
        if known := stay.get(cohort := cohort_name(pack[0])):
            alike.setdefault((cohort, pack[0].shape), {})[key] = sum(known[config.id] for config in pack)
    total, groups = sum(n for left in alike.values() for n in left.values()), list[list[str]]()
    for left in alike.values():
        limit, held = max_members(packs[next(iter(left))][0], total), math.inf
        for key, go_on in left.items():
            if held + go_on > limit:
                groups.append([])
                held = 0
            groups[-1].append(key)
            held += go_on
    return {digest(part): part for part in groups if len(part) > 1}


def _survivors(cohort: Cohort) -> dict[str, bool]:
    """Return which open trials of a cohort continue, if all of them are at one decided rung; else nothing."""
    last = {r.trial: r for r in sorted(cohort.rungs, key=lambda r: r.epoch) if r.trial not in cohort.gone}
    there = len(last) == len(set(cohort.members) - cohort.gone.keys()) and len({r.epoch for r in last.values()}) == 1
    decisions = {trial: rung.stays for trial, rung in last.items() if rung.stays is not None}
    return decisions if there and len(decisions) == len(last) else {}


TRIALS_PER_CHUNK = 1_000
"""About how many trials are leased and read at once: the first pack waits for no more than these."""


class PackQueue:
    """The packs of a round, in chunks: each is leased and read when it is handed out, so that few leases are held.

    All trials that are in no pack are divided before the first chunk, so that packs do not depend on chunks.

    Args:
        sweep, store, leases, workers: Of this driver.
        left: Trials that have not ended.
        parents: For packs without a checkpoint, the packs whose checkpoints may be used instead.
        max_trials: Greatest number of trials to train; a cohort is taken whole or not at all.
        cluster: The devices for packs; by default a core for each worker.

    Attributes:
        handed: Number of packs handed out.
        left: Number of packs still to be handed out.
    """

    def __init__(
        self,
        sweep: Sweep,
        store: Store,
        leases: Leases,
        workers: Workers,
        left: Sequence[PlannedTrial],
        parents: Mapping[str, tuple[str, ...]],
        max_trials: int | None = None,
        cluster: Cluster | None = None,
    ) -> None:
        self.sweep, self.store, self.leases, self.workers, self.parents = sweep, store, leases, workers, parents
        self.cluster, self.handed = cluster or Cluster(DevicePool([ClusterNode(workers.count or 1)])), 0
        self._groups = deque(self._group_trials(left, max_trials))
        self.left = len({a.pack for group in self._groups for a in group})

    def next(self) -> dict[str, Job]:
        """Lease and return the next packs, by key; none if other drivers hold all remaining trials.

        A stored pack is cut down if others hold some of its trials, or have ended them. A cohort is trained by a single
        driver.
        """
        while self._groups:
            chunk = self._groups.popleft()
            while self._groups and len(chunk) + len(self._groups[0]) <= TRIALS_PER_CHUNK:
                chunk += self._groups.popleft()
            self.left -= len({a.pack for a in chunk})
            if jobs := self._lease_packs([a.id for a in chunk]):
                self.handed += len(jobs)
                return jobs
        return {}

    def _group_trials(self, left: Sequence[PlannedTrial], max_trials: int | None) -> list[list[PlannedTrial]]:
        """Return the trials that are leased together, a pack or a cohort each, in the order of their first trials."""
        cohorts = self.store.cohorts([a.id for a in left]) if self.sweep.file.stops_early else {}
        wanted = _within_budget(left, cohorts, max_trials)
        fresh = self.store.configs([a.id for a in wanted if a.pack is None])
        new = [fresh[a.id] for a in wanted if a.pack is None]
        packs = self.store.assign_new(divide_new_trials(self.sweep, self.cluster, new)) if new else {}
        self._open = self._count_open({a.id: a.pack for a in left if a.pack is not None} | packs)
        groups: dict[str, list[PlannedTrial]] = {}
        for a in (replace(a, pack=a.pack or packs[a.id]) for a in wanted):
            groups.setdefault(cohorts.get(a.id) or str(a.pack), []).append(a)
        return list(groups.values())

    def _count_open(self, packs: Mapping[str, str]) -> dict[str, int]:
        """Return how many trials of each pack have not ended. The number never grows: a pack's key names its trials.

        Args:
            packs: Packs of the sweep's open trials, by trial; they may hold trials of other sweeps, too.
        """
        shared = {packs[trial] for trial in self.store.shared_trials(self.sweep.file.name) if trial in packs}
        return Counter(packs.values()) | self.store.count_open(shared)

    def _lease_packs(self, chunk: Sequence[str]) -> dict[str, Job]:
        """Lease as many of some trials as possible, and return their packs."""
        now = self.store.packs(chunk)  # another driver may have cut some since
        self._open |= self.store.count_open({*now.values()} - self._open.keys())
        configs = self.store.configs([*now])
        taken = self.leases.take(configs)
        torn = {cohort_name(config) for i, config in configs.items() if i not in taken} - {""}
        if torn:
            self.leases.release([i for i in taken if cohort_name(configs[i]) in torn])
            taken = {i for i in taken if cohort_name(configs[i]) not in torn}
        packs, before = self._cut_packs({i: now[i] for i in chunk if i in taken}, configs)
        cohorts = decide_rungs(self.sweep, self.store, self.leases, [pack[0] for pack in packs.values()])
        older = {key: before.get(key, ()) + self.parents.get(key, ()) for key in packs}
        joins = self._find_joins({k: pack for k, pack in packs.items() if k not in self.parents}, cohorts)
        for key, part in joins.items():
            older[key] = (*part, *(old for k in part for old in older.pop(k)))
            packs[key] = [config for k in part for config in packs.pop(k)]
        shares = self.cluster.gpu_shares(packs, self.handed, self.left)
        weights = self.sweep.file.keep_weights
        return {
            key: Job(
                pack, cohorts.get(cohort_name(pack[0])), older[key], tuple(joins.get(key, ())), shares[key], weights
            )
            for key, pack in packs.items()
        }

    def _cut_packs(
        self, mine: Mapping[str, str], configs: Mapping[str, TrialConfig]
    ) -> tuple[dict[str, list[TrialConfig]], dict[str, tuple[str, ...]]]:
        """Return packs of leased trials by key, and for those cut from another pack, the key of that one."""
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

    def _find_joins(
        self, packs: Mapping[str, Sequence[TrialConfig]], cohorts: Mapping[str, Cohort]
    ) -> dict[str, list[str]]:
        """Return which packs of cohorts continue as one; none where each cohort is one pack anyway.

        Packs that were cut because they ran out of memory or their worker died are left out: they would be cut again.
        """
        if not self.sweep.file.joint_packs:
            return {}
        known, memory = with_search_spaces(self.sweep), _bytes_per_worker(self.cluster)
        whole = {key: pack for key, pack in packs.items() if not self.workers.checkpoint(key).parted}
        others = sum(map(len, self._groups))

        def max_members(config: TrialConfig, trials: int) -> int:
            fitting = self.cluster.max_members(config) or memory // trial_bytes(known, config)
            return largest_pack(trials + others, self.cluster.count, self.sweep.file.pack, fitting)

        return packs_to_join(whole, cohorts, max_members)


def _within_budget(
    left: Sequence[PlannedTrial], cohorts: Mapping[str, str], max_trials: int | None
) -> list[PlannedTrial]:
    """Return the trials that a budget allows: cohorts whole or not at all."""
    if max_trials is None:
        return list(left)
    allowed: list[PlannedTrial] = []
    groups: dict[str, list[PlannedTrial]] = {}
    for a in left:
        groups.setdefault(cohorts.get(a.id, a.id), []).append(a)
    for group in groups.values():
        if len(allowed) + len(group) <= max_trials:
            allowed += group
    return allowed


def divide_new_trials(sweep: Sweep, cluster: Cluster, fresh: Sequence[TrialConfig]) -> dict[str, list[TrialConfig]]:
    """Divide trials that are in no pack into packs, by key."""
    known = with_search_spaces(sweep)
    looped = {cell.base.model for cell in known.cells if cell.looped}
    together = not sweep.file.joint_packs
    memory, size = _bytes_per_worker(cluster), sweep.file.pack
    return divide_into_packs(
        fresh, cluster.count, size, partial(trial_bytes, known), memory, looped, together, cluster.max_members
    )


def _bytes_per_worker(cluster: Cluster) -> int:
    """Return the bytes that a worker may use without a probe."""
    return int(psutil.virtual_memory().available // (2 * cluster.count))
