"""Write a sweep to the store with its plan, read it back, and find which of its trials are missing.

These follow from the stored plan alone: models, tasks and data are not loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from longwave.platform.boards.budget import SearchCurve, budgets
from longwave.platform.boards.row import Row
from longwave.platform.errors import ConfigError
from longwave.platform.plugins.known import keep_plugin_text, pin_as_planned
from longwave.platform.plugins.plugin import is_plugin
from longwave.platform.records.about import About, list_departures
from longwave.platform.records.run import Run
from longwave.platform.records.search import SAMPLER
from longwave.platform.records.stored import PlannedTrial
from longwave.platform.records.trial import TrialConfig
from longwave.platform.search.space import learns
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.reading import check_sweep
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.plan.cells import CellPlan, Sweep
from longwave.platform.sweeps.plan.rounds import round_sizes
from longwave.platform.sweeps.plan.trials import following_trials, group_by_cell
from longwave.platform.sweeps.plan.warm_start import with_settings_of_rows, with_settings_of_studies

VERSIONS = ("task_version", "data", "model_version", "protocol")
"""Fields of a trial with the versions under which it was planned."""


def store_plan(sweep: Sweep, store: Store) -> Sweep:
    """Write a sweep to the store with its plan, and return the plan; the stored one if the store has the sweep.

    Raises:
        ConfigError: Another sweep has the name, this one was planned under other versions, or a plugin breaks a rule.
    """
    from longwave.platform.sweeps.plan.resolve import used_models_and_tasks, with_descriptions

    check_plugins(sweep.file)
    name, planned = sweep.file.name, None
    if name not in store.sweeps():
        store.write_catalogue(used_models_and_tasks(sweep))
        planned = with_descriptions(with_settings_of_studies(with_settings_of_rows(sweep, store)))
    is_new = store.add_sweep(name, stored_settings(sweep.file), planned.to_dict() if planned else None)
    if planned is None or not is_new:
        planned = read_sweep_plan(store, name)
        _check_versions(sweep, planned)
    for cell in sweep.cells:
        keep_plugin_text("model", cell.base.model)
        keep_plugin_text("task", cell.base.task)
    return planned


def _check_versions(sweep: Sweep, stored: Sweep) -> None:
    """Raise ConfigError if a stored sweep was planned under other versions than those of today."""
    for ours, theirs in zip(sweep.cells, stored.cells, strict=True):
        for field in VERSIONS:
            current, planned = getattr(ours.base, field), getattr(theirs.base, field)
            if current != planned:
                version = f"{field.replace('_', ' ')} {planned} of {ours.base.model} on {ours.base.task}"
                raise ConfigError(
                    f"The sweep {stored.file.name!r} was planned with {version}, which is now {current}. "
                    "Rename the sweep."
                )


def restore_plugins(configs: Iterable[TrialConfig]) -> None:
    """Restore the plugins of some trials in the versions under which these were planned.

    Raises:
        ConfigError: A plugin is missing; the message says what to do.
    """
    for task, model in {((c.task, c.task_version), (c.model, c.model_version)) for c in configs}:
        pin_as_planned("task", *task)
        pin_as_planned("model", *model)


def check_plugins(file: SweepFile) -> None:
    """Check the models and tasks of a sweep that are plugins, except versions that have passed before.

    Raises:
        ConfigError: One breaks a rule; the message says which, and what to do.
    """
    if not any(map(is_plugin, (*file.models, *file.variant_by_task))):
        return
    from longwave.platform.contracts.check import check_plugin  # torch

    for task, variant in file.variant_by_task.items():
        check_plugin("task", task, variant)
    for model in file.models:
        check_plugin("model", model)


def stored_settings(file: SweepFile) -> dict[str, Any]:
    """Return the sweep's settings as the store keeps them."""
    return file.model_dump(mode="json", exclude_defaults=True)


def read_sweep_plan(store: Store, name: str) -> Sweep:
    """Return the sweep ``name`` with its stored plan. An imported one keeps the name that it has in this store.

    Raises:
        ConfigError: There is no such sweep.
    """
    stored = store.sweep(name)
    file = check_sweep(stored.content, name).model_copy(update={"name": name})
    if stored.plan is not None:
        return Sweep.from_dict(file, stored.plan)
    return _plan_from_trials(file, store, name)


def missing_trials(sweep: Sweep, store: Store) -> list[PlannedTrial]:
    """Return the trials of the sweep that have not ended, after planning those that follow from ended ones."""
    return [a for a in plan_trials(sweep, store) if a.open]


def plan_trials(sweep: Sweep, store: Store) -> list[PlannedTrial]:
    """Return all trials of the sweep, after planning those that follow from ended ones."""
    while True:
        planned = store.planned(sweep.file.name)
        known_ids = {a.id for a in planned}
        if new := [
            (cell, config) for cell, config in _following_trials(sweep, store, planned) if config.id not in known_ids
        ]:
            about = _descriptions(sweep, new)
            cells, configs = [cell for cell, _ in new], [config for _, config in new]
            store.add_trials(sweep.file.name, configs, about, cells)
        else:
            return planned


def is_over(sweep: Sweep, store: Store, planned: Sequence[PlannedTrial]) -> bool:
    """Return whether all trials of the sweep have ended and no further one follows from them. Writes nothing."""
    return not any(a.open for a in planned) and next(_following_trials(sweep, store, planned), None) is None


def retry_failed(store: Store, name: str) -> int:
    """Reopen the failed trials of the sweep ``name`` from which no later one followed, and return their number.

    Raises:
        ConfigError: There is no such sweep.
    """
    if not learns(store.sweep(name).content.get("sampler", SAMPLER)):
        return store.reopen_failed(name)
    sweep, in_earlier_rounds = read_sweep_plan(store, name), list[str]()
    for cell, trials in zip(sweep.cells, group_by_cell(sweep, store.planned(name)), strict=True):
        search = [a.id for a in trials if a.phase == "search"]
        ends_of_rounds = accumulate(round_sizes(sweep.file.of_cell(len(cell.space))))
        in_earlier_rounds += search[: max((end for end in ends_of_rounds if end < len(search)), default=0)]
    return store.reopen_failed(name, but=in_earlier_rounds)


def _following_trials(sweep: Sweep, store: Store, planned: Sequence[PlannedTrial]) -> Iterator[tuple[int, TrialConfig]]:
    def read(trials: Sequence[str]) -> dict[str, tuple[TrialConfig, Run]]:
        return {t.config.id: (t.config, t.run) for t in store.trials_by_id(trials) if t.run}

    return following_trials(_drawable(sweep, planned), planned, read)


def _descriptions(sweep: Sweep, trials: Sequence[tuple[int, TrialConfig]]) -> list[About]:
    """Return the description of each trial's row: that of its cell, with the trial's own departures from the recipe.

    Trials of a cell with equal departures, which most have, share one object.
    """
    descriptions: list[About] = []
    shared: dict[tuple[int, tuple[str, ...]], About] = {}
    for index, config in trials:
        cell = sweep.cells[index]
        if cell.about is None:
            from longwave.platform.about import about

            descriptions.append(about(config))
            continue
        departs = cell.about.departures
        if cell.recipe is not None:
            departs = list_departures(config, cell.recipe, config.params.keys() & cell.numbers)
        if (key := (index, departs)) not in shared:
            shared[key] = replace(cell.about, departures=departs)
        descriptions.append(shared[key])
    return descriptions


def _plan_from_trials(file: SweepFile, store: Store, name: str) -> Sweep:
    """Return a sweep without a stored plan, such as an imported one: if possible with cells taken from its trials.

    Args:
        file: The sweep.
        store: Where its trials are.
        name: Of the sweep in the store; an imported one's differs from its file's.
    """
    firsts: dict[str, str] = {}
    for trial in store.planned(name):
        firsts.setdefault(trial.model, trial.id)
    first_trials = {t.config.model: t for t in store.trials_by_id(list(firsts.values()))}
    if file.tasks or file.has_grid or not {*file.models} <= first_trials.keys():
        return with_search_spaces(Sweep(file, ()))
    samples = [(first_trials[model].config, first_trials[model].about) for model in file.models]
    cells = (CellPlan(base, (), about.goal, about.metric, base.model, about) for base, about in samples)
    return Sweep(file, tuple(cells))


def _drawable(sweep: Sweep, planned: Sequence[PlannedTrial]) -> Sweep:
    """Return the sweep, with its search spaces if some trials of a search are not planned yet."""
    return (
        sweep
        if all(
            len(trials) >= sweep.file.of_cell(len(cell.space)).searched
            for cell, trials in zip(sweep.cells, group_by_cell(sweep, planned), strict=True)
        )
        else with_search_spaces(sweep)
    )


def with_search_spaces(sweep: Sweep) -> Sweep:
    """Return the sweep; one without a stored plan, which lacks search spaces, is resolved again from its file."""
    if sweep.cells and all(cell.positions for cell in sweep.cells):
        return sweep
    from longwave.platform.sweeps.plan.resolve import resolve

    return resolve(sweep.file)


def read_searched(store: Store, name: str) -> Sweep:
    """Return the sweep ``name`` with the search space and the scale of each cell. Those of an imported sweep are taken
    from its file and its trials; its task's data, which may not be on this machine, are only loaded for several tasks,
    a grid or a second search.

    Raises:
        ConfigError: There is no such sweep.
    """
    sweep = read_sweep_plan(store, name)
    file = sweep.file
    if file.tasks or file.has_grid or file.wider or all(cell.positions for cell in sweep.cells):
        return with_search_spaces(sweep)
    from longwave.platform.sweeps.plan.resolve import with_space

    return replace(sweep, cells=tuple(with_space(file, cell) for cell in sweep.cells))


def search_curves(store: Store, rows: Iterable[Row]) -> list[SearchCurve]:
    """Return the search of each model's best row on each task of ``rows``; see ``budgets``."""
    rows = list(rows)
    dependent = [
        name for name in sorted({name for row in rows for name in row.sweeps}) if draws_are_dependent(store, name)
    ]
    return budgets(rows, lambda row: store.search_runs(row.config), dependent)


def draws_are_dependent(store: Store, sweep: str) -> bool:
    """Return whether a sweep's trials are not independent draws: it learns, has a warm start, or widens its ranges.

    Raises:
        ConfigError: There is no such sweep.
    """
    content = store.sweep(sweep).content
    return learns(content.get("sampler", SAMPLER)) or any(content.get(key) for key in ("study", "warm", "wider"))
