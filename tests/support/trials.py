"""Trials for tests, with the versions that are here, so that they can be trained."""

from __future__ import annotations

from typing import Any

from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import all_models, all_tasks


def present_trial(task: str, variant: str, data: str, model: str, *rest: Any, **changes: Any) -> TrialConfig:
    """Return a trial of the present versions; ``data`` may be ``"here"``: the version of the task's own."""
    if data == "here":
        data = all_tasks()[task].load(variant).version
    versions = {
        "task_version": all_tasks()[task].version if task in all_tasks() else "1",
        "model_version": all_models()[model].version if model in all_models() else "1",
    }
    return TrialConfig(task, variant, data, model, *rest, **{**versions, **changes})
