"""Successive halving of cohorts whose trials train in several packs: the scores in the store decide."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from longwave.platform.records.identity import digest
from longwave.platform.records.report import Cohort, Report
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage.leases import LeaseLostError, Leases
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.plan.cells import Sweep
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
    goals = {entry.base.task: entry.goal for entry in sweep.cells}
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
