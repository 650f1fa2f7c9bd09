"""Write a bundle into the store in one transaction; existing trials are not changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from longwave.platform.boards.trust import shipped
from longwave.platform.errors import ConfigError
from longwave.platform.exchange.bundle import BundledTrial, File
from longwave.platform.exchange.finding import AuditFinding, find_conflicts
from longwave.platform.exchange.parts import join
from longwave.platform.exchange.reading import StageReport, ignore_stage
from longwave.platform.exchange.shipped import list_names, read_each
from longwave.platform.plugins.known import plugin_of
from longwave.platform.plugins.plugin import is_plugin
from longwave.platform.records.identity import digest
from longwave.platform.records.run import EpochLine
from longwave.platform.records.stored import CatalogueEntry, StoredSweep, Trial
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.reading import check_sweep
from longwave.platform.sweeps.plan.cell_numbers import cell_key, number_cells

ImportedSweep = tuple[StoredSweep, Sequence[str], Sequence[int | None]]
"""A sweep with its trials in order, and their cells."""
SWEEP = 71
"""Characters of a sweep's name that are kept on import, before ``@`` and 8 digits."""


def import_bundle(
    store: Store,
    file: File,
    flags: Sequence[AuditFinding] = (),
    parts: Sequence[File] = (),
    report: StageReport = ignore_stage,
) -> int:
    """Write trials that the store does not have yet, in one transaction; return their number.

    Every trial and sweep is stored with the name of its bundle as its origin. Sweeps get new names, which no local
    sweep can have; see ``_stored_sweeps``. Only bundles that ship with the package say which version of a task's data
    is current.

    Args:
        store: The store to write to.
        file: A bundle that no finding rejects.
        flags: Findings of the checks, stored with the trials they concern.
        parts: The bundles that ``join`` made it of, if several.
        report: Called with the progress.
    """
    existing = store.ends_of([entry.config.id for entry in file.content.trials])
    new_entries = [entry for entry in file.content.trials if entry.config.id not in existing]
    if not new_entries:
        return 0
    messages = messages_by_trial(file, flags)
    parts = parts or [file]
    bundle_of = {entry.config.id: part.name for part in parts for entry in part.content.trials}

    def with_epochs() -> Iterator[tuple[Trial, Sequence[EpochLine]]]:
        for k, entry in enumerate(new_entries):
            report("Writing trials", k, len(new_entries))
            trial = entry.config.id
            stored = _stored_trial(file, entry, bundle_of[trial], messages.get(trial, ()))
            yield stored, entry.curve.lines(trial)

    configs = {entry.config.id: entry.config for entry in file.content.trials}
    new = [(entry.config, bundle_of[entry.config.id]) for entry in new_entries]
    described = (config if bundle in shipped() else replace(config, data="") for config, bundle in new)
    store.import_trials(
        sorted({bundle for _, bundle in new}),
        with_epochs(),
        _stored_sweeps(store, file, configs, parts),
        _explanations(described),
    )
    return len(new_entries)


def import_shipped(
    store: Store, paths: Sequence[Path], trials: Sequence[str], report: StageReport = ignore_stage
) -> int:
    """Write bundles that ship with the package, as ``import_bundle`` does, but unpacked one by one to save memory.
    Trials that came in other bundles are replaced, whatever their outcome, so that all are trusted.

    Args:
        store: The store to write to.
        paths: Files of the bundles.
        trials: The ids of their trials, as ``list_trials`` returns them.
        report: Called with the progress.

    Returns:
        The number of trials written.

    Raises:
        ConfigError: A trial was trained here or came in a bundle that ships, and has another outcome, or none yet;
            nothing is written.
    """
    stored = store.ends_of(trials)
    replaced = {trial for trial, end in stored.items() if end.origin and end.origin not in shipped()}
    kept = {trial: end for trial, end in stored.items() if trial not in replaced}
    heads: list[File] = []
    configs: dict[str, TrialConfig] = {}

    def with_epochs() -> Iterator[tuple[Trial, Sequence[EpochLine]]]:
        for k, file in enumerate(read_each(paths)):
            report("Importing bundles", k, len(paths))
            for conflict in find_conflicts(file.content.trials, kept):
                raise ConfigError(conflict.message)
            heads.append(file.model_copy(update={"content": file.content.model_copy(update={"trials": []})}))
            configs.update((entry.config.id, entry.config) for entry in file.content.trials)
            for entry in file.content.trials:
                if (trial := entry.config.id) not in kept:
                    yield _stored_trial(file, entry, file.name, ()), entry.curve.lines(trial)

    def sweeps() -> Iterator[ImportedSweep]:
        yield from _stored_sweeps(store, join(heads), configs, heads)

    def explanations() -> Iterator[CatalogueEntry]:
        yield from _explanations(configs.values())

    store.import_trials(list_names(paths), with_epochs(), sweeps(), explanations(), replaced)
    return len(configs.keys() - kept)


def messages_by_trial(file: File, flags: Sequence[AuditFinding]) -> dict[str, list[str]]:
    """Return the messages of flags by the trials that they affect. A flag affects the trials that it concerns, and all
    others of their cell, because the winner of a cell was chosen by comparison with all of them. These others get the
    first flag of the cell.
    """
    messages: dict[str, list[str]] = {}
    for flag in flags:
        for trial in flag.trials or [entry.config.id for entry in file.content.trials]:
            messages.setdefault(trial, []).append(flag.message)
    if messages:
        configs = {entry.config.id: entry.config for entry in file.content.trials}
        for sweep, cells in zip(file.content.sweeps, _cells(file, configs), strict=True):
            planned = list(zip(sweep.trials, cells, strict=True))
            first = {cell: messages[trial][0] for trial, cell in reversed(planned) if trial in messages}
            messages = {trial: [first[cell]] for trial, cell in planned if cell in first} | messages
    return messages


def _explanations(new: Iterable[TrialConfig]) -> list[CatalogueEntry]:
    """Return the catalogue entries of the trials' models and tasks. Only this needs torch, which is imported after all
    trials are written, when their memory is free again.
    """
    from longwave.platform.about import known_model, known_task
    from longwave.platform.registry import get_model, get_task

    names = {(c.model, (c.task, c.variant, c.data)) for c in new}
    available = [
        name for name in sorted({model for model, _ in names}) if not is_plugin(name) or plugin_of("model", name)
    ]
    models = [known_model(get_model(name)) for name in available]
    tasks = sorted({task for _, task in names}, reverse=True)  # of equal ones, the one with a version of its data first
    return [*models, *(known_task(get_task(name), variant, data) for name, variant, data in tasks)]


def _stored_trial(file: File, entry: BundledTrial, origin: str, flags: Sequence[str]) -> Trial:
    """Return a trial of the bundle for the store."""
    facts = file.content.environments.get(entry.place or "", {})
    run = replace(entry.run, environment=facts, patch=file.content.patches.get(facts.get("diff", ""), ""))
    return Trial(entry.config, entry.about, entry.run.status, None, run, entry.ended, origin, entry.rerun, flags)


def _stored_sweeps(
    store: Store, file: File, configs: Mapping[str, TrialConfig], parts: Sequence[File]
) -> list[ImportedSweep]:
    """Return the bundle's sweeps under new names, each with its trials and their cells. One that was imported before
    keeps its name if the cells that both have are equal: no bundle adds trials to a cell of another. The origin of a
    sweep in several of the bundles ``parts`` is one that does not ship, if there is any.

    Raises:
        ConfigError: The digits in a new name are by chance, or by intent, those of another sweep.
    """
    shipped_first = sorted(parts, key=lambda part: part.name not in shipped())
    origins = {digest(sweep.content): part.name for part in shipped_first for sweep in part.content.sweeps}
    names, imported = store.sweeps(), dict[str, list[str]]()
    for name in names:
        if "@" in name:
            imported.setdefault(digest(store.sweep(name).content), []).append(name)
    sweeps: list[ImportedSweep] = []
    for sweep, cells in zip(file.content.sweeps, _cells(file, configs), strict=True):
        name = f"{sweep.content['name'][:SWEEP]}@{digest([file.name, sweep.content])[:8]}"
        settings, known = check_sweep(sweep.content, "a sweep"), dict[tuple[Any, ...], int]()
        for earlier in imported.get(digest(sweep.content), ()):
            planned = store.planned(earlier)
            configs_of_stored = store.configs([trial.id for trial in planned])
            stored = {trial: cell_key(settings, config) for trial, config in configs_of_stored.items()}
            if _agree_on_shared_cells(stored, dict(zip(sweep.trials, cells, strict=True))):
                name, known = earlier, {stored[trial.id]: trial.cell or 0 for trial in planned}
                break
        else:
            if name in names:
                raise ConfigError(f"The store has another sweep {name}. Import the bundle into another store.")
        numbers = number_cells(settings, cells, known)
        stored_sweep = StoredSweep(name, sweep.content, origin=origins[digest(sweep.content)])
        sweeps.append((stored_sweep, sweep.trials, [numbers[cell] for cell in cells]))
    return sweeps


def _agree_on_shared_cells(stored: Mapping[str, tuple[Any, ...]], bundled: Mapping[str, tuple[Any, ...]]) -> bool:
    """Return whether two versions of a sweep, as the cell of each trial, have the same trials in the cells of both."""
    shared = {*stored.values()} & {*bundled.values()}
    return shared.isdisjoint({**stored, **bundled}[trial] for trial in stored.keys() ^ bundled.keys())


def _cells(file: File, configs: Mapping[str, TrialConfig]) -> Iterator[list[tuple[Any, ...]]]:
    """Yield for each sweep the cells of its trials, in order."""
    for sweep in file.content.sweeps:
        settings = check_sweep(sweep.content, "a sweep")
        yield [cell_key(settings, config) if (config := configs.get(t)) else () for t in sweep.trials]
