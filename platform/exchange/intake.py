"""Write a bundle into the store: all of it or nothing. What is there already stays as it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

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
from longwave.platform.sweeps.plan.trials import cell_key

ImportedSweep = tuple[StoredSweep, Sequence[str], Sequence[int | None]]
"""A sweep with its trials in order, and their cells."""
SWEEP = 71
"""Most characters of a sweep's name that an imported sweep keeps; ``@`` and 8 digits of its own follow."""


def import_bundle(
    store: Store,
    file: File,
    flags: Sequence[AuditFinding] = (),
    origins: Mapping[str, str] | None = None,
    report: StageReport = ignore_stage,
) -> int:
    """Write what the store does not have yet, in one transaction, and return how many trials that was.

    Every trial is stored with the name of its bundle as its origin. Sweeps are stored under names of their own, which
    no sweep that is run here can have; one that was imported before keeps its name.

    Args:
        store: Where to.
        file: A bundle that no finding rejects.
        flags: What the checks found; stored with the trials that it bears on.
        origins: Where several bundles were joined, the name of that of each trial.
        report: Takes how many trials were written.
    """
    known, origins = store.ends_of([entry.config.id for entry in file.content.trials]), origins or {}
    new = [entry for entry in file.content.trials if entry.config.id not in known]
    if not new:
        return 0
    messages = messages_by_trial(file, flags)

    def with_epochs() -> Iterator[tuple[Trial, Sequence[EpochLine]]]:
        for k, entry in enumerate(new):
            report("Writing trials", k, len(new))
            trial = entry.config.id
            stored = _stored_trial(file, entry, origins.get(trial, file.name), messages.get(trial, ()))
            yield stored, entry.curve.lines(trial)

    configs = {entry.config.id: entry.config for entry in file.content.trials}
    bundles = sorted({origins.get(entry.config.id, file.name) for entry in new})
    store.import_trials(
        bundles, with_epochs(), _stored_sweeps(store, file, configs), _explanations(e.config for e in new)
    )
    return len(new)


def import_shipped(
    store: Store, paths: Sequence[Path], trials: Sequence[str], report: StageReport = ignore_stage
) -> int:
    """Write bundles that ship with the package, as ``import_bundle`` does, each while the next one is still packed.

    Args:
        store: Where they go.
        paths: Their files.
        trials: The ids of their trials, as ``list_trials`` returns them.
        report: Takes how far the import is.

    Raises:
        ConfigError: The store has another end of one of their trials, or none; nothing is written then.
    """
    known = store.ends_of(trials)
    heads: list[File] = []
    configs: dict[str, TrialConfig] = {}

    def with_epochs() -> Iterator[tuple[Trial, Sequence[EpochLine]]]:
        for k, file in enumerate(read_each(paths)):
            report("Importing bundles", k, len(paths))
            for conflict in find_conflicts(file.content.trials, known):
                raise ConfigError(conflict.message)
            heads.append(file.model_copy(update={"content": file.content.model_copy(update={"trials": []})}))
            configs.update((entry.config.id, entry.config) for entry in file.content.trials)
            for entry in file.content.trials:
                if (trial := entry.config.id) not in known:
                    yield _stored_trial(file, entry, file.name, ()), entry.curve.lines(trial)

    def sweeps() -> Iterator[ImportedSweep]:
        yield from _stored_sweeps(store, join(heads), configs)

    def explanations() -> Iterator[CatalogueEntry]:
        yield from _explanations(configs.values())

    store.import_trials(list_names(paths), with_epochs(), sweeps(), explanations())
    return len(configs.keys() - known.keys())


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
        configs = {entry.config.id: entry.config for entry in file.content.trials}
        for sweep, cells in zip(file.content.sweeps, _cells(file, configs), strict=True):
            planned = list(zip(sweep.trials, cells, strict=True))
            first = {cell: messages[trial][0] for trial, cell in reversed(planned) if trial in messages}
            messages = {trial: [first[cell]] for trial, cell in planned if cell in first} | messages
    return messages


def _explanations(new: Iterable[TrialConfig]) -> list[CatalogueEntry]:
    """Return what pages need of the trials' models and tasks.

    This alone needs torch. It is loaded once all trials are written, into the memory that they took.
    """
    from longwave.platform.about import known_model, known_task
    from longwave.platform.registry import get_model, get_task

    names = {(c.model, (c.task, c.variant, c.data)) for c in new}
    here = [name for name in sorted({model for model, _ in names}) if not is_plugin(name) or plugin_of("model", name)]
    models = [known_model(get_model(name)) for name in here]
    tasks = sorted({task for _, task in names})
    return [*models, *(known_task(get_task(name), variant, data) for name, variant, data in tasks)]


def _stored_trial(file: File, entry: BundledTrial, origin: str, flags: Sequence[str]) -> Trial:
    """Return a trial of the bundle as the store holds it."""
    facts = file.content.environments.get(entry.place or "", {})
    run = replace(entry.run, environment=facts, patch=file.content.patches.get(facts.get("diff", ""), ""))
    return Trial(entry.config, entry.about, entry.run.status, None, run, entry.ended, origin, entry.rerun, flags)


def _stored_sweeps(store: Store, file: File, configs: Mapping[str, TrialConfig]) -> list[ImportedSweep]:
    """Return the bundle's sweeps under names of their own, each with its trials and their cells."""
    known = {digest(store.sweep(name).content): name for name in store.sweeps() if "@" in name}
    sweeps: list[ImportedSweep] = []
    for sweep, cells in zip(file.content.sweeps, _cells(file, configs), strict=True):
        fresh = f"{sweep.content['name'][:SWEEP]}@{digest([file.name, sweep.content])[:8]}"
        numbers = {cell: k for k, cell in enumerate(dict.fromkeys(cells))}
        name = known.get(digest(sweep.content), fresh)
        sweeps.append((StoredSweep(name, sweep.content), sweep.trials, [numbers[cell] for cell in cells]))
    return sweeps


def _cells(file: File, configs: Mapping[str, TrialConfig]) -> Iterator[list[tuple[Any, ...]]]:
    """Yield of each sweep the cells that asked for its trials, in their order."""
    for sweep in file.content.sweeps:
        settings = check_sweep(sweep.content, "a sweep")
        yield [cell_key(settings, config) if (config := configs.get(t)) else () for t in sweep.trials]
