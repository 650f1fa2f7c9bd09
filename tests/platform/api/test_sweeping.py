"""``lw.sweep`` as people who know Optuna and pandas write it."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import optuna
import pytest
from boards import keep, retrained

import longwave as lw
from longwave.platform.api.sweeping import SweptBoards, _read_settings, name_objects
from longwave.platform.cli.main import main
from longwave.platform.errors import ConfigError, NoStoreError
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.reading import check_sweep
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


@pytest.mark.integration
def test_keys_of_a_file_are_arguments_and_the_store_is_that_of_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LONGWAVE_STORE", f"sqlite:///{tmp_path}/named.db")
    monkeypatch.setenv("LONGWAVE_HOME", str(tmp_path / "home"))
    keys = {name: value for name, value in TINY.items() if name not in ("name", "task", "models", "trials")}
    done = lw.sweep(task="Adding", models=["LEM", "gru"], trials=1, here=True, mlflow="off", **keys)
    assert (tmp_path / "named.db").exists() and not (tmp_path / "home/longwave.db").exists()
    assert (tmp_path / "home/sweeps" / done.file.name).is_dir()
    capsys.readouterr()
    assert main(["board", "adding", "--format", "json"]) == 0
    assert {line["model"] for line in json.loads(capsys.readouterr().out) if line["config"]} == {"lem", "gru"}
    assert [row.config for row in done.board] == [row.config for row in lw.board("Adding")]
    assert lw.compare("LEM", "gru", task="adding").verdict == lw.board("adding").compare("lem", "gru").verdict
    assert done.file.rule == 2 and done.file.name.startswith("adding-")
    monkeypatch.delenv("LONGWAVE_STORE")
    with pytest.raises(NoStoreError, match=str(tmp_path / "home/longwave.db")):
        lw.board("adding")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"task": "adding", "models": ["lem"], "trails": 3},
            r"No argument of lw.sweep 'trails'. Did you mean trials",
        ),
        ({"task": "adding", "models": ["lem"], "worker": 3}, r"No argument of lw.sweep 'worker'. Did you mean workers"),
        ({}, r"Give lw.sweep either a sweep file, its content as a dict, or its keys: task=..., models=\[...\]"),
        ({"what": TINY, "task": "adding"}, r"Give lw.sweep either a sweep file, its content as a dict, or its keys"),
        ({"what": 3}, r"Give lw.sweep either a sweep file, its content as a dict, or its keys"),
        ({"what": TINY, "on_epoch": 3}, r"on_epoch must be a function of two arguments, got 3\."),
        ({"what": TINY, "trackers": "wandb"}, r"trackers must be a list of names, got 'wandb'"),
        ({"what": TINY, "workers": "2"}, r"workers must be a whole number, 0 or more, got '2'\."),
        ({"what": TINY, "workers": 1.5}, r"workers must be a whole number, 0 or more, got 1\.5\."),
        ({"what": TINY, "workers": True}, r"workers must be a whole number, 0 or more, got True\."),
        ({"what": TINY, "here": "no"}, r"here must be True or False, got 'no'\."),
        ({"what": TINY, "gpus": "1"}, r"gpus must be a number, got '1'\."),
        ({"what": TINY, "storage": 3}, r"storage must be a string, got 3\."),
        ({"what": TINY, "workers": 0}, r"--workers must be 1 to 1,000,000 packs at a time, got 0"),
        ({"what": TINY, "cpus": 0}, r"--cpus must be 0.1 to 4,096 CPUs a pack, got 0"),
        ({"tasks": 5, "models": ["lem"]}, r"tasks: must be a list, got 5"),
        ({"what": {**TINY, "hidden": 400_000}, "here": True, "mlflow": "off"}, r"needs at least .* GiB a trial"),
    ],
)
def test_a_wrong_argument_is_answered_with_the_nearest(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        lw.sweep(**arguments)


def test_equal_settings_have_one_name_and_other_settings_another() -> None:
    def name(**settings: Any) -> str:
        return _read_settings(None, {"task": "adding", "models": ["lem"], **settings}).name

    assert name() == name(trials=8) != name(trials=9)


def test_a_board_is_gone_through_counted_and_indexed(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    with Store(url) as store:
        store.add_sweep("demo", {"trials": 0})
        keep(store, *(retrained(m, [0.1, 0.2, 0.3], task="adding", trivial={"mean": 1.0}) for m in ("lem", "gru")))
    board = lw.board("adding", store=url)
    assert len(board) == len(list(board)) == 3 and [row.title for row in board] == ["GRU", "LEM", "mean"]
    assert board[0] is board["GRU"] is board["gru"] is board[board[0].config[:6]]
    frame = board.to_pandas()
    assert list(frame.index) == ["GRU", "LEM", "mean"] and frame.loc["LEM", "median"] == 0.2
    assert board.columns[:8] == "title model median median_best median_worst mean low high".split()
    assert board.columns == list(frame.columns)
    with pytest.raises(ConfigError, match=r"No retrained model 'lam'. Did you mean lem"):
        board["lam"]


def test_the_board_of_a_sweep_without_a_variant_is_that_of_the_task_s_own(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    with Store(url) as store:
        store.add_sweep("demo", {"trials": 0})
        keep(store, *(retrained("lem", [0.1, 0.2], task="adding", variant=name) for name in ("N=500", "N=2000")))
    done = SweptBoards(_read_settings(None, {"task": "adding", "models": ["lem"]}), "", url)
    assert {row.variant for row in done.board.rows} == {"N=500"} and len(lw.board("adding", store=url)) == 2


def test_a_file_of_one_s_own_is_checked_as_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LONGWAVE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    assert main(["new", "model", "leaky"]) == 0
    capsys.readouterr()
    path = next(tmp_path.glob("*.py"))
    checked = lw.check(path)
    assert main(["check", str(path)]) == 0
    assert checked.passed and repr(checked).split() == capsys.readouterr().out.split()
    assert {*checked.to_pandas()["state"]} <= {"holds", "skipped"}
