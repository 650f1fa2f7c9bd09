"""From a sweep file to a plan: every name looked up, every range checked, every published default filled in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from longwave.models.base.param import OptionValue, Param
from longwave.models.base.spec import ModelSpec
from longwave.platform.about import about, known_model, known_task, title
from longwave.platform.errors import ConfigError, did_you_mean
from longwave.platform.records.stored import Known
from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import get_model, get_task
from longwave.platform.sweeps.config import RecipeChanges, SweepFile, check_recipe
from longwave.platform.sweeps.plan import ModelPlan, Sweep
from longwave.platform.sweeps.space import learning
from longwave.tasks.base.spec import TaskSpec


def resolve(file: SweepFile) -> Sweep:
    """Return the sweep with every name looked up, every range checked and every published default filled in.

    Raises:
        ConfigError: A name is unknown, or a value breaks a rule; the message names the key.
    """
    task = get_task(file.task)
    models = [get_model(name) for name in file.models]
    if len(set(file.models)) < len(file.models):
        raise ConfigError(f"{file.name}: models: each model once, got {', '.join(file.models)}.")
    for table, content in (("space", file.space), ("model", file.model)):
        for name in content.keys() - set(file.models):
            raise ConfigError(f"{file.name}: {did_you_mean('model', name, file.models)} The table is [{table}.{name}].")
    if file.rounds > 1 and file.sampler not in learning():
        takers = " or ".join(learning())
        raise ConfigError(f"{file.name}: rounds: only the {takers} sampler takes rounds, got sampler {file.sampler!r}.")
    variant = file.variant or task.variant
    try:
        data = task.load(variant)
    except ValueError as error:
        raise ConfigError(f"{file.name}: variant: {error}") from None
    entries = tuple(_entry(file, task, model, variant, data.version) for model in models)
    return Sweep(file, task.metric.goal, entries, task.metric.name, data.segment or data.valid.length)


def explained(sweep: Sweep) -> Sweep:
    """Return the sweep with what explains its rows; trivial predictors are fitted for it."""
    return replace(sweep, entries=tuple(replace(entry, about=about(entry.base)) for entry in sweep.entries))


def catalogue(sweep: Sweep) -> list[Known]:
    """Return what pages need of the sweep's task and models."""
    first = sweep.entries[0].base
    models = [known_model(get_model(entry.base.model)) for entry in sweep.entries]
    return [known_task(get_task(first.task), first.variant, first.data), *models]


def _entry(file: SweepFile, task: TaskSpec, model: ModelSpec, variant: str, data: str) -> ModelPlan:
    own = file.model.get(model.name, {})
    options = {name: own.get(name, default) for name, default in model.defaults.items()}
    for name, choices in model.options.items():
        if repr(options[name]) not in map(repr, choices):
            where = f"{file.name}: model.{model.name}.{name}"
            raise ConfigError(f"{where} must be one of {', '.join(map(str, choices))}, got {options[name]!r}.")
    known = {k: v for k, v in own.items() if k not in model.options}
    recipe = check_recipe(known, f"{file.name}: model.{model.name}")
    fixed, space = _space(file, task, model, options)
    base = TrialConfig(
        task=task.name,
        task_version=task.version,
        variant=variant,
        data=data,
        model=model.name,
        model_version=model.version,
        options={name: value for name, value in options.items() if value != model.defaults[name]},
        params=fixed,
        phase="search",
        seed=0,
        precision=file.precision,
        selection=file.selection,
        **_recipe(file, recipe, task, model),
    )
    return ModelPlan(base, space, looped=model.looped)


def _recipe(file: SweepFile, own: RecipeChanges, task: TaskSpec, model: ModelSpec) -> dict[str, Any]:
    """Return the training recipe: the model's own table first, then the sweep's, then the published one."""
    recipe = task.recipe(model.name)
    chosen: dict[str, Any] = {}
    for name in RecipeChanges.model_fields:
        values = (getattr(own, name), getattr(file, name), getattr(recipe, name))
        chosen[name] = next((v for v in values if v is not None), None)
    if chosen["steps"] is not None and recipe.steps is None:
        raise ConfigError(f"{file.name}: steps: {task.name} has a training split, whose epochs have no steps to set.")
    return {**chosen, "drops": tuple(d for d in chosen["drops"] if d < chosen["epochs"])}


def _space(
    file: SweepFile, task: TaskSpec, model: ModelSpec, options: Mapping[str, OptionValue]
) -> tuple[dict[str, float], tuple[Param, ...]]:
    """Return the fixed parameters and those to draw."""
    wishes = file.space.get(model.name, {})
    params = {p.name: p for p in model.space(task.name, options, wishes)}
    fixed: dict[str, float] = {}
    for name, wish in wishes.items():
        where = f"{file.name}: space.{model.name}"
        if name not in params:
            if name in {p.name for p in model.params}:
                raise ConfigError(f"{where}: {name} means nothing with {title(model, options)}. Remove it.")
            known = [p.name for p in (model.lr, *model.params)]
            raise ConfigError(f"{where}: {did_you_mean('parameter', name, known)}")
        try:
            if isinstance(wish, float | int):
                params[name].check(wish)
                fixed[name] = float(wish)
                del params[name]
            else:
                params[name] = params[name].between(wish.low, wish.high, log=wish.log)
        except ValueError as error:
            raise ConfigError(f"{where}: {error}") from None
    return fixed, tuple(params.values())
