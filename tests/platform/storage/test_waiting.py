"""Writers wait for a store that is locked, full or away, and go on; what waiting cannot help is one line at once."""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path

import psutil
import pytest
import sqlalchemy as sa
from recorded import points_of, recorded_store
from stoppable_postgres import stoppable_postgres

from longwave.platform.cli.main import main
from longwave.platform.errors import ConfigError, StoreError, StoreUnavailable
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage import engine
from longwave.platform.storage.database import Database
from longwave.platform.storage.store import Store

OpenStore = Callable[[str], Store]
BeNobody = Callable[[], AbstractContextManager[None]]
LOCKER = (
    "import sqlite3, sys, time; c = sqlite3.connect(sys.argv[1], isolation_level=None); c.execute('BEGIN IMMEDIATE')\n"
    "print('held', flush=True); time.sleep(float(sys.argv[2])); c.execute('COMMIT')"
)


@pytest.fixture(autouse=True)
def hasty_sqlite(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let SQLite itself wait for 50 ms, so that our own waiting is what is tested."""
    monkeypatch.setattr(engine, "PRAGMAS", ("busy_timeout=50", *engine.PRAGMAS[1:]))


def locked(file: Path, seconds: float) -> subprocess.Popen[str]:
    """Start a process that holds a store's lock for a while; return once it does."""
    process = subprocess.Popen([sys.executable, "-c", LOCKER, file, str(seconds)], stdout=subprocess.PIPE, text=True)
    assert process.stdout and process.stdout.readline() == "held\n"
    return process


def collect_messages(store: Store) -> list[str]:
    messages: list[str] = []
    store.on_wait = messages.append
    return messages


@pytest.fixture
def trial(store: Store) -> TrialConfig:
    return recorded_store(store, 4)[-1]


@pytest.mark.integration
def test_a_writer_waits_for_a_lock_says_so_once_and_goes_on(store: Store, trial: TrialConfig, tmp_path: Path) -> None:
    messages, holder = collect_messages(store), locked(tmp_path / "store.db", 1.0)
    with holder:
        store.with_retry(lambda: store.write(points_of(trial, 5), []))
    assert len(store.curves([trial.id])) == 5
    assert messages[1:] == [""]
    assert re.fullmatch(
        r"The store \S+ cannot be used, another process has locked it: database is locked; waiting up to 120 s",
        messages[0],
    )


@pytest.mark.slow  # 40 seconds of a lock, as it was seen to end a sweep
def test_a_lock_of_forty_seconds_ends_nothing(store: Store, trial: TrialConfig, tmp_path: Path) -> None:
    with locked(tmp_path / "store.db", 40.0):
        store.with_retry(lambda: store.write(points_of(trial, 5), []))
    assert len(store.curves([trial.id])) == 5


def test_after_the_limit_it_is_one_line_and_the_store_is_as_it_was(
    store: Store, trial: TrialConfig, tmp_path: Path
) -> None:
    holder = locked(tmp_path / "store.db", 60.0)
    messages, store.longest_wait = collect_messages(store), 0.3
    with holder, pytest.raises(StoreError, match=r"database is locked \(waited 0.3 s\). What was .* safe") as caught:
        try:
            store.with_retry(lambda: store.write(points_of(trial, 5), []))
        finally:
            holder.kill()
    assert "\n" not in str(caught.value) and not isinstance(caught.value, StoreUnavailable)
    assert messages[1:] == [""] and store.curves([trial.id]) == []
    store.write(points_of(trial, 5), [])


def test_a_command_on_a_locked_store_is_one_line_that_says_to_run_it_again(
    store: Store, trial: TrialConfig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with locked(tmp_path / "store.db", 60.0) as holder:
        [sweep] = store.sweeps()
        assert main(["sweep", "retry", sweep, "--store", store.url]) == 2
        holder.kill()
    assert re.fullmatch(
        r"longwave: The store \S+ cannot be used, another process has locked it: database is locked\. "
        r"Run the command again once that has changed\.\n",
        capsys.readouterr().err,
    )


def test_the_longest_wait_is_set_by_one_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LONGWAVE_STORE_WAIT", "7")
    with Store(f"sqlite:///{tmp_path}/a.db") as store:
        assert store.longest_wait == 7.0
    for wrong in ("soon", "-1", "inf", "nan"):
        monkeypatch.setenv("LONGWAVE_STORE_WAIT", wrong)
        with pytest.raises(ConfigError, match=f"LONGWAVE_STORE_WAIT is a number of seconds, 0 or more, got '{wrong}'"):
            Store(f"sqlite:///{tmp_path}/a.db")


def test_what_waiting_cannot_help_is_tried_once(store: Store) -> None:
    tries: list[int] = []

    def write_nonsense() -> None:
        tries.append(1)
        with store.transaction() as connection:
            connection.exec_driver_sql("INSERT INTO curves VALUES ('no such trial', 1, 0, 0, 0, 0)")

    with pytest.raises(StoreError, match="FOREIGN KEY constraint failed"):
        store.with_retry(write_nonsense)
    with pytest.raises(StoreError, match="no such table: absent"), store.transaction() as connection:
        store.with_retry(lambda: connection.exec_driver_sql("SELECT * FROM absent"))
    assert tries == [1]


def test_a_commit_whose_answer_was_lost_is_done_once(any_store_url: str, open_store: OpenStore) -> None:
    store = open_store(any_store_url)
    trial, messages, lost = recorded_store(store, 4)[-1], collect_messages(store), 0

    def commit_and_lose_the_answer(connection: sa.Connection) -> None:
        nonlocal lost
        if not lost:
            lost += 1
            connection.connection.driver_connection.commit()  # type: ignore[union-attr]
            raise sa.exc.OperationalError("COMMIT", {}, OSError("the answer was lost"), connection_invalidated=True)

    sa.event.listen(store.engine, "commit", commit_and_lose_the_answer)
    store.with_retry(lambda: store.write(points_of(trial, 5), []))
    assert lost == 1 and len(messages) == 2 and "its server does not answer" in messages[0]
    assert store.curves([trial.id]) == points_of(trial, 5)


@pytest.mark.integration
@pytest.mark.parametrize("how", ["restarted", pytest.param("killed", marks=pytest.mark.slow)])  # recovery takes long
def test_a_database_server_that_goes_and_comes_back_loses_nothing(how: str) -> None:
    with stoppable_postgres() as (server, control), Store(server.get_uri()) as store:
        trial, messages = recorded_store(store, 4)[-1], collect_messages(store)
        there = psutil.Process(server.get_pid())
        if how == "restarted":
            control("-w", "-m", "fast", "stop")
        else:
            there.kill()
            there.wait(10)
        comes = threading.Timer(1.0, server.ensure_postgres_running)
        comes.start()
        for epochs in range(1, 6):
            store.with_retry(lambda n=epochs: store.write(points_of(trial, n), []))  # type: ignore[misc]
        comes.join()
        assert store.curves([trial.id]) == points_of(trial, 5)
        assert len(messages) == 2 and "its server does not answer" in messages[0] and messages[1] == ""


def test_a_server_that_refuses_for_good_is_not_waited_for(postgres: Callable[[], str]) -> None:
    url = postgres()
    with Store(url) as store:
        messages = collect_messages(store)
        store.engine.dispose()
        elsewhere = sa.make_url(url).set(database="postgres")
        dropping = sa.create_engine(elsewhere, isolation_level="AUTOCOMMIT")
        with dropping.connect() as connection:
            connection.exec_driver_sql(f"DROP DATABASE {sa.make_url(url).database}")
        dropping.dispose()
        with pytest.raises(StoreError, match='cannot be used: .*database "test[0-9]+" does not exist'):
            store.with_retry(store.tasks)
    assert messages == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 2 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], capture_output=True)
    if done.returncode:
        pytest.skip("only root may mount a small disk")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.integration
def test_a_full_disk_is_waited_for_and_the_store_stays_usable(small_disk: Path) -> None:
    with Store(f"sqlite:///{small_disk}/store.db") as store:
        trials, messages = recorded_store(store, 4), collect_messages(store)
        (small_disk / "other").write_bytes(bytes(shutil.disk_usage(small_disk).free))
        freeing = threading.Timer(0.7, (small_disk / "other").unlink)
        freeing.start()
        for epochs in range(100, 4000, 300):
            store.with_retry(lambda n=epochs: store.write(points_of(trials[-1], n), []))  # type: ignore[misc]
        freeing.join()
        assert any("its disk is full: database or disk is full" in line for line in messages)
        assert len(store.curves([trials[-1].id])) == 3700
    with closing(sqlite3.connect(small_disk / "store.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_folder_that_refuses_for_a_while_is_waited_for(nobodys_folder: Path, be_nobody: BeNobody) -> None:
    folder = nobodys_folder
    with be_nobody(), Store(f"sqlite:///{folder}/store.db") as store:
        trial, messages = recorded_store(store, 4)[-1], collect_messages(store)
        store.engine.dispose()
        folder.chmod(0o500)
        back = threading.Timer(0.7, folder.chmod, [0o700])
        back.start()
        store.with_retry(lambda: store.write(points_of(trial, 5), []))
        back.join()
        assert len(messages) == 2 and "its folder or disk does not allow it" in messages[0]
        assert len(store.curves([trial.id])) == 5
        store.close()
        folder.chmod(0o500)
        start = time.monotonic()
        with pytest.raises(StoreError, match="unable to open|readonly") as caught, Store(store.url) as never:
            never.with_retry(lambda: never.write(points_of(trial, 6), []))
        assert not isinstance(caught.value, StoreUnavailable) and time.monotonic() - start < 60


def test_what_a_url_asks_of_postgresql_stands_beside_what_we_do(postgres: Callable[[], str]) -> None:
    url = postgres()
    Database(url).close()
    own = f"{url}{'&' if '?' in url else '?'}options=-c%20statement_timeout%3D4321"
    for read_only, alone in ((False, "off"), (True, "on")):
        with Database(own, read_only=read_only) as database, database.reading() as connection:
            names = ("statement_timeout", "lock_timeout", "default_transaction_read_only")
            actual = [connection.scalar(sa.text(f"SHOW {name}")) for name in names]
            assert actual == ["4321ms", "5s", alone]
