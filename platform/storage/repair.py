"""Copies what is readable of a damaged SQLite store into a new one, row by row. The old one is not changed."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from longwave.platform.errors import StoreError
from longwave.platform.records.run import ENDED
from longwave.platform.storage.base import UTCTime
from longwave.platform.storage.checksums import (
    TRIAL_TABLES,
    delete_damaged_rows,
    find_damaged_environments,
    find_mismatches,
    write_checksums,
)
from longwave.platform.storage.database import Database
from longwave.platform.storage.in_clause import in_clause, split_ids
from longwave.platform.storage.schema import BLANK_TRIAL, Base, EnvironmentRow, TrialRow
from longwave.platform.storage.store_identity import free_file_beside

LEFT_OUT = ("published", "leases", "drivers")
"""Tables that are not copied: a new store has its own published numbers, and no driver yet."""
MAX_GAPS = 2_000
"""Consecutive ranges of a table that cannot be read, after which the remaining rows are given up."""
MAX_ROW_ID = 2**32
"""Greatest row id that a table may have."""
INVALID_BYTE = re.compile("[\udc80-\udcff]")
"""A byte that is not UTF-8, as ``surrogateescape`` decodes it."""
UNREADABLE = (sqlite3.Error, UnicodeDecodeError)
"""Exceptions from reading a damaged file; the second if SQLite's own message quotes damaged text."""


@dataclass(frozen=True)
class SavedTable:
    """A repaired table: its rows saved and rows lost; None if their number is unknown."""

    table: str
    saved: int
    lost: int | None


@dataclass(frozen=True)
class RepairedStore:
    """A repaired store: its file, its tables, and the trials that must be trained again."""

    file: Path
    tables: tuple[SavedTable, ...]
    again: tuple[str, ...]


def repair_store(old: Path, to: Path | None = None) -> RepairedStore:
    """Copy what is readable and intact of the store ``old`` into a new one.

    A trial whose plan does not match its checksum is lost; if only its record does not, it is planned again. A sweep
    that does not match its checksum is lost, but its trials are kept. An environment whose facts do not match its name
    is lost, and the trials that ran in it are planned again. Epochs of unfinished trials cannot be checked and are left
    out, so these trials start from scratch.

    Args:
        old: A SQLite file, with its write-ahead log in the same folder, if any.
        to: The new file; by default one in the same folder: ``results.repaired-1.db``.

    Raises:
        StoreError: There is no such file, ``to`` exists already, or nothing can be written there.
    """
    if not old.is_file():
        raise StoreError(f"There is no store to repair at {old}.")
    if to is not None and to.exists():
        raise StoreError(f"{to} already exists. Name another file with --to.")
    with tempfile.TemporaryDirectory(dir=old.parent, prefix=".repair-") as folder:
        copy = Path(folder) / old.name
        for suffix in ("", "-wal"):
            with suppress(FileNotFoundError):
                shutil.copyfile(f"{old}{suffix}", f"{copy}{suffix}")
        new = to or free_file_beside(old, "repaired")
        with Database(f"sqlite:///{new}") as database:
            _replace_header(copy, new)
            return RepairedStore(new, *_copy_tables(database, copy))


def _copy_tables(database: Database, copy: Path) -> tuple[tuple[SavedTable, ...], tuple[str, ...]]:
    tables = [t for t in Base.metadata.sorted_tables if t.name not in LEFT_OUT]
    with closing(sqlite3.connect(copy)) as old, closing(sqlite3.connect(database.engine.url.database or "")) as new:
        old.execute("PRAGMA writable_schema = ON")  # lets SQLite read a truncated file, and an incomplete schema
        old.row_factory = sqlite3.Row
        old.text_factory = lambda raw: raw.decode(errors="surrogateescape")
        old_counts = {table.name: _count_rows(old, table.name) for table in tables}
        with new:
            for table in tables:
                _copy_table(old, new, table)
    with database.transaction() as connection:
        to_retrain = _delete_damage(connection)
        new_counts = {t.name: connection.scalar(sa.select(sa.func.count()).select_from(t)) or 0 for t in tables}
    lost = {name: None if n is None else max(0, n - new_counts[name]) for name, n in old_counts.items()}
    return tuple(SavedTable(name, new_counts[name], lost[name]) for name in new_counts), tuple(to_retrain)


def _replace_header(copy: Path, new: Path) -> None:
    """If SQLite does not recognise a copy as a database, give it the header of a new store, with its own page count."""
    with closing(sqlite3.connect(copy)) as old, suppress(*UNREADABLE):
        old.execute("SELECT 1 FROM sqlite_master").fetchone()
        return
    with closing(sqlite3.connect(new)) as new_store:
        new_store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with new.open("rb") as new_file, copy.open("r+b") as file:
        header = bytearray(new_file.read(100))
        size = int.from_bytes(header[16:18])
        header[28:32] = (copy.stat().st_size // size).to_bytes(4)
        header[32:40] = bytes(8)  # no list of free pages, which only writing needs
        header[92:96] = header[24:28]  # the page count is valid for this change counter
        file.write(header)


def _count_rows(old: sqlite3.Connection, table: str) -> int | None:
    """Return how many rows a table has, 0 if there is no such table; None if that cannot be read."""
    try:
        if old.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)).fetchone() is None:
            return 0
        return int(old.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0])  # nosec B608  # our own names
    except UNREADABLE:
        return None


def _copy_table(old: sqlite3.Connection, new: sqlite3.Connection, table: sa.Table) -> None:
    """Copy the readable rows of a table that the new one accepts."""
    for row in _readable_rows(old, table.name):
        values = {name: row[name] for name in row.keys() if name in table.c}  # noqa: SIM118, rows of sqlite3
        if not _has_its_types(table, values):
            continue
        names, marks = ", ".join(f'"{name}"' for name in values), ", ".join("?" * len(values))
        with suppress(sqlite3.Error):
            query = f'INSERT INTO "{table.name}" ({names}) VALUES ({marks})'  # nosec B608  # our own names
            new.execute(query, list(values.values()))


def _readable_rows(old: sqlite3.Connection, table: str) -> Iterator[sqlite3.Row]:
    """Yield the readable rows of a table, each once: a range that cannot be read is split in halves."""
    columns = f'rowid AS "rowid_", * FROM "{table}"'
    query = f"SELECT {columns} WHERE rowid BETWEEN ? AND ? ORDER BY rowid"  # nosec B608  # our own names
    ranges, gaps = [(0, MAX_ROW_ID)], 0
    while ranges and gaps < MAX_GAPS:
        low, high = ranges.pop()
        last = low - 1
        try:
            for row in old.execute(query, (low, high)):
                if not last < row["rowid_"] <= high:
                    break
                last, gaps = row["rowid_"], 0
                yield row
            else:
                continue
        except UNREADABLE as error:
            if getattr(error, "sqlite_errorname", "") in (
                "SQLITE_NOTADB",
                "SQLITE_ERROR",
            ):  # no database, or no such table
                return
        gaps += 1
        if low < high and last < high:
            middle = (last + 1 + high) // 2
            ranges += [(middle + 1, high), (last + 1, middle)]


def _has_its_types(table: sa.Table, row: Mapping[str, Any]) -> bool:
    """Return whether each value has its column's type, which SQLite does not enforce."""
    expected: type | tuple[type, ...]
    for name, value in row.items():
        column_type = table.c[name].type
        if value is None:
            continue
        if isinstance(value, str) and INVALID_BYTE.search(value):
            return False
        if isinstance(column_type, sa.JSON):
            value, expected = _parse_value(json.loads, value), dict
        elif isinstance(column_type, UTCTime):
            value, expected = _parse_value(datetime.fromisoformat, value), datetime
        elif isinstance(column_type, sa.String):
            expected = str
        elif isinstance(column_type, sa.Float):
            expected = int, float
        else:
            expected = int if isinstance(column_type, sa.Integer) else object
        if not isinstance(value, expected):
            return False
    return True


def _parse_value(parse: Callable[[Any], object], value: object) -> object:
    try:
        return parse(value)
    except (ValueError, TypeError, RecursionError):
        return None


def _delete_damage(connection: sa.Connection) -> list[str]:
    """Delete damaged rows, and rows that belong to lost ones; return the trials that must be trained again."""
    t = TrialRow
    connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
    damaged = find_mismatches(connection)
    environments = find_damaged_environments(connection)
    without_environment = connection.scalars(sa.select(t.id).where(in_clause(t.environment, environments)))
    damaged = {**dict.fromkeys(without_environment, True), **damaged}
    lost = [trial for trial, plan_is_intact in damaged.items() if not plan_is_intact]
    _delete_rows(connection, t.__table__.c.id, lost)
    delete_damaged_rows(connection)
    _delete_orphans(connection)
    is_reset = sa.or_(in_clause(t.id, damaged), t.status.not_in(ENDED))
    to_retrain = list(connection.scalars(sa.select(t.id).where(is_reset, t.status != "planned").order_by(t.id)))
    reset = list(connection.scalars(sa.select(t.id).where(is_reset).order_by(t.id)))
    for part in split_ids(reset):
        connection.execute(sa.update(t).where(in_clause(t.id, part)).values(BLANK_TRIAL))
    for table in TRIAL_TABLES:
        _delete_rows(connection, table.c.trial, reset)
    _delete_rows(connection, EnvironmentRow.__table__.c.id, environments)
    write_checksums(connection, reset)
    return to_retrain


def _delete_rows(connection: sa.Connection, column: Any, keys: Sequence[str]) -> None:
    for part in split_ids(keys):
        connection.execute(sa.delete(column.table).where(in_clause(column, part)))


def _delete_orphans(connection: sa.Connection) -> None:
    """Delete rows whose parent is missing, and then their own children."""
    while orphans := connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall():
        for table, row, _, _ in orphans:
            query = f'DELETE FROM "{table}" WHERE rowid = ?'  # nosec B608  # our own names
            connection.exec_driver_sql(query, (row,))
