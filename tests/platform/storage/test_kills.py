"""A process that is killed while it creates or upgrades a store bricks nothing and loses nothing."""

from __future__ import annotations

import itertools
import json
import lzma
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from database_rows import read_rows
from keep_store import STORES, fill
from next_migration import NEXT, with_next_migration
from tree import ROOT

from longwave.platform.storage.boards import read_board
from longwave.platform.storage.database import Database
from longwave.platform.storage.integrity import describe_damage
from longwave.platform.storage.store import Store

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes are forked and killed")
Opener = Callable[[str, float | None, Path | None], tuple[int, float]]


@pytest.fixture
def opened() -> Iterator[Opener]:
    """Open a store in a process of its own, killed after some seconds or not: how it ended, and after how long."""
    command = [sys.executable, "-W", "error", str(ROOT / "tests/support/opener.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin and process.stdout
        tell, hear = process.stdin, process.stdout

        def ask(url: str, seconds: float | None, later: Path | None) -> tuple[int, float]:
            print(json.dumps([url, seconds, later and str(later)]), file=tell, flush=True)
            status, took = json.loads(hear.readline())
            return status, took

        yield ask


def content(file: Path) -> list[str]:
    """Return all that a store holds but the moments at which its rows were written."""
    Database(f"sqlite:///{file}").close()
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        return sorted(connection.iterdump())


def kill_often(opened: Opener, times: int, make: Callable[[], str], later: Path | None = None) -> Iterator[str]:
    """Yield stores whose opening was killed, at moments spread over all of the time that it takes."""
    took = min(opened(make(), None, later)[1] for _ in range(2))
    draw, killed = random.Random(times), 0
    for k in range(times):
        url = make()
        status, _ = opened(url, took * (k + draw.random()) / times, later)
        assert status in (0, -signal.SIGKILL)
        killed += status != 0
        yield url
    assert killed >= times // 2, f"only {killed} of {times} were killed before they ended"


SHORT_AND_LONG = [6, pytest.param(60, marks=pytest.mark.slow)]


@pytest.mark.integration
@pytest.mark.parametrize("times", SHORT_AND_LONG)
def test_a_kill_while_a_store_is_created_bricks_none(opened: Opener, tmp_path: Path, times: int) -> None:
    Database(f"sqlite:///{tmp_path}/clean.db").close()
    clean = content(tmp_path / "clean.db")
    files = (tmp_path / f"{k}.db" for k in itertools.count())
    for url in kill_often(opened, times, lambda: f"sqlite:///{next(files)}"):
        assert content(Path(url.removeprefix("sqlite:///"))) == clean


@pytest.mark.integration
@pytest.mark.parametrize("times", SHORT_AND_LONG)
def test_a_kill_while_a_store_of_the_first_release_is_upgraded_loses_nothing(
    opened: Opener, tmp_path: Path, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "older.db").write_bytes(lzma.decompress((STORES / "0.2.0.sqlite.xz").read_bytes()))
    with Store(f"sqlite:///{tmp_path}/older.db", create=False) as store:
        boards, epochs = read_board(store), store.count()["epochs"]
    older, later = dump(tmp_path / "older.db"), tmp_path / "migrations"

    files = (tmp_path / f"{k}.db" for k in itertools.count())

    def copy() -> str:
        return f"sqlite:///{shutil.copy(tmp_path / 'older.db', next(files))}"

    with_next_migration(later, change=monkeypatch.setattr)
    clean = content(Path(shutil.copy(tmp_path / "older.db", tmp_path / "clean.db")))
    assert sum('INTO "curves"' in line for line in clean) == epochs > 0
    for url in kill_often(opened, times, copy, later):
        file = Path(url.removeprefix("sqlite:///"))
        backup = file.with_name(f"{file.stem}.before-{NEXT}.db")
        assert not backup.exists() or dump(backup) == older
        assert content(file) == clean
        assert dump(backup) == older
        with Store(url) as store:
            assert read_board(store) == boards and describe_damage(store.engine) == ""


def dump(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as connection:
        return list(connection.iterdump())


@pytest.mark.integration
@pytest.mark.parametrize("times", SHORT_AND_LONG)
def test_a_kill_while_a_postgresql_store_is_created_bricks_none(
    opened: Opener, postgres: Callable[[], str], times: int
) -> None:
    Database(clean := postgres()).close()
    for url in kill_often(opened, times, postgres):
        Database(url).close()
        assert read_rows(url) == read_rows(clean)


@pytest.mark.integration
@pytest.mark.parametrize("times", SHORT_AND_LONG)
def test_a_kill_while_a_postgresql_store_is_upgraded_loses_nothing(
    opened: Opener, postgres: Callable[[], str], tmp_path: Path, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server goes on with a statement of a client that is gone, and takes back all of it."""
    older, names = postgres(), (f"upgraded{k}" for k in itertools.count())
    with Store(older) as store:
        fill(store)
        boards = read_board(store)
    before = read_rows(older)

    def copy() -> str:
        name, engine = next(names), sa.create_engine(postgres(), isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.exec_driver_sql(f"CREATE DATABASE {name} TEMPLATE {sa.make_url(older).database}")
        engine.dispose()
        return sa.make_url(older).set(database=name).render_as_string(hide_password=False)

    with_next_migration(later := tmp_path / "migrations", change=monkeypatch.setattr)
    Database(clean := copy()).close()
    after = read_rows(clean)
    assert len(after["trials"]) == len(before["trials"]) > 0 and after["trials"] != before["trials"]
    for url in kill_often(opened, times, copy, later):
        Database(url).close()
        assert read_rows(url) == after
        assert read_rows(url, f"longwave_before_{NEXT}") == before
        with Store(url) as store:
            assert read_board(store) == boards and describe_damage(store.engine) == ""
