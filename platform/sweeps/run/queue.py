"""Chooses the packs to train: leases trials, decides the rungs of their cohorts, and hands them out in packs."""

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
from longwave.platform.training.stopping import decide_rung


def cohort_name(config: TrialConfig) -> str:
    """Return the name of a trial's cohort; empty without successive halving."""
    return str(config.halving["cohort"]) if config.halving else ""


def decide_rungs(sweep: Sweep, store: Store, leases: Leases, trials: Iterable[TrialConfig]) -> dict[str, Cohort]:
    """Decide each rung that can be decided; return the cohorts of some trials by name.

    A rung is decided for all its trials at once, when all of them have a score in the store; their packs see the
    decision when they continue.

    Args:
        sweep, store: Of this driver.
        leases: Leases of all open trials of the cohorts; decisions are written under them.
        trials: Some of each cohort; trials without a cohort are ignored.
    """
    goals = {cell.base.task: cell.goal for cell in sweep.cells}
    cohorts: dict[str, Cohort] = {}
    for config in trials:
        if not config.halving or cohort_name(config) in cohorts:
            continue
        cohort, solved = store.cohort(cohort_name(config), sweep.file.name), config.params.get("solved")
        for epoch in sorted({r.epoch for r in cohort.rungs if r.stays is None}):
            if (decision := decide_rung(cohort, config.halving, epoch, goals[config.task], solved)) is not None:
                report = Report(rungs=[rung for rung in decision[0].values() if rung.trial in leases.fences])
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
    """Return which packs continue as one, by the key of the joint pack: those that a rung made small, as many as fit.

    Trials that the rung stopped end in it at once. The key follows from the packs alone, so that a driver finds the
    joint pack again after an interruption.

    Args:
        packs: Open trials by pack.
        cohorts: By name.
        max_members: Returns how many trials like a given one a pack may hold, from how many continue in all.
    """
    survivors = {name: _survivors(cohort) for name, cohort in cohorts.items()}
    by_shape: dict[tuple[str, str], dict[str, int]] = {}
    for key, pack in packs.items():
        if stays := survivors.get(cohort := cohort_name(pack[0])):
            by_shape.setdefault((cohort, pack[0].shape), {})[key] = sum(stays[config.id] for config in pack)
    total, groups = sum(n for packs_of_shape in by_shape.values() for n in packs_of_shape.values()), list[list[str]]()
    for packs_of_shape in by_shape.values():
        limit, members = max_members(packs[next(iter(packs_of_shape))][0], total), math.inf
        for key, continuing in packs_of_shape.items():
            if members + continuing > limit:
                groups.append([])
                members = 0
            groups[-1].append(key)
            members += continuing
    return {digest(part): part for part in groups if len(part) > 1}


def _survivors(cohort: Cohort) -> dict[str, bool]:
    """Return which open trials of a cohort continue, if all of them are at one decided rung; else nothing."""
    last_rungs = {r.trial: r for r in sorted(cohort.rungs, key=lambda r: r.epoch) if r.trial not in cohort.gone}
    all_at_one_rung = (
        len(last_rungs) == len(set(cohort.members) - cohort.gone.keys())
        and len({r.epoch for r in last_rungs.values()}) == 1
    )
    decisions = {trial: rung.stays for trial, rung in last_rungs.items() if rung.stays is not None}
    return decisions if all_at_one_rung and len(decisions) == len(last_rungs) else {}


TRIALS_PER_CHUNK = 1_000
"""About how many trials are leased and read at once, so that the first pack does not wait for all."""


class PackQueue:
    """The packs of a round, in chunks: each is leased and read when it is handed out, so that few leases are held.

    All trials without a pack are divided before the first chunk, so that packs do not depend on chunks.

    Args:
        sweep, store, leases, workers: Of this driver.
        left: Trials that have not ended.
        parents: For packs without a checkpoint, the packs whose checkpoints may be used instead.
        max_trials: Greatest number of trials to train; a cohort is taken whole or not at all.
        cluster: The devices for packs; by default a core for each worker.

    Attributes:
        affordable: Whether the budget allows any pack.
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
        self.affordable = bool(self._groups)
        self.left = len({a.pack for group in self._groups for a in group})

    def next(self) -> dict[str, Job]:
        """Lease and return the next packs, by key; none if other drivers hold all remaining trials.

        A stored pack is cut if other drivers hold or have ended some of its trials. A cohort is trained by a single
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

    def _group_trials(self, open_trials: Sequence[PlannedTrial], max_trials: int | None) -> list[list[PlannedTrial]]:
        """Return the trials that are leased together, each a pack or a cohort, in the order of their first trials; last
        come those that other drivers hold, so that the first pack need not wait until all of them were asked for.
        """
        cohorts = self.store.cohorts([a.id for a in open_trials]) if self.sweep.file.stops_early else {}
        affordable = _within_budget(open_trials, cohorts, max_trials)
        configs = self.store.configs([a.id for a in affordable if a.pack is None])
        without_pack = [configs[a.id] for a in affordable if a.pack is None]
        packs = self.store.assign_new(divide_new_trials(self.sweep, self.cluster, without_pack)) if without_pack else {}
        self._open = self._count_open({a.id: a.pack for a in open_trials if a.pack is not None} | packs)
        groups: dict[str, list[PlannedTrial]] = {}
        for a in (replace(a, pack=a.pack or packs[a.id]) for a in affordable):
            groups.setdefault(cohorts.get(a.id) or str(a.pack), []).append(a)
        held = self.leases.held_by_others()
        return sorted(groups.values(), key=lambda group: any(a.id in held for a in group))

    def _count_open(self, packs: Mapping[str, str]) -> dict[str, int]:
        """Return how many trials of each pack have not ended. The number never grows: a pack's key names its trials.

        Args:
            packs: Packs of the sweep's open trials, by trial; they may hold trials of other sweeps, too.
        """
        shared = {packs[trial] for trial in self.store.shared_trials(self.sweep.file.name) if trial in packs}
        return Counter(packs.values()) | self.store.count_open(shared)

    def _lease_packs(self, chunk: Sequence[str]) -> dict[str, Job]:
        """Lease as many of some trials as possible, and return their packs."""
        pack_of_trial = self.store.packs(chunk)  # another driver may have cut some since
        self._open |= self.store.count_open({*pack_of_trial.values()} - self._open.keys())
        configs = self.store.configs([*pack_of_trial])
        leased = self.leases.take(configs)
        split_cohorts = {cohort_name(config) for i, config in configs.items() if i not in leased} - {""}
        if split_cohorts:
            self.leases.release([i for i in leased if cohort_name(configs[i]) in split_cohorts])
            leased = {i for i in leased if cohort_name(configs[i]) not in split_cohorts}
        self.store.check_plans([*leased])
        packs, before = self._cut_packs({i: pack_of_trial[i] for i in chunk if i in leased}, configs)
        cohorts = decide_rungs(self.sweep, self.store, self.leases, [pack[0] for pack in packs.values()])
        parents = {key: before.get(key, ()) + self.parents.get(key, ()) for key in packs}
        joins = self._find_joins({k: pack for k, pack in packs.items() if k not in self.parents}, cohorts)
        for key, part in joins.items():
            parents[key] = (*part, *(old for k in part for old in parents.pop(k)))
            packs[key] = [config for k in part for config in packs.pop(k)]
        shares = self.cluster.gpu_shares(packs, self.handed, self.left)
        weights = self.sweep.file.keep_weights
        return {
            key: Job(
                pack, cohorts.get(cohort_name(pack[0])), parents[key], tuple(joins.get(key, ())), shares[key], weights
            )
            for key, pack in packs.items()
        }

    def _cut_packs(
        self, pack_of_trial: Mapping[str, str], configs: Mapping[str, TrialConfig]
    ) -> tuple[dict[str, list[TrialConfig]], dict[str, tuple[str, ...]]]:
        """Return packs of leased trials by key, and for those cut from another pack, the key of that one."""
        stored: dict[str, list[TrialConfig]] = {}
        for trial, pack in pack_of_trial.items():
            stored.setdefault(pack, []).append(configs[trial])
        packs: dict[str, list[TrialConfig]] = {}
        cut_from: dict[str, tuple[str, ...]] = {}
        for key, part in stored.items():
            if cut := len(part) < self._open[key]:
                cut_from[pack_key(part)] = (key,)
                self.workers.checkpoint(key).share_with(self.workers.checkpoint(pack_key(part)))
            packs[pack_key(part) if cut else key] = part
        self.store.assign({key: packs[key] for key in cut_from})
        return packs, cut_from

    def _find_joins(
        self, packs: Mapping[str, Sequence[TrialConfig]], cohorts: Mapping[str, Cohort]
    ) -> dict[str, list[str]]:
        """Return which packs of cohorts continue as one; none if each cohort is one pack anyway.

        Packs that were cut because they ran out of memory or their worker died are left out: they would be cut again.
        """
        if not self.sweep.file.joint_packs:
            return {}
        resolved, memory = with_search_spaces(self.sweep), _bytes_per_worker(self.cluster)
        uncut = {key: pack for key, pack in packs.items() if not self.workers.checkpoint(key).parted}
        waiting_trials = sum(map(len, self._groups))

        def max_members(config: TrialConfig, trials: int) -> int:
            fitting = self.cluster.max_members(config) or memory // trial_bytes(resolved, config)
            return largest_pack(trials + waiting_trials, self.cluster.count, self.sweep.file.pack, fitting)

        return packs_to_join(uncut, cohorts, max_members)


def _within_budget(
    open_trials: Sequence[PlannedTrial], cohorts: Mapping[str, str], max_trials: int | None
) -> list[PlannedTrial]:
    """Return the trials that a budget allows, with complete cohorts only."""
    if max_trials is None:
        return list(open_trials)
    allowed: list[PlannedTrial] = []
    groups: dict[str, list[PlannedTrial]] = {}
    for a in open_trials:
        groups.setdefault(cohorts.get(a.id, a.id), []).append(a)
    for group in groups.values():
        if len(allowed) + len(group) <= max_trials:
            allowed += group
    return allowed


def divide_new_trials(sweep: Sweep, cluster: Cluster, trials: Sequence[TrialConfig]) -> dict[str, list[TrialConfig]]:
    """Divide trials without a pack into packs, by key."""
    resolved = with_search_spaces(sweep)
    looped = {cell.base.model for cell in resolved.cells if cell.looped}
    together = not sweep.file.joint_packs
    memory, size = _bytes_per_worker(cluster), sweep.file.pack
    return divide_into_packs(
        trials, cluster.count, size, partial(trial_bytes, resolved), memory, looped, together, cluster.max_members
    )


def _bytes_per_worker(cluster: Cluster) -> int:
    """Return the bytes that a worker may use if there is no probe."""
    return int(psutil.virtual_memory().available // (2 * cluster.count))
