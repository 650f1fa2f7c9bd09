"""``lw.sweep`` as people who know Optuna and pandas write it."""

from __future__ import annotations

import warnings
from typing import Any

import optuna

from longwave.platform.api.sweeping import name_objects
from longwave.platform.sweeps.file.schema import check_sweep
from longwave.platform.sweeps.plan.stored import stored_settings

TINY: dict[str, Any] = {
    "name": "tiny", "task": "adding", "variant": "N=20", "models": ["lem"], "trials": 4, "retrain": 1,
    "hidden": 4, "batch": 10, "steps": 3, "epochs": 2,
}  # fmt: skip


def test_a_sampler_and_a_pruner_of_optuna_are_given_as_objects_and_kept_by_class_and_arguments() -> None:
    with warnings.catch_warnings(action="ignore"):
        objects = {"sampler": optuna.samplers.CmaEsSampler(popsize=5), "pruner": optuna.pruners.PercentilePruner(25.0)}
    file = check_sweep(name_objects({**TINY, "rounds": 2, **objects}), "sweep")
    assert (file.sampler, file.sampler_arguments) == ("CmaEsSampler", {"popsize": 5})
    assert (file.pruner, file.pruner_arguments) == ("PercentilePruner", {"percentile": 25.0})
    assert stored_settings(file)["sampler_arguments"] == {"popsize": 5}
