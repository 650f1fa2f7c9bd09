"""Trials of a cohort that an Optuna pruner stops at an epoch."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from longwave.platform.search.objects import CLASS, import_optuna, make_pruner


def list_pruned(pruner: Mapping[str, Any], goal: str, values: Mapping[str, Mapping[int, float]]) -> set[str]:
    """Return the trials that a pruner stops; a pure function of its arguments. All trials count as complete when the
    pruner decides on one, so each is compared with the whole cohort at the same epoch, independent of the order of
    training.

    Args:
        pruner: Class and arguments of the pruner, as in ``TrialConfig.halving``.
        goal: ``"max"`` or ``"min"``.
        values: Validation metrics by trial and epoch, up to the epoch of the decision, which every trial must have.
    """
    optuna = import_optuna()
    pruner_object = make_pruner(pruner[CLASS], {name: value for name, value in pruner.items() if name != CLASS})
    with warnings.catch_warnings(action="ignore"):
        study = optuna.create_study(direction="maximize" if goal == "max" else "minimize")
        for trial in sorted(values):
            curve = dict(sorted(values[trial].items()))
            study.add_trial(optuna.trial.create_trial(value=[*curve.values()][-1], intermediate_values=curve))
        return {
            name for name, trial in zip(sorted(values), study.trials, strict=True) if pruner_object.prune(study, trial)
        }


def pruning_epochs(pruner: Mapping[str, Any]) -> dict[str, int]:
    """Return the first epoch, and the interval in epochs, at which a pruner with these arguments decides."""
    return {"first": max(pruner.get("n_warmup_steps", 0), 1), "every": pruner.get("interval_steps", 1)}
