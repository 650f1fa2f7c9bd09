"""The MLflow mirror: real servers, dead servers, late servers; training never waits for any of them."""

from __future__ import annotations

import gc
import io
import socket
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mirrors import free_port, mlflow_server
from rich.console import Console

from longwave.platform.storage.outbox import Outbox
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.mlflow import background, mirror
from longwave.platform.sweeps.mlflow.background import Mirror
from longwave.platform.sweeps.mlflow.mirror import sync
from longwave.platform.sweeps.mlflow.server import MirrorError, _sqlite_path
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.run import driver

Tiny = Callable[..., SweepFile]
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:.*:sqlalchemy.exc.SADeprecationWarning"),
]


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
def trained(tiny: Tiny, store: Store, here: Workers, console: Console) -> Store:
    """A store with a finished sweep, mirrored nowhere."""
    driver.start_sweep(tiny(models=["lem"], trials=2, retrain=1), store, here, None, console)
    return store


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """A real MLflow server."""
    with mlflow_server(tmp_path / "mlflow") as url:
        yield url


def mirrored(url: str) -> dict[str, dict[str, Any]]:
    """Return what an MLflow store or server holds, by trial id: status, params, every metric's points."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from mlflow.tracking import MlflowClient

        client = MlflowClient(url)
        experiments = [e.experiment_id for e in client.search_experiments() if e.name.startswith("longwave/")]
        actual: dict[str, dict[str, Any]] = {}
        for run in client.search_runs(experiments):
            trial = run.data.tags["longwave.trial"]
            assert trial not in actual, "a trial has two MLflow runs"
            history = {k: client.get_metric_history(run.info.run_id, k) for k in run.data.metrics}
            metrics = {k: sorted((m.step, m.value) for m in points) for k, points in history.items()}
            actual[trial] = {"status": run.info.status, "params": run.data.params, "metrics": metrics}
        return actual


def assert_equal(store: Store, name: str, url: str) -> None:
    """Fail unless the mirror holds exactly what the store holds."""
    there = mirrored(url)
    trials = store.trials(name)
    assert there.keys() == {t.config.id for t in trials}
    for trial in trials:
        mine, copy = store.curves([trial.config.id]), there[trial.config.id]
        assert copy["metrics"]["loss"] == [(p.epoch, p.loss) for p in mine]
        assert copy["metrics"]["valid_mse"] == [(p.epoch, p.valid) for p in mine]
        assert trial.run and ("test_mse" in copy["metrics"]) == (trial.run.test is not None)
        assert float(copy["params"]["lr"]) == trial.config.params["lr"] and copy["status"] == "FINISHED"


@pytest.mark.integration
def test_a_sweep_is_mirrored_while_it_runs_into_a_store_the_driver_makes(
    tiny: Tiny, store: Store, here: Workers, console: Console, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/made/mlflow.db"
    driver.start_sweep(tiny(models=["lem"], trials=2, retrain=1), store, here, url, console)
    sync(store, url)
    assert_equal(store, "tiny", url)
    assert sync(store, url) == 0


@pytest.mark.integration
def test_a_dead_server_neither_stops_nor_slows_training_and_gets_all_it_missed_when_it_is_back(
    tiny: Tiny, store: Store, here: Workers, console: Console, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = f"http://127.0.0.1:{free_port()}"
    monkeypatch.setattr(background, "SECONDS", 0.1)
    start = time.monotonic()
    view = driver.start_sweep(tiny(models=["lem"], trials=2, retrain=1), store, here, dead, console)
    assert view.counts() == "3 of 3 trials done (3 ok)" and time.monotonic() - start < 60
    assert "did not answer" in console.file.getvalue() and "longwave mlflow sync" in console.file.getvalue()  # type: ignore[attr-defined]
    with pytest.raises(MirrorError, match="did not answer"):
        sync(store, dead)
    assert sync(store, server) == 3
    assert_equal(store, "tiny", server)


@pytest.mark.integration
def test_a_copy_that_broke_off_anywhere_is_completed_without_doubles(
    trained: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, real = f"sqlite:///{tmp_path}/mlflow.db", Outbox.write_deliveries
    calls = iter(range(100))

    def sometimes(self: Outbox, lines: Any) -> None:
        if next(calls) % 5 in (0, 2):
            raise KeyboardInterrupt
        real(self, lines)

    monkeypatch.setattr(Outbox, "write_deliveries", sometimes)
    monkeypatch.setattr(mirror, "BATCH", 1)
    for _ in range(40):
        try:
            if sync(trained, url) == 0:
                break
        except KeyboardInterrupt:
            continue
    assert_equal(trained, "tiny", url)


def test_a_mirror_that_hangs_is_left_behind_at_the_end(trained: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "LAST_SECONDS", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(1)
        start = time.monotonic()
        late = Mirror(f"http://127.0.0.1:{silent.getsockname()[1]}")
        with late.following(trained):
            pass
        assert "too slow to take all results; 0 of " in late.problem and time.monotonic() - start < 5


def test_a_server_that_is_no_server_is_one_line(trained: Store) -> None:
    with pytest.raises(MirrorError, match="cannot be used") as caught:
        sync(trained, "nonsense://x")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "server, file",
    [
        ("sqlite:///runs.db", "runs.db"),
        ("sqlite+pysqlite:////data/runs.db?timeout=3", "/data/runs.db"),
        ("sqlite:///", None),
        ("sqlite://", None),
        ("postgresql:///runs", None),
        ("http://127.0.0.1:5000", None),
    ],
)
def test_only_a_server_that_is_a_sqlite_file_has_one(server: str, file: str | None) -> None:
    assert _sqlite_path(server) == (None if file is None else Path(file))
