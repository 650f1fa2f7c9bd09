"""A process that is killed while it creates or upgrades a store bricks nothing and loses nothing."""

from __future__ import annotations

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
from keep_store import KEPT
from next_migration import NEXT, with_next_migration
from tree import ROOT

from longwave.platform.storage.boards import read_board
from longwave.platform.storage.database import Database
from longwave.platform.storage.integrity import describe_damage
from longwave.platform.storage.store import Store

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes are forked and killed")
Opener = Callable[[Path, float | None, Path | None], tuple[int, float]]


@pytest.fixture
def opened() -> Iterator[Opener]:
    """Open a store in a process of its own, killed after some seconds or not: how it ended, and after how long."""
    command = [sys.executable, "-W", "error", str(ROOT / "tests/support/opener.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin and process.stdout
        tell, hear = process.stdin, process.stdout

        def ask(file: Path, seconds: float | None, later: Path | None) -> tuple[int, float]:
            print(json.dumps([f"sqlite:///{file}", seconds, later and str(later)]), file=tell, flush=True)
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


def kill_often(
    opened: Opener, times: int, make: Callable[[Path], Path], folder: Path, later: Path | None = None
) -> Iterator[Path]:
    """Yield stores whose opening was killed, at moments spread over all of the time that it takes."""
    took = min(opened(make(folder / f"whole{k}.db"), None, later)[1] for k in range(2))
    draw, killed = random.Random(times), 0
    for k in range(times):
        file = make(folder / f"{k}.db")
        status, _ = opened(file, took * (k + draw.random()) / times, later)
        assert status in (0, -signal.SIGKILL)
        killed += status != 0
        yield file
    assert killed >= times // 2, f"only {killed} of {times} were killed before they ended"


SHORT_AND_LONG = [6, pytest.param(60, marks=pytest.mark.slow)]


@pytest.mark.integration
@pytest.mark.parametrize("times", SHORT_AND_LONG)
def test_a_kill_while_a_store_is_created_bricks_none(opened: Opener, tmp_path: Path, times: int) -> None:
    Database(f"sqlite:///{tmp_path}/clean.db").close()
    clean = content(tmp_path / "clean.db")
    for file in kill_often(opened, times, lambda path: path, tmp_path):
        assert content(file) == clean


@pytest.mark.integration
@pytest.mark.parametrize("times", SHORT_AND_LONG)
def test_a_kill_while_a_store_of_the_first_release_is_upgraded_loses_nothing(
    opened: Opener, tmp_path: Path, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "older.db").write_bytes(lzma.decompress((KEPT / "0.2.0.sqlite.xz").read_bytes()))
    with Store(f"sqlite:///{tmp_path}/older.db", create=False) as store:
        boards, epochs = read_board(store), store.count()["epochs"]
    older, later = dump(tmp_path / "older.db"), tmp_path / "migrations"

    def copy(path: Path) -> Path:
        return Path(shutil.copy(tmp_path / "older.db", path))

    with_next_migration(later, change=monkeypatch.setattr)
    clean = content(copy(tmp_path / "clean.db"))
    assert sum('INTO "curves"' in line for line in clean) == epochs > 0
    for file in kill_often(opened, times, copy, tmp_path, later):
        backup = file.with_name(f"{file.stem}.before-{NEXT}.db")
        assert not backup.exists() or dump(backup) == older
        assert content(file) == clean
        assert dump(backup) == older
        with Store(f"sqlite:///{file}") as store:
            assert read_board(store) == boards and describe_damage(store.engine) == ""


def dump(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as connection:
        return list(connection.iterdump())
