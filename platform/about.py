"""What models and tasks say of themselves, in records: what explains a row, and what pages need. Reads the registry."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from typing import Any

from longwave.models.base.param import OptionValue
from longwave.models.base.spec import ModelSpec
from longwave.platform.records.about import About, list_departures
from longwave.platform.records.stored import CatalogueEntry
from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import get_model, get_task, shipped_models, shipped_tasks
from longwave.platform.storage.store import Store
from longwave.tasks.base.spec import TaskSpec, note


def about(config: TrialConfig) -> About:
    """Return what explains a trial's row to a reader, and is no part of its identity. Loads the task's data."""
    data = (config.task, config.variant, config.data)
    return About(**derived_facts(config), trivial=_trivial_scores(*data), floor=_least_error(*data))


def derived_facts(config: TrialConfig) -> dict[str, Any]:
    """Return what of ``about`` follows from task and model alone, by the names of its fields."""
    task, model = get_task(config.task), get_model(config.model)
    recipe = task.recipe(config.model)
    notes = [*task.protocols, *(note(f"{name} ours, not stated", recipe.paper) for name in recipe.unstated)]
    return {
        "task": task.title,
        "model": model_title(model, config.options),
        "metric": task.metric.name,
        "unit": task.metric.unit,
        "goal": task.metric.goal,
        "called": tuple(model.called(config.options)),
        "departures": departures_of(config, task),
        "recipe": recipe.source,
        "paper": recipe.paper,
        "known": {protocol.text: list(protocol.papers) for protocol in notes},
        "minor": tuple(protocol.text for protocol in notes if protocol.minor),
        "margin": task.margin,
        "layers": layers_of(model, config.options),
    }


def layers_of(model: ModelSpec, options: Mapping[str, OptionValue]) -> int:
    """Return how many layers, or residual blocks, a model has."""
    chosen = {**model.defaults, **options}
    return int(chosen.get("layers", chosen.get("depth", 1)))


def departures_of(config: TrialConfig, task: TaskSpec) -> tuple[str, ...]:
    """Return how the trial's protocol differs from the recipe of its model; see ``departures``."""
    model = get_model(config.model)
    own = {param.name for param in (model.lr, *model.params)}
    return list_departures(config, asdict(task.recipe(config.model)), config.params.keys() - own)


def model_title(model: ModelSpec, options: Mapping[str, OptionValue]) -> str:
    """Return the model's title, with the options that are not the default: ``coRNN (damping implicit, trainable)``."""
    words = {True: "{name}", False: "no {name}"}
    chosen = [
        words[value].format(name=name) if isinstance(value, bool) else f"{name} {value}"
        for name, default in model.defaults.items()
        if (value := options.get(name, default)) != default
    ]
    return f"{model.title} ({', '.join(chosen)})" if chosen else model.title


def known_model(spec: ModelSpec) -> CatalogueEntry:
    """Return what pages need of a model: title, source, equation, parameters with their ranges, options."""
    facts = {
        "title": spec.title,
        "source": spec.source,
        "equation": inspect.getdoc(spec.layer) or "",
        "options": {name: list(choices) for name, choices in spec.options.items()},
        "params": [param.to_dict() for param in (spec.lr, *spec.params)],
        "ranges": {task: {name: list(ends) for name, ends in own.items()} for task, own in spec.ranges.items()},
        "papers_tasks": sorted(spec.papers_tasks),
    }
    return CatalogueEntry("model", spec.name, spec.version, spec.family, facts=facts)


def known_task(spec: TaskSpec, variant: str, data: str) -> CatalogueEntry:
    """Return what pages need of a task's variant, whose data have the version ``data``."""
    texts = ("title", "summary", "source", "licence", "length", "lag", "inputs", "outputs", "horizon")
    metric = {name: getattr(spec.metric, name) for name in ("name", "unit", "goal", "definition")}
    facts = {name: getattr(spec, name) for name in texts}
    facts |= {"chance": spec.chance_at(variant), "metric": metric, "time_scale": spec.time_scale(variant)}
    return CatalogueEntry("task", spec.name, spec.version, spec.family, variant, data, facts)


def write_catalogue(store: Store) -> None:
    """Write what pages need of shipped models and tasks that have rows, where a store, an old one, does not say it."""
    there = {(known.kind, known.name, known.variant) for known in store.catalogue()}
    configs = [group.config for group in store.groups()]
    data: dict[tuple[str, str], set[str]] = {}
    for config in configs:
        data.setdefault((config.task, config.variant), set()).add(config.data)
    catalogue = [known_model(get_model(name)) for name in sorted({c.model for c in configs} & set(shipped_models()))]
    for (task, variant), versions in data.items():
        if task in shipped_tasks() and len(versions) == 1:
            catalogue.append(known_task(get_task(task), variant, *versions))
    store.write_catalogue([known for known in catalogue if (known.kind, known.name, known.variant) not in there])


@cache
def _trivial_scores(task: str, variant: str, version: str) -> dict[str, float]:
    """Return the test metric of the task's trivial predictors; they are no part of any selection."""
    return get_task(task).trivial(get_task(task).load(variant))


@cache
def _least_error(task: str, variant: str, version: str) -> float:
    """Return the least error that the task's test split can show."""
    return get_task(task).metric.floor(get_task(task).load(variant).test.targets)
