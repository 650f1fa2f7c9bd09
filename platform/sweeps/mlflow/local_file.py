"""MLflow's SQLite file on this machine: created atomically, checked for damage, and set aside if it is broken."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from urllib.parse import quote

from filelock import FileLock

COMPANIONS = ("", "-journal", "-wal", "-shm")
"""Suffixes of SQLite's companion files. They move with the file: a journal would be replayed into another file."""
HELD = ("runs", "registered_models", "trace_info")
"""Tables of MLflow that have rows if anybody has used it."""


def sqlite_path(server: str) -> Path | None:
    """Return the file of a server that is a SQLite file; None of any other."""
    head, _, file = server.partition(":///")
    return Path(file.partition("?")[0]) if head.partition("+")[0] == "sqlite" and file else None


def create_if_missing(path: Path, make: Callable[[str], object]) -> None:
    """Create MLflow's file if there is none, under another name first, so that a kill leaves none or a whole one.

    Args:
        path: Its path.
        make: Creates a file at a tracking URI.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{path}.lock"):
        if path.exists() and path.stat().st_size:
            return
        making = path.with_name(f"{path.name}.making")
        for file in (making, path):  # remains of a killed attempt, and an empty file at the path
            for ending in COMPANIONS:
                Path(f"{file}{ending}").unlink(missing_ok=True)
        make(f"sqlite:///{making}")
        making.rename(path)


def find_fault(path: Path, opens: bool) -> str:
    """Return what is wrong with MLflow's file: ``damaged``, or ``half made`` if MLflow cannot open it; else "".

    A file that MLflow refuses for another reason, such as one of an older MLflow with runs in it, is not broken.

    Args:
        path: The file.
        opens: Whether MLflow can open it.
    """
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=rw", uri=True, timeout=5)) as connection:
            if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                return "damaged"
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if opens or "experiments" not in tables:
                return ""
            queries = [f"SELECT 1 FROM {table}" for table in HELD if table in tables]  # nosec B608  # names of HELD
            queries.append("SELECT 1 FROM experiments WHERE name <> 'Default'")
            return "" if any(connection.execute(f"{query} LIMIT 1").fetchone() for query in queries) else "half made"
    except sqlite3.OperationalError:  # locked, or cannot be opened: its state is unknown
        return ""
    except sqlite3.DatabaseError:
        return "damaged"


def set_aside(path: Path) -> Path:
    """Rename a broken file and its companions to a free name, and return that."""
    with FileLock(f"{path}.lock"):
        names = (path.with_name(f"{path.stem}.broken-{k}{path.suffix}") for k in count(1))
        kept = next(name for name in names if not any(Path(f"{name}{ending}").exists() for ending in COMPANIONS))
        for ending in reversed(COMPANIONS):
            if (file := Path(f"{path}{ending}")).exists():
                file.rename(f"{kept}{ending}")
    return kept


def is_of_another_program(path: Path) -> bool:
    """Return whether a SQLite file holds the tables of a program other than MLflow."""
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=rw", uri=True, timeout=5)) as connection:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            return bool(tables) and "experiments" not in tables
    except sqlite3.Error:
        return False
