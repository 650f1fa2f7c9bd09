"""What a database holds before it is upgraded: nothing yet, a store, part of one, or what is not ours.

Longwave 0.1 changed the schema outside a transaction, so that a process which was killed left a store half made: some
tables of a new one, some columns and indexes of an upgraded one. Here such a store is told from others, and mended.
"""

from __future__ import annotations

import re

import sqlalchemy as sa

from longwave.platform.errors import StoreError
from longwave.platform.storage.engine import HEAD, recorded, shown
from longwave.platform.storage.schema import Base

WHOLE = "0003"
"""The last version of the time when stores could be left half made."""
COLUMNS = {
    "published": sa.Column("note", sa.Text(), nullable=False, server_default=""),
    "trials": sa.Column("joules", sa.Double()),
}
"""Columns that the versions up to ``WHOLE`` added."""
GONE = {"imports": {"checked"}, "leases": {"expires"}}
"""Columns of older versions that there are no more, by table."""
INDEXES = {
    "ix_trials_task_phase": None,
    "ix_asks_trial": "asks (trial, sweep)",
    "ix_trials_phase_task": "trials (phase, task, model, id, status, seconds)",
}
"""Indexes that they dropped or made."""
TABLES = ("mirrored", "curves", "asks", "trials", "sweeps", "published", "environments", "alembic_version")
"""Tables of that time, children first."""
VERSION = (
    "CREATE TABLE IF NOT EXISTS alembic_version "
    "(version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))",
    "DELETE FROM alembic_version",
    f"INSERT INTO alembic_version VALUES ('{WHOLE}')",  # nosec B608  # a constant
)
"""What records the version, as Alembic does."""


def version_of(connection: sa.Connection) -> str | None:
    """Return the version of a store of this schema or an older one; None if none is recorded.

    Raises:
        StoreError: It is newer, or what the database holds is no store.
    """
    tables, version = recorded(connection)
    place = shown(connection.engine.url)
    tables -= {"alembic_version"}
    if foreign := _foreign(connection, tables, version):
        raise StoreError(f"{place} is not a Longwave store: it has {foreign}. Name another with --store.")
    if version is not None and version > HEAD:
        raise StoreError(f"The store {place} has schema {version}, newer than this Longwave knows. Upgrade longwave.")
    for name in sorted(tables & Base.metadata.tables.keys()):
        unknown = _columns(connection, name) - set(Base.metadata.tables[name].c.keys()) - GONE.get(name, set())
        if unknown:
            raise StoreError(
                f"{place} is not a Longwave store: its table {name} has the column {min(unknown)}. "
                "Name another with --store."
            )
    return version


def mend(connection: sa.Connection, version: str | None) -> None:
    """Make a store of a version before ``WHOLE`` one of that version, or an empty database.

    One without trials and sweeps is dropped, so that it is made anew. One with any had all its tables, as only a whole
    store was ever written to: it gets what it lacks.
    """
    tables, _ = recorded(connection)
    if not tables or (version is not None and version >= WHOLE):
        return
    if not holds_data(connection):
        statements = [f"DROP TABLE IF EXISTS {table}" for table in TABLES]
    else:
        added = [(t, column) for t, column in COLUMNS.items() if column.name not in _columns(connection, t)]
        said = [(t, sa.schema.CreateColumn(column).compile(dialect=connection.dialect)) for t, column in added]
        statements = [f"ALTER TABLE {table} ADD COLUMN {column}" for table, column in said]
        statements += [f"DROP INDEX IF EXISTS {name}" for name in INDEXES]
        statements += [f"CREATE INDEX {name} ON {columns}" for name, columns in INDEXES.items() if columns]
        statements += VERSION
    for statement in statements:
        connection.exec_driver_sql(statement)


def holds_data(connection: sa.Connection) -> bool:
    """Return whether a store has any trial or sweep."""
    tables, _ = recorded(connection)
    return any(
        connection.exec_driver_sql(f"SELECT 1 FROM {table} LIMIT 1").first() is not None  # nosec B608  # two names
        for table in tables & {"trials", "sweeps"}
    )


def _columns(connection: sa.Connection, table: str) -> set[str]:
    return {column["name"] for column in sa.inspect(connection).get_columns(table)}


def _foreign(connection: sa.Connection, tables: set[str], version: str | None) -> str:
    """Return what shows that a database was made by something else; empty if nothing does."""
    if tables and not tables & Base.metadata.tables.keys():
        return f"the table {min(tables)}"
    if version is not None and not re.fullmatch(r"\d{4}", version):
        return f"the version {version}"
    return ""
