"""A database that goes away for a while ends no driver, in whatever state it is: nothing is lost, nothing doubled."""

from __future__ import annotations

import inspect
import io
import threading
import tomllib
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from interrupted_drivers import SLOW, read_results
from rich.console import Console
from stoppable_postgres import stoppable_postgres
from waiting import wait_until

from longwave.platform.errors import StoreUnavailable
from longwave.platform.storage.database import Database
from longwave.platform.storage.lease_tables import ArchiveRow, AttemptRow
from longwave.platform.storage.leases import Leases
from longwave.platform.storage.retrying_store import ONCE, RetryingStore
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.reading import check_sweep
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.run import driver, heartbeat

AWAY = 4.0
"""Seconds for which the server is stopped."""


def sweep() -> SweepFile:
    return check_sweep(tomllib.loads(SLOW), "tiny.toml")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The results of the sweep."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with Store(f"sqlite:///{folder}/s.db") as store:
        driver.start_sweep(sweep(), store, Workers(1, folder, here=True), None, Console(file=io.StringIO()))
        return read_results(store)


class Server:
    """A PostgreSQL server that can be away; an empty database of it is at ``url``."""

    def __init__(self, server: Any, control: Callable[..., Any], name: str) -> None:
        server.psql(f"CREATE DATABASE {name};")
        self.server, self.control, self.url, self.stopped = server, control, str(server.get_uri(database=name)), 0

    def go_away(self) -> None:
        """Stop, once only; come back after a while."""
        self.stopped += 1
        if self.stopped > 1:
            return
        self.control("-w", "-m", "fast", "stop")
        timer = threading.Timer(AWAY, self.server.ensure_postgres_running)
        timer.start()
        self.back = timer  # seen by the test only now: a thread that was not started cannot be joined


@pytest.fixture(scope="module")
def own_postgres() -> Iterator[Callable[[str], Server]]:
    with stoppable_postgres() as (server, control):
        yield lambda name: Server(server, control, name)


@pytest.mark.integration
@pytest.mark.parametrize("state", ["planning", "training", "waiting", "paused", "draining"])
def test_a_driver_whose_database_is_away_for_seconds_goes_on(
    state: str,
    own_postgres: Callable[[str], Server],
    undisturbed: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    postgres, view, failed = own_postgres(state), io.StringIO(), list[BaseException]()
    monkeypatch.setattr(heartbeat, "SECONDS", 1.5)  # beats come each quarter of a second, leases hold for 30

    def first_stop(work: Callable[..., Any]) -> Callable[..., Any]:
        def stopped(*args: Any) -> Any:
            postgres.go_away()
            return work(*args)

        return stopped

    def drive() -> None:
        try:
            with Store(postgres.url) as own:
                workers = Workers(1, tmp_path, here=True)
                driver.start_sweep(sweep(), own, workers, None, Console(file=view, width=400))
        except BaseException as error:
            failed.append(error)

    with Store(postgres.url) as store:
        if state == "waiting":
            store.add_sweep("urgent", {})
            urgent = Leases(store, "urgent", priority=2).__enter__()
        if state == "planning":
            monkeypatch.setattr(driver, "plan_trials", first_stop(driver.plan_trials))
        if state == "draining":
            monkeypatch.setattr(Workers, "drain", first_stop(Workers.drain))
        thread = threading.Thread(target=drive)
        thread.start()
        if state == "waiting":
            wait_until(lambda: bool(failed) or "waits for the sweep urgent" in view.getvalue())
        elif state != "planning":
            wait_until(lambda: bool(failed) or store.count()["epochs"] > 3)
        if state in ("paused", "draining"):
            store.set_state("tiny", "pause")
        if state == "paused":
            wait_until(lambda: bool(failed) or "paused; continue it with" in view.getvalue())
        if state not in ("planning", "draining"):
            postgres.go_away()
        wait_until(lambda: bool(failed) or postgres.stopped > 0)
        wait_until(lambda: hasattr(postgres, "back"))
        postgres.back.join()
        if state == "waiting":
            store.with_retry(lambda: None)
            urgent.__exit__()
        if state in ("paused", "draining"):
            store.with_retry(lambda: store.set_state("tiny", ""))
        thread.join(120)
        assert not thread.is_alive() and not failed, failed
        assert ("its server does not answer" in view.getvalue()) is (state != "paused"), "a pause reads nothing"
        assert read_results(store) == undisturbed and store.count()["epochs"] == 80
        with store.reading() as connection:
            assert connection.scalar(sa.select(sa.func.count()).select_from(ArchiveRow)) == 0
            attempts = connection.scalar(sa.select(sa.func.count()).select_from(AttemptRow))
        assert attempts == 2 + (state in ("paused", "draining"))


@pytest.mark.integration
def test_each_read_and_each_write_of_a_driver_may_fail_once(
    tiny: Callable[..., SweepFile], store: Store, here: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    places: set[tuple[tuple[str, int], ...]] = set()
    names: set[str] = set()

    def fail_first(method: Any) -> Any:
        @contextmanager
        def failing(self: Database) -> Iterator[sa.Connection]:
            frames = [f for f in traceback.extract_stack() if "platform" in f.filename and "retry" not in f.filename]
            place = tuple((f.filename, f.lineno or 0) for f in frames)
            if threading.current_thread() is threading.main_thread() and place not in places:
                places.add(place)
                names.update(f.name for f in frames)
                raise StoreUnavailable("its server is away", 60.0)
            with method(self) as connection:
                yield connection

        return failing

    store.add_sweep("urgent", {})
    urgent = Leases(store, "urgent", priority=2).__enter__()
    threading.Timer(1.5, urgent.__exit__).start()
    with monkeypatch.context() as broken:
        for name in ("reading", "transaction"):
            broken.setattr(Database, name, fail_first(getattr(Database, name)))
        view = driver.start_sweep(tiny(models=["lem"], budget={"trials": 6}), store, here, None, Console(file=None))
    assert view.counts() == "6 of 6 trials done (6 ok)" and len(places) > 15
    assert {"may_train", "plan_trials", "store_plan", "_lease_packs", "flush", "trials_left", "cost"} <= names


def test_each_method_of_a_store_waits_in_a_driver(store: Store) -> None:
    own = {name for name, _ in inspect.getmembers(Store, inspect.isfunction) if not name.startswith("_")}
    waits = {name for name in own if getattr(RetryingStore, name) is not getattr(Store, name)}
    assert own - waits == {*ONCE, "close", "with_retry", "check_writable", "transaction", "reading", "errors"}
    door = RetryingStore(store)
    store.longest_wait = 7.0
    assert door.longest_wait == 7.0 and door.engine is store.engine and not any(map(inspect.isgeneratorfunction, waits))
