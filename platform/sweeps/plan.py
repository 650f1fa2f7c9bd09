"""Pure planning: which trials a sweep asks for, given how the earlier ones ended. Runs nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from longwave.models.base.param import OptionValue, Param
from longwave.models.base.spec import ModelSpec
from longwave.platform.about import title
from longwave.platform.errors import ConfigError, did_you_mean
from longwave.platform.records.identity import derive_seed, digest
from longwave.platform.records.run import Run
from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import get_model, get_task
from longwave.platform.sweeps.config import RecipeChanges, SweepFile, check_recipe
from longwave.platform.sweeps.space import Told, draw
from longwave.tasks.base.spec import TaskSpec


@dataclass(frozen=True)
class ModelPlan:
    """One model of a sweep.

    Attributes:
        base: The trial that all trials of the model are copies of; its ``params`` holds the fixed parameters.
        space: The parameters to draw.
    """

    base: TrialConfig
    space: tuple[Param, ...]


@dataclass(frozen=True)
class Sweep:
    """A checked sweep: its file, and one entry a model.

    Attributes:
        file: As the user wrote it.
        goal: Whether the task's metric should be large (``"max"``) or small (``"min"``).
    """

    file: SweepFile
    goal: str
    entries: tuple[ModelPlan, ...]


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
    if file.rounds > 1 and file.sampler != "tpe":
        raise ConfigError(f"{file.name}: rounds: only the tpe sampler takes rounds, got sampler {file.sampler!r}.")
    variant = file.variant or task.variant
    try:
        data = task.load(variant).version
    except ValueError as error:
        raise ConfigError(f"{file.name}: variant: {error}") from None
    return Sweep(file, task.metric.goal, tuple(_entry(file, task, model, variant, data) for model in models))


def asked(sweep: Sweep, ends: Mapping[str, Run]) -> list[TrialConfig]:
    """Return every trial the sweep asks for, as far as ``ends`` decides it.

    The search trials of a round come first; a model's next round, and the retrainings of its winner, join once all
    its trials so far have ended.

    Args:
        sweep: The sweep.
        ends: How trials ended, by trial id.
    """
    searches: list[TrialConfig] = []
    again: list[TrialConfig] = []
    for entry in sweep.entries:
        mine: list[TrialConfig] = []
        for wanted in _rounds(sweep, entry, ends):
            mine += wanted
            if not all(c.id in ends for c in wanted):
                break
        else:
            again += retrainings(sweep, mine, ends)
        searches += mine
    return searches + again


def winner(trials: Sequence[TrialConfig], ends: Mapping[str, Run], goal: str) -> TrialConfig | None:
    """Return the search trial with the best validation metric; test metrics are not looked at. None if none is ok."""
    sign = -1.0 if goal == "max" else 1.0
    usable = [
        (sign * run.valid, c.id, c) for c in trials if (run := ends[c.id]).status == "ok" and run.valid is not None
    ]
    return min(usable)[2] if usable else None


def retrainings(sweep: Sweep, search: Sequence[TrialConfig], ends: Mapping[str, Run]) -> list[TrialConfig]:
    """Return the winner's configuration once a fresh seed, different from every search seed."""
    best = winner(search, ends, sweep.goal)
    if best is None:
        return []
    taken = {c.seed for c in search}
    fresh = (seed for k in range(10**6) if (seed := derive_seed("retrain", best.row, k)) not in taken)
    again = replace(best, phase="retrain", halving=None)
    return [replace(again, seed=next(fresh)) for _ in range(sweep.file.retrain)]


def _entry(file: SweepFile, task: TaskSpec, model: ModelSpec, variant: str, data: str) -> ModelPlan:
    own = file.model.get(model.name, {})
    options = {name: own.get(name, default) for name, default in model.defaults.items()}
    for name, choices in model.options.items():
        if repr(options[name]) not in map(repr, choices):
            where = f"{file.name}: model.{model.name}.{name}"
            raise ConfigError(f"{where} must be one of {', '.join(map(str, choices))}, got {options[name]!r}.")
    known = {k: v for k, v in own.items() if k not in model.options}
    budget = check_recipe(known, f"{file.name}: model.{model.name}")
    fixed, space = _space(file, task, model, options)
    base = TrialConfig(
        task=task.name,
        variant=variant,
        data=data,
        model=model.name,
        options=options,
        params=fixed,
        phase="search",
        seed=0,
        precision=file.precision,
        selection=file.selection,
        **_recipe(file, budget, task, model),
    )
    return ModelPlan(base, space)


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


def _rounds(sweep: Sweep, entry: ModelPlan, ends: Mapping[str, Run]) -> Iterator[list[TrialConfig]]:
    """Yield the search trials of each round; a later round may be asked for once the earlier ones have ended."""
    file, model, done = sweep.file, entry.base.model, 0
    told: list[Told] = []
    for index in range(file.rounds):
        n = (file.trials - done) // (file.rounds - index)
        if n == 0:
            continue
        seed = derive_seed("draw", file.seed, model, index)
        drawn = draw(entry.space, n, seed, file.sampler, told, sweep.goal)
        wanted = [
            replace(
                entry.base, params={**entry.base.params, **p}, seed=derive_seed("search", file.seed, model, done + k)
            )
            for k, p in enumerate(drawn)
        ]
        wanted = _with_cohorts(file, wanted)
        yield wanted
        for config, params in zip(wanted, drawn, strict=True):
            run = ends[config.id]
            if run.valid is not None and run.status != "diverged":
                told.append((params, run.valid))
        done += n


def _with_cohorts(file: SweepFile, trials: list[TrialConfig]) -> list[TrialConfig]:
    """Name the company each trial competes with in successive halving: consecutive trials of one pack's size."""
    if file.halving is None:
        return trials
    size = len(trials) if file.pack == "auto" else file.pack
    cohorts = [trials[k : k + size] for k in range(0, len(trials), size)]
    return [
        replace(c, halving={**file.halving.model_dump(), "cohort": digest([m.to_dict() for m in cohort])})
        for cohort in cohorts
        for c in cohort
    ]
