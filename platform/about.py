"""Records that describe models and tasks: what explains a row, and what pages need. Reads the registry."""

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
from longwave.platform.redaction import redact_document
from longwave.platform.registry import get_model, get_task, shipped_models, shipped_tasks
from longwave.platform.storage.store import Store
from longwave.tasks.base.spec import TaskSpec, note


def about(config: TrialConfig) -> About:
    """Return what explains a trial's row to a reader but is not part of its identity. Loads the task's data."""
    data = (config.task, config.variant, config.data)
    return About(**derived_facts(config), trivial=_trivial_scores(*data), floor=_least_error(*data))


def derived_facts(config: TrialConfig) -> dict[str, Any]:
    """Return the fields of ``About`` that follow from task and model, without loading data."""
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
    """Return how the trial's protocol differs from the recipe of its model; see ``list_departures``."""
    model = get_model(config.model)
    model_params = {param.name for param in (model.lr, *model.params)}
    return list_departures(config, asdict(task.recipe(config.model)), config.params.keys() - model_params)


def model_title(model: ModelSpec, options: Mapping[str, OptionValue]) -> str:
    """Return the model's title, with the options that are not the default: ``coRNN (damping implicit, trainable)``."""
    templates = {True: "{name}", False: "no {name}"}
    changed = [
        templates[value].format(name=name) if isinstance(value, bool) else f"{name} {value}"
        for name, default in model.defaults.items()
        if (value := options.get(name, default)) != default
    ]
    return f"{model.title} ({', '.join(changed)})" if changed else model.title


def describe_model(spec: ModelSpec) -> str:
    """Return the layer's docstring up to its arguments: source, equation, initialisation, read-out, size."""
    text = inspect.getdoc(spec.layer) or ""
    return text.partition("\nArgs:")[0].replace("::\n", ":\n").replace("``", "").rstrip()


def known_model(spec: ModelSpec) -> CatalogueEntry:
    """Return what pages need of a model: title, source, equation, parameters with their ranges, options."""
    facts = {
        "title": spec.title,
        "source": spec.source,
        "equation": describe_model(spec),
        "options": {name: list(choices) for name, choices in spec.options.items()},
        "params": [param.to_dict() for param in (spec.lr, *spec.params)],
        "ranges": {task: {name: list(ends) for name, ends in bounds.items()} for task, bounds in spec.ranges.items()},
        "papers_tasks": sorted(spec.papers_tasks),
    }
    return CatalogueEntry("model", spec.name, spec.version, spec.family, facts=facts)


def known_task(spec: TaskSpec, variant: str, data: str) -> CatalogueEntry:
    """Return what pages need of a task's variant, whose data have the version ``data``."""
    texts = ("title", "summary", "source", "licence", "length", "lag", "inputs", "outputs", "horizon")
    metric = {name: getattr(spec.metric, name) for name in ("name", "unit", "goal", "definition")}
    facts = {name: getattr(spec, name) for name in texts}
    facts |= {"chance": spec.chance_at(variant), "metric": metric, "time_scale": spec.time_scale(variant)}
    return CatalogueEntry("task", spec.name, spec.version, spec.family, variant, data, redact_document(facts))


def write_catalogue(store: Store) -> None:
    """Write catalogue entries of shipped models and tasks with rows, if an older store does not have them yet."""
    existing = {(entry.kind, entry.name, entry.variant) for entry in store.catalogue()}
    configs = [group.config for group in store.groups()]
    data: dict[tuple[str, str], set[str]] = {}
    for config in configs:
        data.setdefault((config.task, config.variant), set()).add(config.data)
    catalogue = [known_model(get_model(name)) for name in sorted({c.model for c in configs} & set(shipped_models()))]
    for (task, variant), versions in data.items():
        if task in shipped_tasks() and len(versions) == 1:
            catalogue.append(known_task(get_task(task), variant, *versions))
    store.write_catalogue([entry for entry in catalogue if (entry.kind, entry.name, entry.variant) not in existing])


@cache
def _trivial_scores(task: str, variant: str, version: str) -> dict[str, float]:
    """Return the test metric of the task's trivial predictors, which no selection uses."""
    return get_task(task).trivial(get_task(task).load(variant))


@cache
def _least_error(task: str, variant: str, version: str) -> float:
    """Return the smallest error that the task's test split can resolve."""
    return get_task(task).metric.floor(get_task(task).load(variant).test.targets)
