"""Trials for tests, with the current versions, so that they can be trained."""

from __future__ import annotations

from typing import Any

from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import all_models, all_tasks


def present_trial(task: str, variant: str, data: str, model: str, *fields: Any, **changes: Any) -> TrialConfig:
    """Return a trial of the current versions; ``data`` may be ``"here"``, for the task's current data."""
    if data == "here":
        data = all_tasks()[task].load(variant).version
    versions = {
        "task_version": all_tasks()[task].version if task in all_tasks() else "1",
        "model_version": all_models()[model].version if model in all_models() else "1",
    }
    return TrialConfig(task, variant, data, model, *fields, **{**versions, **changes})
