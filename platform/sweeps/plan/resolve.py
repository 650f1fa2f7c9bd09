"""Turn a sweep file into a plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from longwave.models.base.spec import ModelSpec
from longwave.platform.about import about, known_model, known_task
from longwave.platform.errors import ConfigError, did_you_mean
from longwave.platform.records.stored import CatalogueEntry
from longwave.platform.records.trial import WORDS, TrialConfig
from longwave.platform.registry import get_model, get_task
from longwave.platform.search.space import Dimension, check_draws, learns
from longwave.platform.statistics.scale import scale_of
from longwave.platform.sweeps.file.cell import ResolvedCell, resolve_cell
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.file.settings import CellSettings, read_cells
from longwave.platform.sweeps.plan.cells import CellPlan, Sweep, recipe_to_dict
from longwave.platform.sweeps.plan.early_stopping import check_early_ends, check_early_stopping
from longwave.platform.sweeps.plan.rounds import round_sizes, without_defaults
from longwave.platform.sweeps.plan.validation import gate_score
from longwave.platform.sweeps.plan.warm_start import choose_starts, published_settings
from longwave.tasks.base.batch import Batch
from longwave.tasks.base.data import Data
from longwave.tasks.base.spec import TaskSpec

MOST_RESULTS = 100
"""Most made-up results with which a sampler's arguments are checked."""


def resolve(file: SweepFile) -> Sweep:
    """Return the sweep with every name looked up, every range checked and every published default filled in.

    Raises:
        ConfigError: A name is unknown, or a value breaks a rule; the message names the key.
    """
    tasks = [get_task(name) for name in file.variant_by_task]
    models = [get_model(name) for name in file.models]
    if len(set(file.models)) < len(file.models):
        raise ConfigError(f"{file.name}: models: each model once, got {', '.join(file.models)}.")
    second = file.wider.space if file.wider else {}
    for table, content in (
        ("space", file.space),
        ("model", file.model),
        ("study", file.study),
        ("wider.space", second),
    ):
        for name in content.keys() - set(file.models):
            raise ConfigError(f"{file.name}: {did_you_mean('model', name, file.models)} The table is [{table}.{name}].")
    if file.rounds > 1 and not learns(file.sampler):
        raise ConfigError(
            f"{file.name}: rounds: only a sampler that learns, such as tpe, can use several rounds; "
            f"got sampler {file.sampler!r}."
        )
    cells = tuple(cell for task in tasks for cell in _plan_cells(file, task, models))
    _check_drops(file, cells)
    return Sweep(file, cells)


def with_descriptions(sweep: Sweep) -> Sweep:
    """Return the sweep with descriptions of its rows; fits the trivial predictors that these quote."""
    return replace(sweep, cells=tuple(replace(cell, about=about(cell.base)) for cell in sweep.cells))


def with_space(file: SweepFile, cell: CellPlan) -> CellPlan:
    """Return a cell that was read from trials, the only one of its model in a sweep of one task, with its search space,
    and with the scale of a race if there is one. The task's data are not loaded.
    """
    assert cell.about
    [settings] = read_cells(file, model := get_model(cell.base.model))
    space = resolve_cell(settings, get_task(cell.base.task), cell.base.variant, model).space
    if not file.race_settings:
        return replace(cell, space=space)
    scale = scale_of(cell.about.metric, cell.goal, cell.about.unit, cell.about.floor)
    return replace(cell, space=space, perfect=scale.perfect, floor=scale.floor)


def used_models_and_tasks(sweep: Sweep) -> list[CatalogueEntry]:
    """Return descriptions of the sweep's tasks and models, which pages show."""
    tasks = {e.base.task: known_task(get_task(e.base.task), e.base.variant, e.base.data) for e in sweep.cells}
    return [*tasks.values(), *(known_model(get_model(name)) for name in sweep.file.models)]


def _check_batch_type(file: SweepFile, task: TaskSpec, model: ModelSpec, batch: Batch) -> None:
    """Raise ConfigError if the model cannot read the task's batches, or what it needs is not installed."""
    if missing := model.lacks():
        raise ConfigError(f"{file.name}: models: {model.name}: {missing}")
    reads, batch_type = model.layer.READS, type(batch)
    if not issubclass(batch_type, reads):
        kinds = f"{model.name} reads {reads.__name__}, but {task.name} gives {batch_type.__name__}"
        raise ConfigError(f"{file.name}: models: {kinds}. Leave {model.name} out, or choose another task.")


def _plan_cells(file: SweepFile, task: TaskSpec, models: list[ModelSpec]) -> Iterator[CellPlan]:
    """Yield the cells of a task, model by model."""
    variant = file.variant_by_task[task.name] or task.variant
    try:
        data = task.load(variant)
    except ValueError as error:
        where = f"variants.{task.name}" if file.tasks else "variant"
        raise ConfigError(f"{file.name}: {where}: {error}") from None
    for model in models:
        _check_batch_type(file, task, model, data.valid)
        for settings in read_cells(file, model):
            yield _plan_cell(file, task, model, variant, data, settings)


def _plan_cell(
    file: SweepFile, task: TaskSpec, model: ModelSpec, variant: str, data: Data[Batch], settings: CellSettings
) -> CellPlan:
    resolved = resolve_cell(settings, task, variant, model)
    options = settings.options(model)
    base = TrialConfig(
        task=task.name,
        task_version=task.version,
        variant=variant,
        data=data.version,
        model=model.name,
        model_version=model.version,
        options={name: value for name, value in options.items() if value != model.defaults[name]},
        params=resolved.params,
        phase="search",
        seed=0,
        precision=file.precision,
        selection=file.selection,
        **resolved.fields,
    )
    check_early_stopping(file, resolved)
    check_early_ends(file, task, data, resolved)
    _check_nothing_drawn(file, model, resolved)
    _check_draws(file, task, resolved.space)
    drawn = {d.name for d in resolved.space}
    metric = task.metric
    scale = scale_of(metric.name, metric.goal, metric.unit, metric.floor(data.test.targets))
    gates = file.rule == 2 and file.halving is not None and file.halving.gate
    planned = CellPlan(
        base if drawn & {*WORDS} else without_defaults(base, resolved.numbers),
        resolved.space,
        metric.goal,
        metric.name,
        _label_of_cell(file, task, model, settings.cell),
        looped=model.looped,
        positions=data.valid.positions,
        other_numbers=data.valid.numbers(task.outputs),
        recipe=recipe_to_dict(task.recipe(model.name)),
        numbers=resolved.numbers,
        wider=_widened_space(file, settings, task, variant, model, resolved) if file.wider else (),
        perfect=scale.perfect if file.race_settings else None,
        floor=scale.floor if file.race_settings else 0.0,
        gate=gate_score(task, data) if gates else None,
    )
    return (
        replace(planned, warm=choose_starts(file.of_cell(len(planned.space)), published_settings(planned, model)))
        if "published" in file.warm
        else planned
    )


def _widened_space(
    file: SweepFile, settings: CellSettings, task: TaskSpec, variant: str, model: ModelSpec, first: ResolvedCell
) -> tuple[Dimension, ...]:
    """Return the space of a cell's second search; under rule 1 its ranges must contain those of the first."""
    assert file.wider
    ranges, where = file.wider.space.get(model.name, {}), f"wider.space.{model.name}"
    drawn = {d.name: d for d in first.space if not d.choices}
    if unknown := [name for name in ranges if name not in drawn]:
        raise ConfigError(f"{file.name}: {where}: {did_you_mean('range', unknown[0], drawn)}")
    tables = {**settings.tables, **dict.fromkeys(ranges, where)}
    resolved = resolve_cell(replace(settings, drawn={**settings.drawn, **ranges}, tables=tables), task, variant, model)
    second = [d for d in resolved.space if d.name in ranges]
    shifted = [d for d in second if d.low > drawn[d.name].low or d.high < drawn[d.name].high]
    if shifted and file.rule == 1:
        d, before = shifted[0], drawn[shifted[0].name]
        rule = f"{d.name} must contain the first search's {before.low:g} to {before.high:g}"
        raise ConfigError(f"{file.name}: {where}: {rule}, got {d.low:g} to {d.high:g}.")
    check_early_stopping(file, resolved)
    known = 0 if shifted else file.of_cell(len(first.space)).trials  # points of this space that are not drawn again
    _check_draws(file, task, resolved.space, known + file.wider.trials)
    return resolved.space


def _check_nothing_drawn(file: SweepFile, model: ModelSpec, resolved: ResolvedCell) -> None:
    """Raise ConfigError if a sweep without a search leaves something to be drawn."""
    if resolved.space and not file.trials:
        reason = f"with 0 no search chooses {resolved.space[0].name} of {model.name}"
        raise ConfigError(f"{file.name}: trials: {reason}. Set it in [space.{model.name}], or give search trials.")


def _check_drops(file: SweepFile, cells: Sequence[CellPlan]) -> None:
    """Raise ConfigError if the learning rate would drop only after the last epoch of all cells that the drop is for."""
    last_epochs: dict[int, int] = {}
    for cell in cells:
        for drop in file.model.get(cell.base.model, {}).get("drops", file.drops) or ():
            last_epochs[drop] = max(cell.epochs, last_epochs.get(drop, 0))
    for drop, epochs in last_epochs.items():
        if drop >= epochs:
            rule = f"the learning rate must drop before the last epoch, {epochs}, got {drop}"
            raise ConfigError(f"{file.name}: drops: {rule}. Leave {drop} out, or set more epochs.")


def _check_draws(file: SweepFile, task: TaskSpec, space: Sequence[Dimension], n: int = 0) -> None:
    """Raise ConfigError if the sampler cannot draw n points, by default a first round, from a space with its arguments,
    also in later rounds.
    """
    if (file.sampler_arguments or file.sampler == "BruteForceSampler") and space and file.trials:
        sizes, goal = round_sizes(file.of_cell(len(space))), task.metric.goal
        known = min(sum(sizes[:-1]), MOST_RESULTS)
        try:
            check_draws(space, n or sizes[0], known, file.sampler, goal, file.sampler_arguments)
        except ConfigError as error:
            raise ConfigError(f"{file.name}: {error}") from error


def _label_of_cell(file: SweepFile, task: TaskSpec, model: ModelSpec, chosen: Mapping[str, Any]) -> str:
    """Return the name of a cell within its sweep: ``adding lem (hidden 64, layers 2)``."""
    values = ", ".join(f"{name} {_format_value(value)}" for name, value in chosen.items())
    prefix = f"{task.name} " if len(file.variant_by_task) > 1 else ""
    return f"{prefix}{model.name}" + (f" ({values})" if values else "")


def _format_value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)
