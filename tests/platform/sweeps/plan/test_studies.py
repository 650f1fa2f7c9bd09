"""A search as a study of Optuna's, read by Optuna itself; and a study that others made, whose trials start a search."""

from __future__ import annotations

import json
import math
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import optuna
import pytest
from interrupted_drivers import run
from small_sweeps import small

from longwave.platform.cli.main import main
from longwave.platform.errors import ConfigError
from longwave.platform.records.search import searched_by
from longwave.platform.search.space import Dimension
from longwave.platform.search.studies import CellSearch, StudyTrial, rate_parameters, write_study
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.searches import read_searches
from longwave.platform.sweeps.plan.stored import read_sweep_plan, store_plan, stored_settings
from longwave.platform.sweeps.plan.trials import all_trials
from longwave.platform.sweeps.plan.warm_start import with_settings_of_studies

SIZES: dict[str, Any] = {"hidden": 3, "batch": 4, "steps": 2, "epochs": 4, "retrain": 1, "trials": 6}


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A store with a sweep of one cell, in which halving stops trials and one diverges, and one of two cells."""
    folder = tmp_path_factory.mktemp("studies")
    with Store(f"sqlite:///{folder}/store.db") as store:
        space = {"lem": {"lr": [1e-3, 1e-2, 1e36], "dt": {"low": 0.1, "high": 2.0}}}
        run(small(**SIZES, models=["lem"], halving={"eta": 2, "first": 1}, space=space), store, folder)
        run(small(**{**SIZES, "trials": 3, "epochs": 1}, name="both"), store, folder)
        yield store


def export(store: Store, storage: str, name: str = "tiny") -> int:
    """Return the exit status of the command."""
    return main(["sweep", "study", name, "--storage", storage, "--store", store.url])


@pytest.mark.integration
def test_optuna_loads_a_sweep_as_a_study_with_its_trials_curves_and_best(swept: Store, tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/optuna.db"
    assert export(swept, storage) == 0
    study = optuna.load_study(study_name="tiny", storage=storage)
    ours = [t for t in swept.trials("tiny") if t.config.phase == "search" and t.run]
    assert [t.user_attrs["trial"] for t in study.trials] == [t.config.id for t in ours]
    states = {"ok": "COMPLETE", "stopped": "PRUNED", "diverged": "FAIL"}
    assert [t.state.name for t in study.trials] == [states[t.status] for t in ours]
    assert {t.state.name for t in study.trials} >= {"COMPLETE", "PRUNED"}
    for theirs, trial in zip(study.trials, ours, strict=True):
        assert theirs.params == {name: trial.config.params[name] for name in theirs.params}
        curve = {p.epoch: p.valid for p in swept.curves([trial.config.id])}
        assert theirs.intermediate_values == curve and set(theirs.params) == {"lr", "dt"}
        assert theirs.duration and 0 <= theirs.duration.total_seconds() < 600
        assert curve or (
            theirs.datetime_complete
            and trial.ended
            and theirs.datetime_complete.timestamp() == pytest.approx(trial.ended.timestamp(), abs=1e-3)
        )
    assert any(not swept.curves([trial.config.id]) for trial in ours), "a trial that diverged in its first epoch"
    best = min((t for t in ours if t.run and t.status == "ok"), key=lambda t: t.run.valid or math.inf)  # type: ignore[union-attr]
    assert study.best_trial.user_attrs["trial"] == best.config.id and study.best_value == best.run.valid  # type: ignore[union-attr]
    assert study.direction.name == "MINIMIZE" and study.user_attrs["model"] == "lem"


@pytest.mark.integration
def test_an_export_that_runs_twice_adds_nothing_and_each_cell_has_a_study(
    swept: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    storage = f"sqlite:///{tmp_path}/optuna.db"
    for _ in range(2):
        assert export(swept, storage, "both") == 0
    assert sorted(optuna.get_all_study_names(storage)) == ["both: gru", "both: lem"]
    assert len(optuna.load_study(study_name="both: gru", storage=storage).trials) == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Study 'both: lem': 3 finished trials, 3 of them newly written."
    assert lines[3] == "Study 'both: lem': 3 finished trials, 0 of them newly written."
    assert lines[2] == f"See them with: optuna-dashboard {storage}"


@pytest.mark.integration
def test_what_ended_since_is_added_to_a_study_that_is_there(store: Store, tmp_path: Path) -> None:
    storage, file = f"sqlite:///{tmp_path}/optuna.db", small(**SIZES, models=["lem"])
    store_plan(resolve(file), store)
    assert export(store, storage) == 0
    assert optuna.load_study(study_name="tiny", storage=storage).trials == []
    run(file, store, tmp_path)
    assert export(store, storage) == 0
    assert len(optuna.load_study(study_name="tiny", storage=storage).trials) == 6


@pytest.mark.integration
def test_a_trial_that_failed_and_ended_well_when_tried_again_is_complete_in_the_study(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/optuna.db"
    failed = StudyTrial("a", {"lr": 0.5}, "failed", None, {}, None, None, {})
    for trial, new in ((failed, 1), (failed, 0), (replace(failed, status="ok", value=0.1), 1)):
        search = CellSearch("tiny", "min", "mse", [Dimension("lr", 0.1, 1.0)], {}, [trial])
        assert write_study(search, storage)[1] == new
    study = optuna.load_study(study_name="tiny", storage=storage)
    assert [trial.state.name for trial in study.trials] == ["FAIL", "COMPLETE"] and study.best_value == 0.1


@pytest.mark.parametrize(
    ("storage", "message"),
    [
        ("nowhere://x", "Cannot use the studies of nowhere://x: .*A storage of Optuna's is sqlite:///"),
        ("store", "--storage is the results store, whose table names clash with Optuna's"),
        ("mlflow", "Cannot use the studies of .*: the file has tables, but none of Optuna's. A storage of Optuna's is"),
        ("other", "has a study 'tiny' already, which is to maximize; .* is to minimize. Name another storage"),
        ("words", "has a study 'tiny' already, which has another search space: .*[^.]. Name another storage"),
    ],
)
def test_a_storage_that_cannot_be_used_is_one_line(
    storage: str, message: str, swept: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other, words, mlflow = (f"sqlite:///{tmp_path}/{name}.db" for name in ("other", "words", "mlflow"))
    with closing(sqlite3.connect(tmp_path / "mlflow.db")) as connection:
        connection.execute("CREATE TABLE experiments (id INTEGER)")
    optuna.create_study(storage=other, study_name="tiny", direction="maximize")
    optuna.create_study(storage=words, study_name="tiny").ask({"lr": optuna.distributions.CategoricalDistribution("a")})
    files = {"store": swept.url, "other": other, "words": words, "mlflow": mlflow}
    assert export(swept, files.get(storage, storage)) == 2
    line = capsys.readouterr().err
    assert re.search(message, line) and line.count("\n") == 1


def test_an_error_that_is_not_the_storage_s_does_not_blame_it(tmp_path: Path) -> None:
    trial = StudyTrial("a", {"lr": 0.5}, "ok", 0.1, {}, None, None, {"why": {"a set"}})
    search = CellSearch("tiny", "min", "error", (Dimension("lr", 0.0, 1.0),), {}, [trial])
    with pytest.raises(TypeError, match="^Object of type set is not JSON serializable$"):
        write_study(search, f"sqlite:///{tmp_path}/optuna.db")


@pytest.mark.integration
@pytest.mark.parametrize("evaluator", [None, "fanova", "mdi", "pedanova"])
def test_the_importance_of_a_number_is_what_optuna_computes_from_the_exported_study(
    evaluator: str | None, swept: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    storage = f"sqlite:///{tmp_path}/optuna.db"
    assert export(swept, storage, "both") == 0
    capsys.readouterr()
    command = ["sweep", "importance", "both", "--store", swept.url] + ["--evaluator", str(evaluator)] * bool(evaluator)
    assert main([*command, "--format", "json"]) == 0
    lines = json.loads(capsys.readouterr().out)
    assert {line["evaluator"] for line in lines} == {evaluator or "pedanova"}, "Optuna's and the Lab's default"
    for search in read_searches(swept, "both"):
        completed = sum(trial.status == "ok" for trial in search.trials)
        assert {line["trials"] for line in lines if line["cell"] == search.facts["cell"]} == {completed}
    assert main(command) == 0 and f"importance ({evaluator or 'pedanova'})" in capsys.readouterr().out
    kinds = {
        None: lambda: None,
        "fanova": lambda: optuna.importance.FanovaImportanceEvaluator(seed=0),
        "mdi": lambda: optuna.importance.MeanDecreaseImpurityImportanceEvaluator(seed=0),
        "pedanova": optuna.importance.PedAnovaImportanceEvaluator,
    }
    for cell in ("lem", "gru"):
        study = optuna.load_study(study_name=f"both: {cell}", storage=storage)
        expected = optuna.importance.get_param_importances(study, evaluator=kinds[evaluator]())
        actual = {line["name"]: line["importance"] for line in lines if line["cell"] == cell}
        assert actual == pytest.approx(expected)


def somebody_s_study(folder: Path) -> str:
    """Write a study as another program would, and return its storage."""
    storage = f"sqlite:///{folder}/theirs.db"
    study = optuna.create_study(storage=storage, study_name="theirs", direction="minimize")
    floats = optuna.distributions.FloatDistribution
    ranges = {"lr": floats(1e-4, 1.0, log=True), "dt": floats(0.01, 9.0)}
    for lr, dt, value in [(0.002, 0.5, 0.3), (0.02, 1.5, 0.1), (0.01, 8.0, 0.2), (0.003, 1.0, 0.4)]:
        study.add_trial(optuna.trial.create_trial(params={"lr": lr, "dt": dt}, distributions=ranges, value=value))
    return storage


def test_the_best_trials_of_a_study_start_a_search_and_one_outside_its_space_is_left_out(
    store: Store, tmp_path: Path
) -> None:
    space = {"lem": {"lr": {"low": 1e-3, "high": 1e-1, "log": True}, "dt": {"low": 0.1, "high": 2.0}}}
    settings = {"models": ["lem"], "space": space, **SIZES}
    file = small(**settings, study={"LEM": {"storage": somebody_s_study(tmp_path), "best": 3}})
    warm, cold = with_settings_of_studies(resolve(file)), resolve(small(**settings))
    assert [(start.source, start.out) for start in warm.cells[0].warm] == [
        ("trial 1 of the study theirs, value 0.1", ""),
        ("trial 2 of the study theirs, value 0.2", "dt 8 lies outside 0.1 to 2"),
        ("trial 0 of the study theirs, value 0.3", ""),
    ]
    trials, others = all_trials(warm, {}), all_trials(cold, {})
    assert [dict(c.params) for c in trials[:2]] == [{"lr": 0.02, "dt": 1.5}, {"lr": 0.002, "dt": 0.5}]
    assert trials[2:] == others[2:] and [c.seed for c in trials] == [c.seed for c in others]
    store_plan(resolve(file), store)
    (tmp_path / "theirs.db").unlink()  # what was read stays with the plan
    assert read_sweep_plan(store, "tiny").cells[0].warm == warm.cells[0].warm
    assert "warm start from trials of an Optuna study" in searched_by(stored_settings(file))


def test_a_trial_of_a_study_whose_size_is_no_whole_number_is_left_out(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/sizes.db"
    study, floats = optuna.create_study(storage=storage), optuna.distributions.FloatDistribution
    ranges = {"lr": floats(1e-4, 1.0), "dt": floats(0.1, 2.0), "hidden": floats(1.0, 100.0)}
    for hidden in (12.9, 12.0):
        params = {"lr": 0.01, "dt": 0.5, "hidden": hidden}
        study.add_trial(optuna.trial.create_trial(params=params, distributions=ranges, value=hidden))
    settings = {**SIZES, "hidden": None, "space": {"lem": {"hidden": {"low": 4, "high": 32}}}}
    [cell] = with_settings_of_studies(
        resolve(small(models=["lem"], study={"lem": {"storage": storage}}, **settings))
    ).cells
    assert [start.out for start in cell.warm] == ["", "hidden 12.9 is not a whole number"]


@pytest.mark.integration
def test_an_exported_study_starts_a_search_with_its_own_best(swept: Store, tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/optuna.db"
    assert export(swept, storage, "both") == 0
    [_, search] = sorted(read_searches(swept, "both"), key=lambda search: search.name)
    best = min(search.trials, key=lambda trial: trial.value or math.inf)
    study = {"lem": {"storage": storage, "name": "both: lem", "best": 1}}
    [first, *_] = all_trials(with_settings_of_studies(resolve(small(**SIZES, models=["lem"], study=study))), {})
    assert dict(first.params) == dict(best.params)


@pytest.mark.parametrize(
    ("study", "message"),
    [
        ({"lem": {"storage": "sqlite:///none.db"}}, "There is no study at sqlite:///none.db"),
        ({"lem": {"storage": "there", "name": "thers"}}, "No study in sqlite:.* 'thers'. Did you mean theirs"),
        ({"lem": {"storage": "there", "bets": 2}}, r"tiny.toml: No key 'bets'. Did you mean best\?"),
        ({"lam": {"storage": "there"}}, r"No model 'lam'. .*\[study.lam\]"),
        ({"lem": {"storage": "postgresql://me:secret@host/x"}}, "study.lem: storage holds a password"),
    ],
)
def test_a_study_that_is_not_there_is_one_line(study: dict[str, Any], message: str, tmp_path: Path) -> None:
    for table in study.values():
        table["storage"] = somebody_s_study(tmp_path) if table["storage"] == "there" else table["storage"]
    with pytest.raises(ConfigError, match=message) as caught:
        with_settings_of_studies(resolve(small(**SIZES, models=["lem"], study=study)))
    assert "\n" not in str(caught.value) and "secret" not in str(caught.value)


def test_two_completed_trials_are_enough_to_rate_parameters_and_one_is_not() -> None:
    space = (Dimension("lr", low=1e-3, high=1e-2),)
    trials = [StudyTrial(str(k), {"lr": 0.002 + 0.001 * k}, "ok", 0.1 * k, (), None, None, {}) for k in range(2)]
    assert rate_parameters(CellSearch("tiny: lem", "min", "mse", space, {}, trials), "fanova") == {"lr": 1.0}
    with pytest.raises(ConfigError, match="importance takes two completed trials, and there are 1"):
        rate_parameters(CellSearch("tiny: lem", "min", "mse", space, {}, trials[:1]), "fanova")


def test_a_range_of_numbers_holds_neither_nothing_nor_a_word() -> None:
    range_of_lr = Dimension("lr", low=1e-3, high=1e-2)
    assert [range_of_lr.holds(value) for value in (None, "cosine", 0.002, 0.02)] == [False, False, True, False]


@pytest.mark.parametrize("score", [0.1, 99.9, 100.0])
def test_where_all_trials_have_one_score_no_parameter_is_important_and_the_command_says_so(score: float) -> None:
    space = (Dimension("lr", low=1e-3, high=1e-2),)
    trials = [StudyTrial(str(k), {"lr": 0.002 + 0.001 * k}, "ok", score, (), None, None, {}) for k in range(3)]
    search = CellSearch("tiny: lem", "max", "accuracy", space, {}, trials)
    with pytest.raises(ConfigError, match="all 3 completed trials have the same score, so no parameter is important"):
        rate_parameters(search, "fanova")
