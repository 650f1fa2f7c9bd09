"""Which trials of a cohort one of Optuna's pruners stops at an epoch."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from longwave.platform.search.objects import CLASS, import_optuna, make_pruner


def list_pruned(pruner: Mapping[str, Any], goal: str, values: Mapping[str, Mapping[int, float]]) -> set[str]:
    """Return the trials that a pruner stops; a pure function of its arguments.

    The pruner is asked of each trial while all of them count as complete: it compares a trial with the whole cohort at
    the same epoch, whoever was trained first.

    Args:
        pruner: Its class and its arguments, as in ``TrialConfig.halving``.
        goal: ``"max"`` or ``"min"``.
        values: By trial and epoch, validation metrics until the epoch of the decision, which each trial has.
    """
    optuna = import_optuna()
    made = make_pruner(pruner[CLASS], {name: value for name, value in pruner.items() if name != CLASS})
    with warnings.catch_warnings(action="ignore"):
        study = optuna.create_study(direction="maximize" if goal == "max" else "minimize")
        for trial in sorted(values):
            curve = dict(sorted(values[trial].items()))
            study.add_trial(optuna.trial.create_trial(value=[*curve.values()][-1], intermediate_values=curve))
        return {name for name, trial in zip(sorted(values), study.trials, strict=True) if made.prune(study, trial)}


def pruning_epochs(pruner: Mapping[str, Any]) -> dict[str, int]:
    """Return from which epoch on, and every how many, a pruner of this class and these arguments is asked."""
    return {"first": max(pruner.get("n_warmup_steps", 0), 1), "every": pruner.get("interval_steps", 1)}
