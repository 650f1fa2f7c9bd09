"""Sweep files that pages offer: the settings of a trial with fresh seeds, and a model on a board by its recipe."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from longwave.platform.records.stored import Trial
from longwave.platform.records.trial import WORDS
from longwave.platform.statistics.verdict import ENOUGH


def retraining_file(trial: Trial) -> str:
    """Return a sweep file that retrains one trial's settings with fresh seeds, without a search.

    It takes a training number from the recipe where the trial has the number's default: trials do not store defaults.
    """
    config = trial.config
    settings: dict[str, Any] = {"name": f"again-{config.id[:8]}", "task": config.task, "variant": config.variant}
    settings |= {"models": [config.model], "trials": 1, "retrain": ENOUGH}
    fixed = ("hidden", "width", "batch", "epochs", "steps", "clip", "precision", "selection")
    settings |= {name: value for name in fixed if (value := getattr(config, name)) is not None}
    settings |= {"drops": [*config.drops]} if config.schedule == "drops" else {}
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items() if value != ""]
    tables: dict[str, Mapping[str, Any]] = {"recipe": {name: getattr(config, name) for name in WORDS}}
    tables |= {f"space.{config.model}": config.params, f"model.{config.model}": config.options}
    for table, values in tables.items():
        numbers = (f"{name} = {json.dumps(value)}" for name, value in values.items())
        lines += ["", f"[{table}]", *numbers] if values else []
    return "\n".join(lines)


def recipe_file(model: str, task: str, variant: str) -> str:
    """Return a sweep file that runs a model on a board by its published recipe."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join(filter(None, (model, task, variant.replace("=", "")))))
    board_lines = [f'task = "{task}"', *([f'variant = "{variant}"'] if variant else [])]
    return "\n".join([f'name = "{name}"', *board_lines, f'models = ["{model}"]', "trials = 20", f"retrain = {ENOUGH}"])
