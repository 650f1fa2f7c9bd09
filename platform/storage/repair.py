"""Save what is readable of a damaged SQLite store into a new one, row by row. The old one is left as it is."""

from __future__ import annotations

import json
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
    BESIDE,
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
"""Tables that are not saved: a new store has its own published numbers, and nobody writes to it yet."""
MOST_GAPS = 2_000
"""Pieces of a table, one after another, that cannot be read; the rest of it is given up then."""
ROWS = 2**32
"""No table has a row beyond this one."""
UNREADABLE = (sqlite3.Error, UnicodeDecodeError)
"""What reading a damaged file raises; the second where SQLite's own message quotes what is no text any more."""


@dataclass(frozen=True)
class SavedTable:
    """What became of a table: rows that were saved, and that were lost; None where their number is unknown."""

    table: str
    saved: int
    lost: int | None


@dataclass(frozen=True)
class RepairedStore:
    """A store that was saved: its file, what became of each table, and the trials that are to be trained again."""

    file: Path
    tables: tuple[SavedTable, ...]
    again: tuple[str, ...]


def repair_store(old: Path, to: Path | None = None) -> RepairedStore:
    """Save what is readable and right of the store ``old`` into a new one.

    A trial whose plan is not what its checksum says is lost; one whose record is not is planned anew. A sweep that is
    not what its checksum says is lost, but not its trials. An environment whose facts are not those that gave it its
    name is lost, and trials that name it are planned anew. Epochs of trials that had not ended cannot be checked, and
    are left out: they are trained from the start.

    Args:
        old: A SQLite file, with its log beside it, if any.
        to: The new file; by default one beside the old: ``results.repaired-1.db``.

    Raises:
        StoreError: There is no such file, or one at ``to``; or nothing can be written there.
    """
    if not old.is_file():
        raise StoreError(f"There is no store to repair at {old}.")
    if to is not None and to.exists():
        raise StoreError(f"{to} already exists. Name another file with --to.")
    with tempfile.TemporaryDirectory(dir=old.parent, prefix=".repair-") as folder:
        copy = Path(folder) / old.name
        for end in ("", "-wal"):
            with suppress(FileNotFoundError):
                shutil.copyfile(f"{old}{end}", f"{copy}{end}")
        new = to or free_file_beside(old, "repaired")
        with Database(f"sqlite:///{new}") as database:
            _replace_header(copy, new)
            return RepairedStore(new, *_copy_tables(database, copy))


def _copy_tables(database: Database, copy: Path) -> tuple[tuple[SavedTable, ...], tuple[str, ...]]:
    tables = [t for t in Base.metadata.sorted_tables if t.name not in LEFT_OUT]
    with closing(sqlite3.connect(copy)) as old, closing(sqlite3.connect(database.engine.url.database or "")) as new:
        old.execute("PRAGMA writable_schema = ON")  # has SQLite read a file that was cut off, and a schema in part
        old.row_factory = sqlite3.Row
        old.text_factory = lambda raw: raw.decode(errors="replace")
        counted = {table.name: _count_rows(old, table.name) for table in tables}
        with new:
            for table in tables:
                _copy_table(old, new, table)
    with database.transaction() as connection:
        again = _keep_only_right(connection)
        counts = {t.name: connection.scalar(sa.select(sa.func.count()).select_from(t)) or 0 for t in tables}
    lost = {name: None if n is None else max(0, n - counts[name]) for name, n in counted.items()}
    return tuple(SavedTable(name, counts[name], lost[name]) for name in counts), tuple(again)


def _replace_header(copy: Path, new: Path) -> None:
    """Give a copy that SQLite takes for no database the header that all stores have, with its own count of pages."""
    with closing(sqlite3.connect(copy)) as old, suppress(*UNREADABLE):
        old.execute("SELECT 1 FROM sqlite_master").fetchone()
        return
    with closing(sqlite3.connect(new)) as sound:
        sound.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with new.open("rb") as sound_file, copy.open("r+b") as file:
        header = bytearray(sound_file.read(100))
        size = int.from_bytes(header[16:18])
        header[28:32] = (copy.stat().st_size // size).to_bytes(4)
        header[32:40] = bytes(8)  # no list of free pages, which only a writer asks for
        header[92:96] = header[24:28]  # the count of pages holds for this count of changes
        file.write(header)


def _count_rows(old: sqlite3.Connection, table: str) -> int | None:
    """Return how many rows a table has, 0 if there is no such table; None where that cannot be read."""
    try:
        if old.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)).fetchone() is None:
            return 0
        return int(old.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0])  # nosec B608  # our own names
    except UNREADABLE:
        return None


def _copy_table(old: sqlite3.Connection, new: sqlite3.Connection, table: sa.Table) -> None:
    """Copy the rows of a table that can be read and that the new one takes."""
    for row in _readable_rows(old, table.name):
        values = {name: row[name] for name in row.keys() if name in table.c}  # noqa: SIM118, rows of sqlite3
        if not _has_its_types(table, values):
            continue
        names, marks = ", ".join(f'"{name}"' for name in values), ", ".join("?" * len(values))
        with suppress(sqlite3.Error):
            query = f'INSERT INTO "{table.name}" ({names}) VALUES ({marks})'  # nosec B608  # our own names
            new.execute(query, list(values.values()))


def _readable_rows(old: sqlite3.Connection, table: str) -> Iterator[sqlite3.Row]:
    """Yield the rows of a table that can be read, each once: a piece that cannot is looked at in halves."""
    columns = f'rowid AS "rowid_", * FROM "{table}"'
    query = f"SELECT {columns} WHERE rowid BETWEEN ? AND ? ORDER BY rowid"  # nosec B608  # our own names
    pieces, gaps = [(0, ROWS)], 0
    while pieces and gaps < MOST_GAPS:
        low, high = pieces.pop()
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
            pieces += [(middle + 1, high), (last + 1, middle)]


def _has_its_types(table: sa.Table, row: Mapping[str, Any]) -> bool:
    """Return whether each value is of its column's kind: SQLite takes any value in any column."""
    fits: type | tuple[type, ...]
    for name, value in row.items():
        kind = table.c[name].type
        if value is None:
            continue
        if isinstance(kind, sa.JSON):
            value, fits = _parse_value(json.loads, value), dict
        elif isinstance(kind, UTCTime):
            value, fits = _parse_value(datetime.fromisoformat, value), datetime
        elif isinstance(kind, sa.String):
            fits = str
        else:
            fits = (int, float) if isinstance(kind, sa.Float) else int if isinstance(kind, sa.Integer) else object
        if not isinstance(value, fits) or "\ufffd" in str(value):
            return False
    return True


def _parse_value(parse: Callable[[Any], object], value: object) -> object:
    try:
        return parse(value)
    except (ValueError, TypeError, RecursionError):
        return None


def _keep_only_right(connection: sa.Connection) -> list[str]:
    """Delete what is not right, or belongs to what is lost; return the trials that are to be trained again."""
    t = TrialRow
    connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
    wrong = find_mismatches(connection)
    environments = find_damaged_environments(connection)
    where_unknown = connection.scalars(sa.select(t.id).where(t.environment.in_(environments)))
    wrong = {**dict.fromkeys(where_unknown, True), **wrong}
    _delete_rows(connection, t.__table__.c.id, [trial for trial, plan_is_right in wrong.items() if not plan_is_right])
    delete_damaged_rows(connection)
    _delete_orphans(connection)
    anew = sa.or_(t.id.in_(list(wrong)), t.status.not_in(ENDED))
    again = list(connection.scalars(sa.select(t.id).where(anew, t.status != "planned").order_by(t.id)))
    open_now = list(connection.scalars(sa.select(t.id).where(anew).order_by(t.id)))
    for part in split_ids(open_now):
        connection.execute(sa.update(t).where(in_clause(t.id, part)).values(BLANK_TRIAL))
    for table in BESIDE:
        _delete_rows(connection, table.c.trial, open_now)
    _delete_rows(connection, EnvironmentRow.__table__.c.id, environments)
    write_checksums(connection, open_now)
    return again


def _delete_rows(connection: sa.Connection, column: Any, keys: Sequence[str]) -> None:
    for part in split_ids(keys):
        connection.execute(sa.delete(column.table).where(in_clause(column, part)))


def _delete_orphans(connection: sa.Connection) -> None:
    """Delete rows whose parent is not there, children of these too."""
    while wrong := connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall():
        for table, row, _, _ in wrong:
            query = f'DELETE FROM "{table}" WHERE rowid = ?'  # nosec B608  # our own names
            connection.exec_driver_sql(query, (row,))
