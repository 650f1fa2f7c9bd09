"""The copy on MLflow, read back by its own client: real servers and files, kills, servers that lie."""

from __future__ import annotations

import gc
import io
import os
import random
import shutil
import signal
import sqlite3
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console
from tracked import attempt, fill, mlflow_server, nonsense, record_failure
from waiting import free_port

from longwave.platform.api.loading import load
from longwave.platform.records.run import Status
from longwave.platform.records.stored import Trial
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.reading import read_sweep
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.run import driver
from longwave.platform.sweeps.trackers import background
from longwave.platform.sweeps.trackers.follow import send_sweep
from longwave.platform.sweeps.trackers.mlflow.client import connect
from longwave.platform.sweeps.trackers.mlflow.runs import EPOCHS, MLflowTracker
from longwave.platform.sweeps.trackers.tracker import TrackedSweep, TrackerError, TrackerName

Tiny = Callable[..., SweepFile]
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore:.*Any type hint:UserWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:.*:sqlalchemy.exc.SADeprecationWarning"),
]
NONSENSE = {
    "{}": (200, "application/json", b"{}"),
    "500": (500, "application/json", b'{"error_code": "INTERNAL_ERROR", "message": "down\\nfor now"}'),
    "HTML": (200, "text/html", b"<html><body>Please log in</body></html>"),
    "nothing": (200, "application/json", b""),
    "a list": (200, "application/json", b"[]"),
    "404": (404, "text/plain", b"not here"),
}


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Let what MLflow leaves open be collected here, where its warnings are ignored; what stays is looked at once."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), width=300)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """A real MLflow server."""
    with mlflow_server(tmp_path / "mlflow") as url:
        yield url


@pytest.fixture(scope="module")
def blank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole MLflow file with nothing in it."""
    file = tmp_path_factory.mktemp("blank") / "blank.db"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        connect(f"sqlite:///{file}")
    return file


@pytest.fixture
def file(blank: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copy(blank, tmp_path / "mlflow.db"))


def send(store: Store, url: str, sweep: str = "filled", storage: Path = Path("nowhere")) -> int:
    return send_sweep(store, sweep, storage, TrackerName("mlflow", url))


def tree(url: str) -> tuple[Any, dict[str, list[Any]]]:
    """Return MLflow's client and all runs that show, by the id of the run above them; "" of the uppermost."""
    client = connect(url)
    experiments = [e.experiment_id for e in client.search_experiments() if e.name == "longwave"]
    below: dict[str, list[Any]] = {}
    for run in client.search_runs(experiments, max_results=1000) if experiments else ():
        below.setdefault(run.data.tags.get("mlflow.parentRunId", ""), []).append(run)
    return client, below


def there(file: Path) -> dict[str, list[tuple[int, float]]]:
    """Return the validation curves that show in MLflow's file, by trial; each trial has one run, and epochs once."""
    query = (
        "SELECT t.value, r.run_uuid, m.step, m.value FROM runs r JOIN tags t USING (run_uuid) "
        "LEFT JOIN metrics m ON m.run_uuid = r.run_uuid AND m.key = 'valid/mse' "
        "WHERE r.lifecycle_stage = 'active' AND t.key = 'trial' ORDER BY m.step"
    )
    curves: dict[str, list[tuple[int, float]]] = {}
    runs: dict[str, str] = {}
    with closing(sqlite3.connect(file)) as connection:
        for trial, run, step, value in connection.execute(query):
            assert runs.setdefault(trial, run) == run, "a trial has two MLflow runs"
            curves.setdefault(trial, []).append((step, value))
    return curves


def here(store: Store, sweep: str = "filled") -> dict[str, list[tuple[int, float]]]:
    """Return the store's validation curves of a sweep, by trial."""
    curves: dict[str, list[tuple[int, float]]] = {}
    for point in store.curves([planned.id for planned in store.planned(sweep)]):
        curves.setdefault(point.trial, []).append((point.epoch, point.valid))
    return curves


def statuses(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as connection:
        return [status for (status,) in connection.execute("SELECT status FROM runs")]


def assert_copied(store: Store, url: str, sweep: str) -> dict[str, Any]:
    """Fail unless a server holds the trials of a sweep beneath its cells, as the store has them; return the runs."""
    client, below = tree(url)
    [top] = below.pop("")
    trials = {t.config.id: t for t in store.trials(sweep)}
    copies = {run.data.tags["trial"]: run for cell in below[top.info.run_id] for run in below[cell.info.run_id]}
    assert len(copies) == sum(map(len, below.values())) - len(below[top.info.run_id]) and copies.keys() == trials.keys()
    for name, run in copies.items():
        mine = store.curves([name])
        for key, values in (("train/loss", [p.loss for p in mine]), ("valid/mse", [p.valid for p in mine])):
            history = sorted(client.get_metric_history(run.info.run_id, key), key=lambda m: m.step)
            assert [(m.step, m.value) for m in history] == [*enumerate(values, 1)]
            assert [m.timestamp for m in history] == [int(p.at * 1000) for p in mine]
        trial = trials[name]
        assert trial.run and run.data.metrics.get("test/mse") == trial.run.test and run.info.status == "FINISHED"
    for run in (top, *below[top.info.run_id], *copies.values()):
        assert run.info.start_time < run.info.end_time and run.data.tags["sweep"] == sweep
    return {"top": top, "cells": below[top.info.run_id], "trials": copies}


def assert_cell_is_of(cell: Any, trials: list[Trial]) -> None:
    """Fail unless a cell holds what its retrainings come to, the setting they share, and their data."""
    scores = [t.run.test for t in trials if t.run and t.run.test is not None]
    want = {"mean": statistics.mean(scores), "std": statistics.stdev(scores), "median": statistics.median(scores)}
    assert cell.data.metrics == pytest.approx({f"test/mse_{name}": value for name, value in want.items()})
    shared = trials[0].config
    assert float(cell.data.params["lr"]) == shared.params["lr"] and cell.data.tags["row"] == shared.row
    assert cell.data.tags["verdict"] and cell.info.run_name == shared.model
    assert [i.dataset.name for i in cell.inputs.dataset_inputs] == ["adding N=20"]


@pytest.mark.integration
def test_a_sweep_is_a_run_with_its_cells_and_their_trials_beneath_as_a_client_of_a_real_server_reads_it(
    tiny: Tiny,
    store: Store,
    here: Workers,
    console: Console,
    server: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import mlflow.pyfunc as pyfunc

    tracker = TrackerName("mlflow", server)
    driver.start_sweep(tiny(name="other", models=["lem"], trials=1, retrain=0), store, here, None, console)
    file = tiny(trials=2, retrain=2, keep_weights=True, epochs=3, space={"lem": {"dt": {"low": 0.5, "high": 1.0}}})
    driver.start_sweep(file, store, here, [tracker], console)
    send_sweep(store, "tiny", here.storage, tracker)  # what was left when the driver ended, if anything
    runs = assert_copied(store, server, "tiny")
    assert send_sweep(store, "tiny", here.storage, tracker) == 0
    again = assert_copied(store, server, "tiny")
    assert {run.info.run_id for run in again["trials"].values()} == {r.info.run_id for r in runs["trials"].values()}

    for cell in runs["cells"]:
        model = cell.data.tags["model"]
        assert_cell_is_of(
            cell, [t for t in store.trials("tiny") if t.config.model == model and t.config.phase == "retrain"]
        )
    assert [i.dataset.name for i in runs["top"].inputs.dataset_inputs] == ["adding N=20"]
    client = connect(server)
    client.download_artifacts(runs["top"].info.run_id, "sweep.toml", str(tmp_path))
    assert read_sweep(tmp_path / "sweep.toml") == file and runs["top"].data.params["task"] == "adding"

    row = store.retrainings("adding")[0].config
    run = runs["trials"][row.id]
    tags = {name: run.data.tags[name] for name in ("phase", "model", "task", "variant", "status", "row")}
    assert tags == {
        "phase": "retrain", "model": row.model, "task": "adding", "variant": "N=20", "status": "ok", "row": row.row,
    }  # fmt: skip
    assert run.data.tags["mlflow.source.git.commit"] == run.data.tags["commit"] and run.data.tags["commit"]
    assert run.data.tags["mlflow.source.type"] == "LOCAL" and run.data.tags["mlflow.source.name"]
    assert run.data.tags["mlflow.user"]
    assert "None" not in run.data.params.values() and "clip" not in run.data.params
    [data] = [given.dataset for given in run.inputs.dataset_inputs]
    assert (data.name, data.digest) == ("adding N=20", row.data)

    monkeypatch.setenv("MLFLOW_TRACKING_URI", server)
    x = np.random.default_rng(0).random((3, 20, 2))
    network = load(row.id, store=store.url, storage=str(here.storage))
    predicted = pyfunc.load_model(f"runs:/{run.info.run_id}/model").predict(x)
    np.testing.assert_array_equal(predicted, network.predict(torch.as_tensor(x)).numpy())
    search = next(r for r in runs["trials"].values() if r.data.tags["phase"] == "search")
    assert client.list_artifacts(search.info.run_id) == [] and "test/mse" not in search.data.metrics


@pytest.mark.integration
def test_a_dead_server_neither_stops_nor_slows_training_and_gets_all_it_missed_when_it_is_back(
    tiny: Tiny, store: Store, here: Workers, console: Console, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = TrackerName("mlflow", f"http://ada:s3cret@127.0.0.1:{free_port()}")
    monkeypatch.setattr(background, "SECONDS", 0.1)
    start = time.monotonic()
    view = driver.start_sweep(tiny(models=["lem"], trials=2, retrain=2), store, here, [dead], console)
    assert view.counts() == "4 of 4 trials done (4 ok)" and time.monotonic() - start < 60
    said = console.file.getvalue()  # type: ignore[attr-defined]
    assert "did not accept results" in said and "longwave mlflow sync tiny" in said and "s3cret" not in said
    with pytest.raises(TrackerError, match="did not accept results"):
        send_sweep(store, "tiny", here.storage, dead)
    assert send(store, server, "tiny") == 4
    assert_copied(store, server, "tiny")


@pytest.mark.integration
def test_a_copy_that_broke_off_at_any_call_is_completed_without_doubles(
    store: Store, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store, 3, 2)
    url, real, left = f"sqlite:///{file}", connect, [0]

    class Cut:
        """A client that is cut off after some calls, whether the last one arrived or not."""

        def __init__(self, client: Any) -> None:
            self.client = client

        def __getattr__(self, name: str) -> Any:
            method = getattr(self.client, name)

            def call(*arguments: Any, **options: Any) -> Any:
                left[0] -= 1
                if left[0] == 0 and lost:
                    raise KeyboardInterrupt
                answer = method(*arguments, **options)
                if left[0] == 0:
                    raise KeyboardInterrupt
                return answer

            return call

    monkeypatch.setattr("longwave.platform.sweeps.trackers.mlflow.runs.connect", lambda address: Cut(real(address)))
    for k in range(2, 40):
        left[0], lost = k // 2 + 4, bool(k % 2)
        try:
            if send(store, url) == 0:
                break
        except KeyboardInterrupt:
            continue
    left[0] = 10**6
    send(store, url)
    assert there(file) == here(store) and statuses(file) == ["FINISHED"] * (1 + 1 + 3)


@pytest.mark.integration
@pytest.mark.parametrize("kills", [4, pytest.param(100, marks=pytest.mark.slow)])
def test_copies_killed_at_any_moment_leave_no_doubles_and_brick_nothing(
    store: Store, tmp_path: Path, kills: int
) -> None:
    fill(store, 12 * kills, 2)
    file, moments = tmp_path / "new/mlflow.db", random.Random(kills)
    for k in range(kills):
        made = file.exists()
        pid = forked(tmp_path / "store.db", file)
        until = time.monotonic() + 60
        while k % 2 and not made and not file.exists() and time.monotonic() < until:
            time.sleep(0.005)  # every other one dies after the file is made, the others mostly before
        time.sleep(moments.uniform(0, 1.5))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        assert not file.exists() or there(file) is not None
    send(store, f"sqlite:///{file}")
    assert there(file) == here(store) and {*statuses(file)} == {"FINISHED"} and len(statuses(file)) == 2 + 12 * kills
    assert send(store, f"sqlite:///{file}") == 0


@pytest.mark.integration
def test_a_run_that_a_slow_server_created_twice_is_deleted(
    store: Store, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlflow import MlflowClient

    fill(store, 3, 2)
    url, real = f"sqlite:///{file}", MlflowClient.create_run

    def create_run(client: MlflowClient, *arguments: Any) -> Any:
        """Answer late, so that the request is repeated."""
        real(client, *arguments)
        return real(client, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(MlflowClient, "create_run", create_run)
        assert send(store, url) == 3
    sent = assert_copied(store, url, "filled")
    client = connect(url)
    for run in (sent["top"], *sent["cells"], *sent["trials"].values()):  # created once more, after the last search
        tags = {name: text for name, text in run.data.tags.items() if name not in ("epoch", "status")}
        client.create_run(run.info.experiment_id, run.info.start_time, tags, run.info.run_name)
    assert send(store, url) == 0
    assert_copied(store, url, "filled")
    assert there(file) == here(store)


@pytest.mark.parametrize("pages", [["ab", "bc", "c"], ["abc"] * 9])
def test_a_run_that_a_server_gives_on_two_pages_or_without_end_is_found_once_and_not_deleted(pages: list[str]) -> None:
    class Page(list[Any]):
        token = "next"

    def search_runs(*_: object, **__: object) -> Page:
        info = {name: SimpleNamespace(run_id=name) for name in "abc"}
        return Page(SimpleNamespace(info=info[k], data=SimpleNamespace(tags={"part": k})) for k in remaining.pop(0))

    deleted, remaining = list[str](), [*pages]
    tracker = MLflowTracker(TrackerName("mlflow", "http://127.0.0.1:9"))
    tracker.client = SimpleNamespace(search_runs=search_runs, delete_run=deleted.append)
    tracker.sweep, tracker.runs, tracker.experiment = TrackedSweep("demo", "1", {}, 0.0, []), {}, "1"
    assert [run.info.run_id for run in tracker._find_runs_and_delete_doubles()] == ["a", "b", "c"] and deleted == []


@pytest.mark.integration
def test_two_copies_at_once_send_every_trial_once(store: Store, file: Path, tmp_path: Path) -> None:
    fill(store, 6, 2)
    both = [forked(tmp_path / "store.db", file) for _ in range(2)]
    assert sorted(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in both) == [0, 6]
    assert there(file) == here(store)


def forked(path: Path, file: Path) -> int:
    """Copy in a process of its own, which ends with the number of trials it sent; return its id."""
    if pid := os.fork():
        return pid
    try:
        with Store(f"sqlite:///{path}") as store:
            os._exit(send(store, f"sqlite:///{file}"))
    finally:
        os._exit(255)


@pytest.mark.integration
def test_a_trial_that_goes_on_opens_its_run_again_and_has_each_epoch_once(store: Store, file: Path) -> None:
    [first, second] = fill(store, 2, 4)
    attempt(store, first, 1, 0, 3, 0.0, over=False)
    send(store, url := f"sqlite:///{file}")
    assert sorted(statuses(file)) == ["FINISHED", "KILLED", "KILLED", "KILLED"]
    attempt(store, first, 2, 2, 4, 0.0, over=True)
    assert send(store, url) == 1
    assert there(file) == here(store) and statuses(file) == ["FINISHED"] * 4


@pytest.mark.integration
def test_a_failed_trial_that_is_tried_again_and_ends_well_loses_its_reason(store: Store, file: Path) -> None:
    first, second = fill(store, 2, 4)
    for config in (first, second):
        record_failure(store, config, "out of memory")
    send(store, url := f"sqlite:///{file}")
    attempt(store, first, 2, 0, 4, 0.0, over=True)
    assert send(store, url) == 1
    _, below = tree(url)
    tags = {
        run.data.tags["trial"]: run.data.tags for runs in below.values() for run in runs if "trial" in run.data.tags
    }
    assert (tags[first.id]["status"], tags[first.id].get("reason")) == ("ok", None)
    assert (tags[second.id]["status"], tags[second.id].get("reason")) == ("failed", "out of memory")


@pytest.mark.integration
def test_trials_that_failed_or_diverged_are_failed_runs_and_stopped_ones_are_not(store: Store, file: Path) -> None:
    expected: dict[Status, str] = {"failed": "FAILED", "diverged": "FAILED", "stopped": "FINISHED"}
    configs = fill(store, 3, 4)
    for config, status in zip(configs, expected, strict=True):
        record_failure(store, config, "it did", status)
    send(store, url := f"sqlite:///{file}")
    runs = [run for below in tree(url)[1].values() for run in below if "trial" in run.data.tags]
    assert {run.data.tags["status"]: run.info.status for run in runs} == expected


@pytest.mark.parametrize("answer", NONSENSE)
def test_a_server_that_answers_nonsense_is_one_line_without_a_password(store: Store, answer: str) -> None:
    fill(store, 3, 2)
    with nonsense(*NONSENSE[answer]) as url, pytest.raises(TrackerError, match="MLflow at http://") as caught:
        send(store, url.replace("http://", "http://me:s3/cr@t@"))
    assert "\n" not in str(caught.value) and "s3" not in str(caught.value)


def test_a_file_that_holds_something_else_is_refused_and_left_alone(store: Store, tmp_path: Path) -> None:
    fill(store, 1, 2)
    with pytest.raises(TrackerError, match="is not an MLflow database. Name another file"):
        send(store, store.url)
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        assert ("experiments",) not in connection.execute("SELECT name FROM sqlite_master").fetchall()


def test_a_damaged_file_is_one_line_and_is_left_as_it_is(store: Store, tmp_path: Path) -> None:
    fill(store, 1, 2)
    (tmp_path / "mlflow.db").write_bytes(b"not a database, at all" * 100)
    with pytest.raises(TrackerError, match="did not accept results: file is not a database"):
        send(store, f"sqlite:///{tmp_path}/mlflow.db")
    assert (tmp_path / "mlflow.db").read_bytes() == b"not a database, at all" * 100


def test_a_server_that_is_no_server_is_one_line(store: Store) -> None:
    fill(store, 1, 2)
    with pytest.raises(TrackerError, match="did not accept results") as caught:
        send(store, "nonsense://x")
    assert "\n" not in str(caught.value)


@pytest.mark.integration
def test_a_sweep_planned_anew_in_another_store_is_another_run(
    store: Store, file: Path, open_store: Callable[[str], Store], tmp_path: Path
) -> None:
    one, two = store, open_store(f"sqlite:///{tmp_path}/two.db")
    for each in (one, two):
        fill(each, 1, 2)
        assert send(each, f"sqlite:///{file}") == 1
    _, below = tree(f"sqlite:///{file}")
    assert [run.info.run_name for run in below[""]] == ["filled"] * 2


@pytest.mark.integration
def test_an_experiment_of_another_name_is_used_where_mlflow_names_one(
    store: Store, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "mine")
    fill(store, 1, 2)
    send(store, f"sqlite:///{file}")
    assert [e.name for e in connect(f"sqlite:///{file}").search_experiments()] == ["mine", "Default"]


@pytest.mark.integration
def test_runs_that_were_deleted_in_mlflow_come_back_with_all_below_them(store: Store, file: Path) -> None:
    fill(store, 3, 4)
    send(store, url := f"sqlite:///{file}")
    client, before = tree(url)

    def list_parts(below: dict[str, list[Any]]) -> list[list[str]]:
        return sorted(sorted(run.data.tags["part"] for run in runs) for runs in below.values())

    for part in ("cell 0", "sweep"):
        [run] = [run for runs in tree(url)[1].values() for run in runs if run.data.tags["part"] == part]
        client.delete_run(run.info.run_id)
        send(store, url)
        after = tree(url)[1]
        shown = {run.info.run_id for runs in after.values() for run in runs}
        assert list_parts(after) == list_parts(before) and after.keys() <= {"", *shown}


@pytest.mark.integration
def test_a_renamed_experiment_is_found_again_and_a_deleted_one_is_an_error(store: Store, file: Path) -> None:
    fill(store, 1, 2)
    send(store, url := f"sqlite:///{file}")
    client = connect(url)
    experiment = client.get_experiment_by_name("longwave").experiment_id
    client.rename_experiment(experiment, "mine")
    assert send(store, url) == 0
    assert sorted(e.name for e in client.search_experiments()) == ["Default", "mine"]
    client.rename_experiment(experiment, "longwave")
    client.delete_experiment(experiment)
    with pytest.raises(TrackerError, match="longwave was deleted in MLflow. Restore it there, or name another with"):
        send(store, url)


@pytest.mark.integration
def test_a_request_that_fails_among_those_of_a_long_trial_leaves_the_rest_to_be_sent(
    store: Store, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlflow import MlflowClient

    fill(store, 1, 2 * EPOCHS + 3)
    sent, real = list[int](), MlflowClient.log_batch

    def log_batch(client: MlflowClient, run: str, metrics: Any = (), params: Any = (), tags: Any = ()) -> None:
        sent.append(len(metrics) + len(params) + len(tags))
        if len(sent) == 2:
            raise ConnectionError("the server is gone")
        real(client, run, metrics, params, tags)

    monkeypatch.setattr(MlflowClient, "log_batch", log_batch)
    url = f"sqlite:///{file}"
    with pytest.raises(TrackerError, match="did not accept results"):
        send(store, url, "filled")
    assert send(store, url, "filled") == 1
    assert max(sent) < 1000, "MLflow sends more in several requests, and the tag that says how far with the first one"
    assert_copied(store, url, "filled")
