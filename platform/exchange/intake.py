"""Take a bundle up into the store: all of it or nothing. What is there already stays as it is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from longwave.platform.about import known_model, known_task
from longwave.platform.exchange.bundle import BundledTrial, File
from longwave.platform.exchange.inspection import Objection
from longwave.platform.records.identity import digest
from longwave.platform.records.stored import CatalogueEntry, StoredSweep, Trial
from longwave.platform.registry import get_model, get_task
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.config import check_sweep
from longwave.platform.sweeps.plan import cell_of

SWEEP = 71
"""Most characters of a sweep's name that an imported sweep keeps; ``@`` and 8 digits of its own follow."""


def conflicts(store: Store, file: File) -> Iterator[Objection]:
    """Yield trials of the bundle that the store has with another end, or without one: they reject it."""
    known = _known(store, file)
    for entry in file.content.trials:
        trial = known.get(entry.config.id)
        if trial and (said := _unlike(trial, entry)):
            yield Objection("conflict", "reject", f"trial {entry.config.id} is in the store with {said}.")


def take(store: Store, file: File, flags: Sequence[Objection]) -> list[BundledTrial]:
    """Write what the store does not have yet, in one transaction, and return those trials.

    Every trial is stored with the bundle's name as its origin. The bundle's sweeps are stored under names of their
    own, which no sweep that is run here can have.

    Args:
        store: Where to.
        file: A bundle that no finding rejects.
        flags: What the checks found; stored with the trials that it bears on.
    """
    known = _known(store, file)
    new = [entry for entry in file.content.trials if entry.config.id not in known]
    if new:
        told = flagged(file, flags)
        trials = [_trial(file, entry, told.get(entry.config.id, ())) for entry in new]
        points = [point for entry in new for point in entry.points]
        store.import_trials(file.name, trials, points, _sweeps(file), _explained(new))
    return new


def flagged(file: File, flags: Sequence[Objection]) -> dict[str, list[str]]:
    """Return what flags say against trials, by trial.

    A flag bears on the trials that it is about; of a sweep, on all that were asked for in a cell with them, too: one of
    these was chosen by comparison with all others. Such a one is told the first flag of its cell.
    """
    told: dict[str, list[str]] = {}
    for flag in flags:
        for trial in flag.trials or [entry.config.id for entry in file.content.trials]:
            told.setdefault(trial, []).append(flag.message)
    for sweep, places in zip(file.content.sweeps, _places(file), strict=True):
        asked = list(zip(sweep.trials, places, strict=True))
        first = {place: told[trial][0] for trial, place in reversed(asked) if trial in told}
        beside = {trial: first[place] for trial, place in asked if place in first}
        told = {trial: [message] for trial, message in beside.items()} | told
    return told


def _known(store: Store, file: File) -> dict[str, Trial]:
    return {t.config.id: t for t in store.trials_by_id([entry.config.id for entry in file.content.trials])}


def _explained(new: Sequence[BundledTrial]) -> list[CatalogueEntry]:
    """Return what pages need of the trials' models and tasks."""
    places = sorted({(e.config.task, e.config.variant, e.config.data) for e in new})
    models = [known_model(get_model(name)) for name in sorted({e.config.model for e in new})]
    return [*models, *(known_task(get_task(name), variant, data) for name, variant, data in places)]


def _trial(file: File, entry: BundledTrial, flags: Sequence[str]) -> Trial:
    """Return a trial of the bundle as the store holds it."""
    facts = file.content.environments.get(entry.place or "", {})
    run = replace(entry.run, environment=facts, patch=file.content.patches.get(facts.get("diff", ""), ""))
    status = entry.run.status
    return Trial(entry.config, entry.about, status, None, run, entry.ended, file.name, entry.rerun, flags)


def _sweeps(file: File) -> list[tuple[StoredSweep, Sequence[str], Sequence[int | None]]]:
    """Return the bundle's sweeps under names of their own, each with its trials and their cells."""
    found: list[tuple[StoredSweep, Sequence[str], Sequence[int | None]]] = []
    for sweep, places in zip(file.content.sweeps, _places(file), strict=True):
        name = f"{sweep.content['name'][:SWEEP]}@{digest([file.name, sweep.content])[:8]}"
        numbers = {place: k for k, place in enumerate(dict.fromkeys(places))}
        found.append((StoredSweep(name, sweep.content), sweep.trials, [numbers[place] for place in places]))
    return found


def _places(file: File) -> Iterator[list[tuple[Any, ...]]]:
    """Yield of each sweep the cells that asked for its trials, in their order."""
    configs = {entry.config.id: entry.config for entry in file.content.trials}
    for sweep in file.content.sweeps:
        settings = check_sweep(sweep.content, "a sweep")
        yield [cell_of(settings, config) if (config := configs.get(t)) else () for t in sweep.trials]


def _unlike(trial: Trial, entry: BundledTrial) -> str:
    """Return what the store says otherwise of how a trial ended; empty where it says the same."""
    if trial.run is None:
        return "no end yet: finish its sweep first, or import into another store"
    for name in ("status", "epochs", "best_epoch", "valid", "test"):
        here, there = getattr(trial.run, name), getattr(entry.run, name)
        close = isinstance(here, float) and isinstance(there, float) and math.isclose(here, there, rel_tol=1e-6)
        if here != there and not close:
            return f"{name} {here}, in the bundle it has {there}"
    return ""
