"""What explains a trial's row to a reader: titles, units, departures from the published recipe, trivial predictors."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from longwave.models.base.param import OptionValue
from longwave.models.base.spec import ModelSpec
from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import get_model, get_task
from longwave.tasks.base.spec import TaskSpec


def about(config: TrialConfig) -> dict[str, Any]:
    """Return what explains a trial's row to a reader, and is no part of its identity."""
    task, model = get_task(config.task), get_model(config.model)
    return {
        "task": task.title,
        "model": title(model, config.options),
        "metric": task.metric.name,
        "unit": task.metric.unit,
        "goal": task.metric.goal,
        "published": list(task.called(config.variant)),
        "called": model.called(config.options),
        "departures": departures(config, task),
        "trivial": _trivial(config.task, config.variant),
    }


def departures(config: TrialConfig, task: TaskSpec) -> list[str]:
    """Return how the trial's protocol differs from the recipe: ``["epochs 30 (published 400)"]``, or ``(ours 400)``."""
    recipe = task.recipe(config.model)
    whose = "ours" if "ours" in recipe.source else "published"
    names = ("hidden", "batch", "epochs", "steps", "clip")
    found = [
        f"{name} {_shown(getattr(config, name))} ({whose} {_shown(getattr(recipe, name))})"
        for name in names
        if getattr(config, name) != getattr(recipe, name)
    ]
    if config.drops != tuple(d for d in recipe.drops if d < config.epochs):
        found.append(f"η/10 after epochs {list(config.drops)} ({whose} {list(recipe.drops)})")
    return found


def title(model: ModelSpec, options: Mapping[str, OptionValue]) -> str:
    """Return the model's title, with the options that are not the default: ``coRNN (damping implicit, trainable)``."""
    words = {True: "{name}", False: "no {name}"}
    chosen = [
        words[value].format(name=name) if isinstance(value, bool) else f"{name} {value}"
        for name, value in options.items()
        if value != model.defaults[name]
    ]
    return f"{model.title} ({', '.join(chosen)})" if chosen else model.title


@cache
def _trivial(task: str, variant: str) -> dict[str, float]:
    """Return the test metric of the task's trivial predictors; they are no part of any selection."""
    return get_task(task).trivial(get_task(task).load(variant))


def _shown(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"
