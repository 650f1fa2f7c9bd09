"""Which packs are trained now: of trials that this driver leases, as they were divided before or divided anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import psutil

from longwave.platform.records.stored import Asked
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage.leases import Leases
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.entry import Sweep
from longwave.platform.sweeps.packing import divide, pack_key
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
) -> dict[str, Job]:
    """Return the packs to train, by key, whose trials are leased from now on; none if others hold all that is left.

    A pack of the store of which others hold a part, or have ended one, is cut anew. A cohort is trained by one driver
    alone.

    Args:
        sweep, store, leases, workers: Of this driver.
        left: Trials that have not ended.
        parents: Packs whose checkpoints may serve those that have none.
        most: Trials that may be trained at most; a cohort is not cut for it.
    """
    configs = store.configs([a.id for a in left])
    wanted = _within(left, configs, most)
    taken = leases.take(wanted)
    torn = {_cohort(configs[i]) for i in wanted if i not in taken} - {""}
    if torn:
        leases.release([i for i in taken if _cohort(configs[i]) in torn])
        taken = {i for i in taken if _cohort(configs[i]) not in torn}
    packs, before = _divided(sweep, store, workers, [a for a in left if a.id in taken], configs)
    companies = {c: store.company(c) for c in {_cohort(pack[0]) for pack in packs.values()} if c}
    return {
        key: Job(pack, companies.get(_cohort(pack[0])), before.get(key, ()) + parents.get(key, ()))
        for key, pack in packs.items()
    }


def _within(left: Sequence[Asked], configs: Mapping[str, TrialConfig], most: int | None) -> list[str]:
    """Return the ids of the trials that a budget allows: cohorts whole or not at all."""
    if most is None:
        return [a.id for a in left]
    found: list[str] = []
    groups: dict[str, list[str]] = {}
    for a in left:
        groups.setdefault(_cohort(configs[a.id]) or a.id, []).append(a.id)
    for group in groups.values():
        if len(found) + len(group) <= most:
            found += group
    return found


def _divided(
    sweep: Sweep, store: Store, workers: Workers, mine: Sequence[Asked], configs: Mapping[str, TrialConfig]
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
        memory = psutil.virtual_memory().available // (2 * workers.count)
        known = looked_up(sweep)
        looped = {entry.base.model for entry in known.entries if entry.looped}
        new = divide(fresh, workers.count, sweep.file.pack, known.member_bytes, memory, looped)
        store.assign(new)
        packs |= new
    return packs, before


def _cohort(config: TrialConfig) -> str:
    return str(config.halving["cohort"]) if config.halving else ""
