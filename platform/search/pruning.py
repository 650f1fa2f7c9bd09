"""Trials of a cohort that an Optuna pruner stops at an epoch."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from longwave.platform.search.objects import CLASS, import_optuna, make_pruner, read_attributes


def list_pruned(pruner: Mapping[str, Any], goal: str, values: Mapping[str, Mapping[int, float]]) -> set[str]:
    """Return the trials that a pruner stops; a pure function of its arguments. All trials count as complete when the
    pruner decides on one, so each is compared with the whole cohort at the same epoch, independent of the order of
    training.

    Args:
        pruner: Class and arguments of the pruner, as in ``TrialConfig.halving``.
        goal: ``"max"`` or ``"min"``.
        values: Validation metrics by trial and epoch, up to that of the decision; every trial must have all of them.
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


def pruning_epochs(arguments: Mapping[str, Any]) -> dict[str, int]:
    """Return the epochs at which a pruner with these arguments decides, as Optuna does: the ``first`` one, and those
    that are a multiple of ``every`` after ``offset``.
    """
    warmup = arguments.get("n_warmup_steps", 0)
    return {"first": max(warmup, 1), "every": arguments.get("interval_steps", 1), "offset": warmup}


def is_pruning_epoch(epochs: Mapping[str, int], epoch: int) -> bool:
    """Return whether a pruner decides after an epoch, given its ``pruning_epochs``."""
    first = epochs["first"]
    offset = epochs.get("offset", first)  # absent in trials that were planned before it was introduced
    return epoch == first or (epoch > first and (epoch - offset) % epochs["every"] == 0)


def least_to_prune(name: str, arguments: Mapping[str, Any]) -> tuple[int, int]:
    """Return the fewest trials, and the first epoch, at which a pruner, or one that it wraps, can stop a trial."""
    pruner = make_pruner(name, arguments)
    trials, epoch = (max(read_attributes(pruner, key), default=1) for key in ("n_startup_trials", "n_warmup_steps"))
    return max(trials, 1), max(epoch, 1)
