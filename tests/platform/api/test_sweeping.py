"""``lw.sweep`` as people who know Optuna and pandas write it."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import optuna
import pytest

import longwave as lw
from longwave.platform.api.sweeping import name_objects
from longwave.platform.errors import ConfigError
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


def test_a_sweep_is_a_study_of_optuna_in_python_and_its_importances_are_optuna_s(tmp_path: Path) -> None:
    where: dict[str, Any] = {"here": True, "storage": str(tmp_path), "mlflow": "off"}
    done = lw.sweep({**TINY, "models": ["lem", "gru"]}, store=f"sqlite:///{tmp_path}/store.db", **where)
    study = done.study("lem")
    assert len(study.trials) == 4 and {*optuna.importance.get_param_importances(study)} == {"lr", "dt"}
    with pytest.raises(ConfigError, match=r"No cell of tiny 'lam'. Did you mean lem\?"):
        done.study("lam")
