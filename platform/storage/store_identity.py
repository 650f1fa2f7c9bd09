"""Notices when an open store is deleted or replaced: whether it is still the same file, or the same tables."""

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

    A SQLite file that is deleted or replaced stays open in this process, whose writes would be lost. A PostgreSQL
    database that is dropped and recreated would be mistaken for the old one.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine
        self.file = Path(engine.url.database or "") if engine.dialect.name == "sqlite" else None
        self.identity: tuple[int, ...] = ()
        if self.file is None:
            sa.event.listen(engine, "connect", self._check_connection)

    def remember(self) -> None:
        """Remember the present store as the right one."""
        if self.file is None:
            with self.engine.begin() as connection:
                self.identity = (connection.scalar(TABLE),)
        else:
            self.identity = _read_identity(self.file)

    def forget(self) -> None:
        """Accept any store from now on; called when all connections are closed."""
        self.identity = ()

    def is_lost(self) -> bool:
        """Return whether a SQLite file was deleted or replaced since; takes 2 µs."""
        return bool(self.identity) and self.file is not None and _read_identity(self.file) != self.identity

    def save_copy(self) -> Path | None:
        """Copy a lost SQLite store, through a connection that is still open, into a new file.

        Returns:
            The file, in the same folder or else in ``home()``; None if no connection is open, or it cannot be written.
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
                        new.execute("PRAGMA journal_mode = DELETE")  # so that everything is in this one file
                    return target
                finally:
                    pooled.close()
            except (sqlite3.Error, *REFUSED):
                continue
        return None

    def _check_connection(self, connection: Any, _: object) -> None:
        """Check that a new connection to PostgreSQL sees the same table of trials."""
        if self.identity:
            with connection.cursor() as cursor:
                identity = cursor.execute(TABLE.text).fetchone()
            connection.rollback()
            if identity != self.identity:
                raise StoreError(_say_lost(self.engine.url, "was dropped or recreated"))


def free_file_beside(file: Path, label: str) -> Path:
    """Create an empty file beside ``file``, private to its owner, under an unused name: ``results.saved-1.db``."""
    names = (file.with_name(f"{file.stem}.{label}-{k}{file.suffix}") for k in count(1))
    return next(name for name in names if own_file(name))


def explain_loss(file: Path, saved: Path | None) -> str:
    """Return one line about a lost SQLite store: what happened to it, and how to restore it."""
    is_replaced = file.exists()
    line = _say_lost(f"sqlite:///{file}", "was replaced by another file" if is_replaced else "was deleted or moved")
    if saved is None:
        return f"{line} Nothing could be saved: restore it from a copy."
    advice = f"Move away what is at {file}, then put it back with" if is_replaced else "Put it back with"
    old, new, *logs = (shlex.quote(f"{path}") for path in (saved, file, f"{file}-wal", f"{file}-shm"))
    return f"{line} Its contents were saved in {saved}. {advice}: rm -f {' '.join(logs)} && mv {old} {new}"


def _say_lost(url: str | sa.URL, how: str) -> str:
    return f"The store {without_password(url)} {how} while it was in use."


def _read_identity(file: Path) -> tuple[int, ...]:
    try:
        status = os.stat(file)
    except OSError:
        return (0,)
    return status.st_dev, status.st_ino
