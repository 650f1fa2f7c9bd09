"""Write a bundle into the store: all of it or nothing. What is there already stays as it is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from longwave.platform.about import known_model, known_task
from longwave.platform.exchange.bundle import BundledTrial, File
from longwave.platform.exchange.inspection import AuditFinding
from longwave.platform.records.identity import digest
from longwave.platform.records.stored import CatalogueEntry, StoredSweep, Trial
from longwave.platform.registry import get_model, get_task
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import check_sweep
from longwave.platform.sweeps.plan.trials import cell_key

SWEEP = 71
"""Most characters of a sweep's name that an imported sweep keeps; ``@`` and 8 digits of its own follow."""


def find_conflicts(store: Store, file: File) -> Iterator[AuditFinding]:
    """Yield trials of the bundle that the store has with another end, or without one: they reject it."""
    known = _known_trials(store, file)
    for entry in file.content.trials:
        trial = known.get(entry.config.id)
        if trial and (difference := _describe_difference(trial, entry)):
            yield AuditFinding("conflict", "reject", f"trial {entry.config.id} is in the store with {difference}.")


def import_bundle(
    store: Store, file: File, flags: Sequence[AuditFinding], origins: Mapping[str, str] | None = None
) -> list[BundledTrial]:
    """Write what the store does not have yet, in one transaction, and return those trials.

    Every trial is stored with the name of its bundle as its origin. Sweeps are stored under names of their own, which
    no sweep that is run here can have; one that was imported before keeps its name.

    Args:
        store: Where to.
        file: A bundle that no finding rejects.
        flags: What the checks found; stored with the trials that it bears on.
        origins: Where several bundles were joined, the name of that of each trial.
    """
    known, origins = _known_trials(store, file), origins or {}
    new = [entry for entry in file.content.trials if entry.config.id not in known]
    if new:
        messages = messages_by_trial(file, flags)
        trials = [
            _stored_trial(file, entry, origins.get(entry.config.id, file.name), messages.get(entry.config.id, ()))
            for entry in new
        ]
        points = [point for entry in new for point in entry.points]
        bundles, sweeps = sorted({t.origin for t in trials}), _stored_sweeps(store, file)
        store.import_trials(bundles, trials, points, sweeps, _explanations(new))
    return new


def messages_by_trial(file: File, flags: Sequence[AuditFinding]) -> dict[str, list[str]]:
    """Return the messages of flags by the trials that they bear on.

    A flag bears on the trials that it is about; of a sweep, on all that were asked for in a cell with them, too: one of
    these was chosen by comparison with all others. Such a one gets the first flag of its cell.
    """
    messages: dict[str, list[str]] = {}
    for flag in flags:
        for trial in flag.trials or [entry.config.id for entry in file.content.trials]:
            messages.setdefault(trial, []).append(flag.message)
    if messages:
        for sweep, cells in zip(file.content.sweeps, _cells(file), strict=True):
            asked = list(zip(sweep.trials, cells, strict=True))
            first = {cell: messages[trial][0] for trial, cell in reversed(asked) if trial in messages}
            messages = {trial: [first[cell]] for trial, cell in asked if cell in first} | messages
    return messages


def _known_trials(store: Store, file: File) -> dict[str, Trial]:
    return {t.config.id: t for t in store.trials_by_id([entry.config.id for entry in file.content.trials])}


def _explanations(new: Sequence[BundledTrial]) -> list[CatalogueEntry]:
    """Return what pages need of the trials' models and tasks."""
    places = sorted({(e.config.task, e.config.variant, e.config.data) for e in new})
    models = [known_model(get_model(name)) for name in sorted({e.config.model for e in new})]
    return [*models, *(known_task(get_task(name), variant, data) for name, variant, data in places)]


def _stored_trial(file: File, entry: BundledTrial, origin: str, flags: Sequence[str]) -> Trial:
    """Return a trial of the bundle as the store holds it."""
    facts = file.content.environments.get(entry.place or "", {})
    run = replace(entry.run, environment=facts, patch=file.content.patches.get(facts.get("diff", ""), ""))
    return Trial(entry.config, entry.about, entry.run.status, None, run, entry.ended, origin, entry.rerun, flags)


def _stored_sweeps(store: Store, file: File) -> list[tuple[StoredSweep, Sequence[str], Sequence[int | None]]]:
    """Return the bundle's sweeps under names of their own, each with its trials and their cells."""
    known = {digest(store.sweep(name).content): name for name in store.sweeps() if "@" in name}
    sweeps: list[tuple[StoredSweep, Sequence[str], Sequence[int | None]]] = []
    for sweep, cells in zip(file.content.sweeps, _cells(file), strict=True):
        fresh = f"{sweep.content['name'][:SWEEP]}@{digest([file.name, sweep.content])[:8]}"
        numbers = {cell: k for k, cell in enumerate(dict.fromkeys(cells))}
        name = known.get(digest(sweep.content), fresh)
        sweeps.append((StoredSweep(name, sweep.content), sweep.trials, [numbers[cell] for cell in cells]))
    return sweeps


def _cells(file: File) -> Iterator[list[tuple[Any, ...]]]:
    """Yield of each sweep the cells that asked for its trials, in their order."""
    configs = {entry.config.id: entry.config for entry in file.content.trials}
    for sweep in file.content.sweeps:
        settings = check_sweep(sweep.content, "a sweep")
        yield [cell_key(settings, config) if (config := configs.get(t)) else () for t in sweep.trials]


def _describe_difference(trial: Trial, entry: BundledTrial) -> str:
    """Return what the store says otherwise of how a trial ended; empty where it says the same."""
    if trial.run is None:
        return "no end yet: finish its sweep first, or import into another store"
    for name in ("status", "epochs", "best_epoch", "valid", "test"):
        here, there = getattr(trial.run, name), getattr(entry.run, name)
        close = isinstance(here, float) and isinstance(there, float) and math.isclose(here, there, rel_tol=1e-6)
        if here != there and not close:
            return f"{name} {here}, in the bundle it has {there}"
    return ""
