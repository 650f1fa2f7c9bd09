"""Cohorts of successive halving whose trials train in several packs: what the store knows of them decides."""

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
    """Return the name of the trials that a trial competes with; empty without successive halving."""
    return str(config.halving["cohort"]) if config.halving else ""


def decide_rungs(sweep: Sweep, store: Store, leases: Leases, trials: Iterable[TrialConfig]) -> dict[str, Cohort]:
    """Return what is known of the cohorts of some trials, by name, once each rung that can be decided is.

    A rung is decided when all that compete at it have a score in the store, and for all of them at once; their packs
    hear of it when they go on.

    Args:
        sweep, store: Of this driver.
        leases: Under which that is written; they hold all open trials of the cohorts.
        trials: Some of each cohort; those of none are passed over.
    """
    goals = {entry.base.task: entry.goal for entry in sweep.entries}
    found: dict[str, Cohort] = {}
    for config in trials:
        if not config.halving or cohort_name(config) in found:
            continue
        cohort = store.cohort(cohort_name(config))
        for epoch in sorted({r.epoch for r in cohort.rungs if r.stays is None}):
            if (now := decided(cohort, config.halving, epoch, goals[config.task])) is not None:
                report = Report(rungs=[rung for rung in now[0].values() if rung.trial in leases.fences])
                with suppress(LeaseLostError):  # its packs meet it, too
                    leases.write(report)
                cohort = cohort.after(report)
        found[cohort.cohort] = cohort
    return found


def packs_to_join(
    packs: Mapping[str, Sequence[TrialConfig]],
    cohorts: Mapping[str, Cohort],
    most: Callable[[TrialConfig, int], int],
) -> dict[str, list[str]]:
    """Return which packs are to go on as one, by its key: those that a rung left small, as many as fit.

    Those that are stopped there end in it at once. The key follows from the packs alone, so that one that was
    interrupted is found again.

    Args:
        packs: Open trials by pack.
        cohorts: What is known of cohorts, by name.
        most: How many trials like one a pack may hold, given how many go on in all.
    """
    stay = {name: _survivors(cohort) for name, cohort in cohorts.items()}
    alike: dict[tuple[str, str], dict[str, int]] = {}
    for key, pack in packs.items():
        if known := stay.get(cohort := cohort_name(pack[0])):
            alike.setdefault((cohort, pack[0].shape), {})[key] = sum(known[config.id] for config in pack)
    total, found = sum(n for left in alike.values() for n in left.values()), list[list[str]]()
    for left in alike.values():
        room, held = most(packs[next(iter(left))][0], total), math.inf
        for key, go_on in left.items():
            if held + go_on > room:
                found.append([])
                held = 0
            found[-1].append(key)
            held += go_on
    return {digest(part): part for part in found if len(part) > 1}


def _survivors(cohort: Cohort) -> dict[str, bool]:
    """Return which open trials of a cohort stay, if all of them stand at one rung that is decided; else nothing."""
    last = {r.trial: r for r in sorted(cohort.rungs, key=lambda r: r.epoch) if r.trial not in cohort.gone}
    there = len(last) == len(set(cohort.members) - cohort.gone.keys()) and len({r.epoch for r in last.values()}) == 1
    found = {trial: rung.stays for trial, rung in last.items() if rung.stays is not None}
    return found if there and len(found) == len(last) else {}
