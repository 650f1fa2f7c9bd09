"""Counts and replaces passwords in stores that were written before passwords were redacted."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from typing import Any

import sqlalchemy as sa

from longwave.platform.records.identity import digest
from longwave.platform.redaction import find_secrets, redact_code, redact_document
from longwave.platform.storage.base import Base
from longwave.platform.storage.checksums import (
    CHECKED,
    TRIALS,
    find_damaged_rows,
    find_mismatches,
    write_checksums,
    write_row_checksums,
)
from longwave.platform.storage.database import Database, insert_new
from longwave.platform.storage.schema import EnvironmentRow, PatchRow, PublishedRow

ENVIRONMENTS, PATCHES = (Base.metadata.tables[row.__tablename__] for row in (EnvironmentRow, PatchRow))
BY_CONTENT = (ENVIRONMENTS, PATCHES)
"""Tables whose rows are named by the digest of their content."""
FIXED = ("config", "checksum")
"""Columns that cannot be changed: the first determines a trial's id, and the second follows from the others."""


def count_secrets(store: Database) -> int:
    """Return how many texts of a store may contain a password."""
    with store.reading() as connection:
        return _count(connection, _rows_with_secrets(connection))


def remove_secrets(store: Database) -> int:
    """Replace what may be a password by ``***``, in one transaction, and return how many texts that changed.

    Rows that match their checksums get new ones; damaged rows stay damaged. A SQLite file is rewritten afterwards,
    since the old texts stay in its free space.
    """
    with store.transaction() as connection:
        rows = list(_rows_with_secrets(connection))
        if not (count := _count(connection, rows)):
            return 0
        damaged, changed = find_mismatches(connection), set[str]()
        damaged_rows = [(table, _key(table, row._mapping)) for table, row in find_damaged_rows(connection)]
        damaged_rows += [(TRIALS, (trial,)) for trial in damaged]
        for table, row in rows:
            keys = [column == row[column.name] for column in table.primary_key]
            new = {name: redact_document(row[name]) for name in row if name not in table.primary_key}
            if table in (TRIALS, *CHECKED.values()) and (table, _key(table, row)) not in damaged_rows:
                new["checksum"] = ""  # written anew below
            connection.execute(sa.update(table).where(*keys).values(new))
            changed |= {row["id"]} if table is TRIALS else {row["trial"]} if "trial" in row else set()
        changed |= _rename_environments(connection, _rename_patches(connection))
        write_checksums(connection, sorted(changed - damaged.keys()))
        for of in CHECKED:
            write_row_checksums(connection, of)
    if store.engine.dialect.name == "sqlite":
        store.engine.dispose()
        with closing(sqlite3.connect(store.engine.url.database or "")) as file:
            file.execute("VACUUM")
            file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return count


def _key(table: sa.Table, row: Mapping[str, Any] | sa.RowMapping) -> tuple[Any, ...]:
    return tuple(row[column.name] for column in table.primary_key)


def _count(connection: sa.Connection, rows: Iterable[tuple[sa.Table, dict[str, Any]]]) -> int:
    """Return how many texts must be changed in ``rows``, environments and patches."""
    in_rows = sum(len([*find_secrets(row)]) for _, row in rows)
    facts = sum(len([*find_secrets(facts)]) for facts in connection.scalars(sa.select(ENVIRONMENTS.c.facts)))
    patches = connection.scalars(sa.select(PATCHES.c.text))
    return in_rows + facts + sum(1 for text in patches if redact_code(text) != text)


def _rows_with_secrets(connection: sa.Connection) -> Iterator[tuple[sa.Table, dict[str, Any]]]:
    """Yield the texts of rows that must be changed, with their keys, from all tables except ``BY_CONTENT``."""
    for table in Base.metadata.sorted_tables:
        texts = [column for column in table.c if isinstance(column.type, sa.String | sa.JSON)]
        texts = [c for c in texts if not (c.primary_key or c.foreign_keys or c.name in FIXED)]
        if texts and table not in (*BY_CONTENT, PublishedRow.__table__):
            for row in connection.execute(sa.select(*table.primary_key, *texts)).mappings():
                if any(True for _ in find_secrets({column.name: row[column.name] for column in texts})):
                    yield table, {**row}


def _rename_patches(connection: sa.Connection) -> dict[str, str]:
    """Write patches without secrets under new names; return the new names by the old ones."""
    renamed: dict[str, str] = {}
    for line in connection.execute(sa.select(PATCHES)).all():
        if (text := redact_code(line.text)) != line.text:
            renamed[line.id] = digest({"patch": text})
            insert_new(connection, PatchRow, [{"id": renamed[line.id], "text": text}])
            connection.execute(sa.delete(PATCHES).where(PATCHES.c.id == line.id))
    return renamed


def _rename_environments(connection: sa.Connection, patches: Mapping[str, str]) -> set[str]:
    """Write environments without secrets under new names; return the trials that ran in them."""
    changed: set[str] = set()
    for line in connection.execute(sa.select(ENVIRONMENTS)).all():
        facts = redact_document(line.facts)
        facts |= {"diff": patches[facts["diff"]]} if facts.get("diff") in patches else {}
        if facts != line.facts:
            new, ran_there = digest(facts), TRIALS.c.environment == line.id
            insert_new(connection, EnvironmentRow, [{"id": new, "facts": facts}])
            changed |= set(connection.scalars(sa.select(TRIALS.c.id).where(ran_there)))
            connection.execute(sa.update(TRIALS).where(ran_there).values(environment=new))
            connection.execute(sa.delete(ENVIRONMENTS).where(ENVIRONMENTS.c.id == line.id))
    return changed
