"""Whether a store is still the one that was opened: the same file, the same tables."""

from __future__ import annotations

import os
import shlex
import sqlite3
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from longwave.files import own_file, own_folder
from longwave.platform.errors import StoreError
from longwave.platform.paths import home
from longwave.platform.storage.engine import REFUSED, without_password

TABLE = sa.text("SELECT CAST(to_regclass('trials') AS oid)")


class StoreIdentity:
    """The identity of a store: of its file, or of its table of trials in PostgreSQL.

    A SQLite file that is deleted or replaced stays open in this process, and would be written to for nobody. A
    PostgreSQL database that is dropped and recreated would be taken for the old one.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine
        self.file = Path(engine.url.database or "") if engine.dialect.name == "sqlite" else None
        self.identity: tuple[int, ...] = ()
        if self.file is None:
            sa.event.listen(engine, "connect", self._check_connection)

    def remember(self) -> None:
        """Take the store that is there now for the right one."""
        if self.file is None:
            with self.engine.begin() as connection:
                self.identity = (connection.scalar(TABLE),)
        else:
            self.identity = _read_identity(self.file)

    def forget(self) -> None:
        """Take any store for the right one, as all connections to this one are closed."""
        self.identity = ()

    def is_lost(self) -> bool:
        """Return whether a SQLite file was deleted or replaced since; takes two millionths of a second."""
        return bool(self.identity) and self.file is not None and _read_identity(self.file) != self.identity

    def save_copy(self) -> Path | None:
        """Write all that a lost SQLite store holds into a new file beside it, through a connection that is still open.

        Returns:
            The file; None where no connection is open, or it cannot be written.
        """
        assert self.file
        if not self.engine.pool.checkedin():  # type: ignore[attr-defined]
            return None
        for folder in (self.file.parent, home()):
            try:
                target = free_file_beside(own_folder(folder) / self.file.name, "saved")
                pooled = self.engine.raw_connection()
                try:
                    with closing(sqlite3.connect(target)) as new:
                        pooled.driver_connection.backup(new)  # type: ignore[union-attr]
                        new.execute("PRAGMA journal_mode = DELETE")  # so that the one file is all of it
                    return target
                finally:
                    pooled.close()
            except (sqlite3.Error, *REFUSED):
                continue
        return None

    def _check_connection(self, connection: Any, _: object) -> None:
        """Compare the table of trials that a new connection to PostgreSQL sees."""
        if self.identity:
            with connection.cursor() as cursor:
                identity = cursor.execute(TABLE.text).fetchone()
            connection.rollback()
            if identity != self.identity:
                raise StoreError(_say_lost(self.engine.url, "was dropped, or made anew"))


def free_file_beside(file: Path, word: str) -> Path:
    """Make an empty file beside ``file``, its owner's alone, under a name that was free: ``results.saved-1.db``."""
    names = (file.with_name(f"{file.stem}.{word}-{k}{file.suffix}") for k in count(1))
    return next(name for name in names if own_file(name))


def explain_loss(file: Path, saved: Path | None) -> str:
    """Return one line about a SQLite store that was lost: what became of it, and how to put it back."""
    there = file.exists()
    line = _say_lost(f"sqlite:///{file}", "was replaced by another file" if there else "was deleted or moved")
    if saved is None:
        return f"{line} Nothing could be saved: restore it from a copy."
    first = f"Move away what is at {file}, then put it back with" if there else "Put it back with"
    old, new, *logs = (shlex.quote(f"{path}") for path in (saved, file, f"{file}-wal", f"{file}-shm"))
    return f"{line} All it held is in {saved}. {first}: rm -f {' '.join(logs)} && mv {old} {new}"


def _say_lost(url: str | sa.URL, how: str) -> str:
    return f"The store {without_password(url)} {how} while it was in use."


def _read_identity(file: Path) -> tuple[int, ...]:
    try:
        status = os.stat(file)
    except OSError:
        return (0,)
    return status.st_dev, status.st_ino
