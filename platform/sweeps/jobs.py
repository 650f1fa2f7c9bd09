"""Which packs are trained now: of trials that this driver leases, as they were divided before or divided anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import psutil

from longwave.platform.records.report import Company
from longwave.platform.records.stored import Asked
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage.leases import Leases
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.cohorts import cohort_of, decided_rungs, joined
from longwave.platform.sweeps.entry import Sweep
from longwave.platform.sweeps.fleet import Fleet
from longwave.platform.sweeps.packing import divide, largest, pack_key
from longwave.platform.sweeps.placement import Machine, Room
from longwave.platform.sweeps.sweep import looked_up
from longwave.platform.sweeps.workers import Job, Workers


def jobs_of(
    sweep: Sweep,
    store: Store,
    leases: Leases,
    workers: Workers,
    left: Sequence[Asked],
    parents: Mapping[str, tuple[str, ...]],
    most: int | None = None,
    fleet: Fleet | None = None,
) -> dict[str, Job]:
    """Return the packs to train, by key, whose trials are leased from now on; none if others hold all that is left.

    A pack of the store of which others hold a part, or have ended one, is cut anew. A cohort is trained by one driver
    alone.

    Args:
        sweep, store, leases, workers: Of this driver.
        left: Trials that have not ended.
        parents: Packs whose checkpoints may serve those that have none.
        most: Trials that may be trained at most; a cohort is not cut for it.
        fleet: What packs may go to; by default a core for each of the workers.
    """
    fleet = fleet or Fleet(Room([Machine(workers.count or 1)]))
    configs = store.configs([a.id for a in left])
    wanted = _within(left, configs, most)
    taken = leases.take(wanted)
    torn = {cohort_of(configs[i]) for i in wanted if i not in taken} - {""}
    if torn:
        leases.release([i for i in taken if cohort_of(configs[i]) in torn])
        taken = {i for i in taken if cohort_of(configs[i]) not in torn}
    packs, before = _divided(sweep, store, fleet, [a for a in left if a.id in taken], configs)
    companies = decided_rungs(sweep, store, leases, [pack[0] for pack in packs.values()])
    older = {key: before.get(key, ()) + parents.get(key, ()) for key in packs}
    joins = _joins(sweep, workers, fleet, {k: pack for k, pack in packs.items() if k not in parents}, companies)
    for key, part in joins.items():
        older[key] = (*part, *(old for k in part for old in older.pop(k)))
        packs[key] = [config for k in part for config in packs.pop(k)]
    shares = fleet.shares(packs)
    return {
        key: Job(pack, companies.get(cohort_of(pack[0])), older[key], tuple(joins.get(key, ())), shares[key])
        for key, pack in packs.items()
    }


def _within(left: Sequence[Asked], configs: Mapping[str, TrialConfig], most: int | None) -> list[str]:
    """Return the ids of the trials that a budget allows: cohorts whole or not at all."""
    if most is None:
        return [a.id for a in left]
    found: list[str] = []
    groups: dict[str, list[str]] = {}
    for a in left:
        groups.setdefault(cohort_of(configs[a.id]) or a.id, []).append(a.id)
    for group in groups.values():
        if len(found) + len(group) <= most:
            found += group
    return found


def _divided(
    sweep: Sweep, store: Store, fleet: Fleet, mine: Sequence[Asked], configs: Mapping[str, TrialConfig]
) -> tuple[dict[str, list[TrialConfig]], dict[str, tuple[str, ...]]]:
    """Return packs of leased trials by key, and of those cut from another the key of that one."""
    stored: dict[str, list[TrialConfig]] = {}
    for trial in mine:
        if trial.pack is not None:
            stored.setdefault(trial.pack, []).append(configs[trial.id])
    whole, packs, before = store.packed(list(stored)), {}, dict[str, tuple[str, ...]]()
    for key, part in stored.items():
        if cut := len(part) < len(whole[key]):
            before[pack_key(part)] = (key,)
        packs[pack_key(part) if cut else key] = part
    store.assign({key: packs[key] for key in before})
    if fresh := [configs[a.id] for a in mine if a.pack is None]:
        new = divided(sweep, fleet, fresh)
        store.assign(new)
        packs |= new
    return packs, before


def _joins(
    sweep: Sweep,
    workers: Workers,
    fleet: Fleet,
    packs: Mapping[str, Sequence[TrialConfig]],
    companies: Mapping[str, Company],
) -> dict[str, list[str]]:
    """Return which packs of cohorts go on as one; none where each cohort is one pack anyway.

    Neither do those that were cut since they ran out of memory or their worker died: they would be cut again.
    """
    if not (sweep.file.halving and sweep.file.halving.cohort):
        return {}
    known, memory = looked_up(sweep), _memory(fleet)
    whole = {key: pack for key, pack in packs.items() if not workers.checkpoint(key).parted}

    def most(config: TrialConfig, trials: int) -> int:
        fit = fleet.most(config) or memory // known.member_bytes(config)
        return largest(trials, fleet.count, sweep.file.pack, fit)

    return joined(whole, companies, most)


def divided(sweep: Sweep, fleet: Fleet, fresh: Sequence[TrialConfig]) -> dict[str, list[TrialConfig]]:
    """Return the packs that trials which are in none are divided into, by key."""
    known = looked_up(sweep)
    looped = {entry.base.model for entry in known.entries if entry.looped}
    together = not (sweep.file.halving and sweep.file.halving.cohort)
    memory, size = _memory(fleet), sweep.file.pack
    return divide(fresh, fleet.count, size, known.member_bytes, memory, looped, together, fleet.most)


def _memory(fleet: Fleet) -> int:
    """Return the bytes that a worker may use, where nothing was measured."""
    return int(psutil.virtual_memory().available // (2 * fleet.count))
