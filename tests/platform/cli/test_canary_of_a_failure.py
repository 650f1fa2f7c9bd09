"""A password in the error that a trial fails with comes out of no command, into no file, row, tag or argument."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from plugin_files import LEAKY, written
from tracked import mlflow_server

from longwave.platform.cli.main import main
from longwave.platform.exchange.bundle import read
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.run import executor
from longwave.platform.sweeps.run.executor import running_workers
from longwave.platform.training import train as train_module

CANARY = "hunter2"
REASON = "OSError: cannot reach https://***@host/x"
FILE = (
    'name = "tiny"\ntask = "adding"\nvariant = "N=20"\nmodels = ["lem", "gru"]\ntrials = 1\nretrain = 2\nhidden = 8\n'
    "batch = 10\nsteps = 1\nepochs = 1\n"
)
FAILS = """        import sys
        if sys.argv[0].endswith("default_worker.py"):  # Ray's
            raise OSError("cannot reach https://bob:%s2@host/x" % "hunter")
"""
ALL_FORMATS = ("table", "csv", "markdown", "latex", "json")


@pytest.fixture
def arguments() -> Iterator[list[str]]:
    """What stands in the arguments of any process during the test, and holds the password."""
    seen, over = list[str](), threading.Event()

    def look() -> None:
        while not over.wait(0.2):
            lines = [" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])]
            seen.extend(line for line in lines if f":{CANARY}@" in line)

    thread = threading.Thread(target=look)
    thread.start()
    yield seen
    over.set()
    thread.join()


@pytest.fixture
def store_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of an empty store; the retrainings of gru, and no other trial, fail with a password in the error."""
    train = train_module._train

    def fail(configs: Sequence[Any], *rest: Any) -> Any:
        if (configs[0].model, configs[0].phase) == ("gru", "retrain"):
            raise OSError(f"cannot reach https://bob:{CANARY}@host/x")
        return train(configs, *rest)

    monkeypatch.setattr(train_module, "_train", fail)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.toml").write_text(FILE)
    return f"sqlite:///{tmp_path}/results.db"


def commands(rows: dict[str, str], trial: str) -> list[str]:
    """Return command lines that read, or write for others, what a failed trial is part of."""
    gru, lem = rows["gru"], rows["lem"]
    return [
        "sweep status tiny", "data list", "sweep plan tiny.toml", "doctor", "board", "models", "tasks", "methods",
        *(f"board adding --format {kind}" for kind in ALL_FORMATS),
        *(f"show {gru} --format {kind}" for kind in ALL_FORMATS),
        *(f"show {trial} --format {kind}" for kind in ("table", "json")),
        f"show {lem} --format json", f"diff {gru} {lem}", f"diff {gru} {lem} --all --format json",
        f"compare {gru} {lem}", f"compare {gru} {lem} --format latex", "budget adding", f"export {gru}",
        f"reproduce {gru} --here", "submit rows.json.xz", "import rows.json.xz", "import rows.json.xz --dry-run",
        "publish page --results", "mlflow sync tiny --server sqlite:///mlflow.db", "published", "doctor --repair",
        "sweep retry tiny", "sweep resume tiny --here",
    ]  # fmt: skip


@pytest.mark.integration
@pytest.mark.usefixtures("unlimited_doctor")
@pytest.mark.filterwarnings("ignore")  # MLflow's own
def test_the_password_in_an_error_of_a_trial_comes_out_nowhere(
    store_url: str, tmp_path: Path, home: Path, arguments: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", "run", "tiny.toml", "--here", "--store", store_url]) in (0, 1)
    with Store(store_url, create=False) as store:
        trials = store.trials("tiny")
    failed = [t for t in trials if t.run and t.run.status == "failed"]
    assert len(failed) == 2 and {t.run.reason for t in failed if t.run} == {REASON}
    rows = {t.config.model: t.config.row for t in trials if t.config.phase == "retrain"}
    lines = commands(rows, failed[0].config.id)
    assert len(lines) > 30
    shown: dict[str, tuple[int, str]] = {}
    for line in lines:
        takes_store = line.split()[0] not in ("models", "tasks", "methods", "published", "data") and "plan" not in line
        status = main([*line.split(), *(["--store", store_url] if takes_store else [])])
        shown[line] = (status, "".join(capfd.readouterr()))
        assert CANARY not in shown[line][1], line
    refused = [line for line, (status, _) in shown.items() if status == 2]
    assert refused == [f"export {rows['gru']}", f"reproduce {rows['gru']} --here"], shown
    assert "cannot reach https://***@host/x" in shown[f"show {failed[0].config.id} --format json"][1]

    assert REASON in {entry.run.reason for entry in read(tmp_path / "rows.json.xz").content.trials}
    for bundle in tmp_path.rglob("*.json.xz"):
        assert CANARY not in read(bundle).model_dump_json(), bundle
    reasons = pq.read_table(tmp_path / "page/trials.parquet").column("reason").to_pylist()
    assert REASON in reasons and not any(CANARY in (reason or "") for reason in reasons)
    assert files_with_canary(tmp_path) == files_with_canary(home) == []
    for url in (store_url, f"sqlite:///{tmp_path}/mlflow.db"):
        assert columns_with_canary(url) == []
    assert arguments == []


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore")  # MLflow's own
@pytest.mark.usefixtures("alone")
def test_the_password_in_an_error_of_a_ray_worker_reaches_no_log_of_ray_and_nothing_on_a_server(
    tmp_path: Path, home: Path, arguments: list[str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "leaky.py", LEAKY.replace("        p, d = self.in", FAILS + "        p, d = self.in", 1))
    file = written(tmp_path / "tiny.toml", FILE.replace('"gru"]', '"my-leaky"]\nplugins = ["leaky.py"]'))
    store_url, storage = f"sqlite:///{tmp_path}/results.db", tmp_path / "storage"
    with mlflow_server(tmp_path / "server") as server, running_workers(Workers(count=2, storage=storage)):
        url = server.replace("//", f"//alice:{CANARY}@")
        options = ["--workers", "2", "--store", store_url, "--storage", str(storage), "--mlflow", url]
        assert main(["sweep", "run", str(file), *options]) == 0
        assert main(["mlflow", "sync", "tiny", "--store", store_url, "--server", url]) == 0
        session = executor._clients[-1].folder
        assert any(log.stat().st_size for log in session.rglob("python-core-worker-*.log"))
        assert files_with_canary(session) == []
        tags = tags_of_runs(server)
        assert CANARY not in repr(tags)
    said = "".join(capfd.readouterr())
    assert CANARY not in said and "4 of 4 trials done (3 ok, 1 failed)" in said, said
    with Store(store_url, create=False) as store:
        [failed] = [t for t in store.trials("tiny") if t.run and t.run.status == "failed"]
    assert failed.run and failed.run.reason == REASON and failed.config.id in repr(tags)
    assert files_with_canary(tmp_path) == files_with_canary(home) == []
    for database in (store_url, f"sqlite:///{tmp_path}/server/m.db"):
        assert columns_with_canary(database) == []
    assert arguments == []


def tags_of_runs(server: str) -> list[Any]:
    """Return tags, parameters and artifacts of all runs on an MLflow server."""
    from mlflow.tracking import MlflowClient

    client = MlflowClient(server)
    runs = client.search_runs([e.experiment_id for e in client.search_experiments()])
    return [(run.data.tags, run.data.params, client.list_artifacts(run.info.run_id)) for run in runs]


def files_with_canary(folder: Path) -> list[Path]:
    """Return the files below a folder that hold the password."""
    return [file for file in folder.rglob("*") if file.is_file() and CANARY.encode() in file.read_bytes()]


def columns_with_canary(url: str) -> list[str]:
    """Return the columns of a database that hold the password, of all tables there are."""
    engine, tables = sa.create_engine(url), sa.MetaData()
    with engine.connect() as connection:
        tables.reflect(connection)
        columns = [column for table in tables.sorted_tables for column in table.c]
        return [str(column) for column in columns if CANARY in repr(connection.execute(sa.select(column)).all())]
