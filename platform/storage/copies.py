"""Copies of a store, kept before it is upgraded."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import sqlalchemy as sa

from longwave.files import whole
from longwave.platform.storage.schema import Base


def keep_copy(connection: sa.Connection, version: str) -> str:
    """Keep a copy of a store as it is before the upgrade to ``version``, if there is none yet; return where it is.

    For ``results.db`` it is the file ``results.before-0004.db`` beside it, whole or not there. In PostgreSQL it is the
    schema ``longwave_before_0004``, made in the transaction of ``connection``: should the upgrade fail, it goes with
    it, and the place returned is empty.

    Args:
        connection: In a transaction that writes, which has written nothing yet.
        version: What the store is brought to.
    """
    if connection.dialect.name == "postgresql":
        _keep_tables(connection, f"longwave_before_{version}")
        return ""
    file = Path(connection.engine.url.database or "")
    copy = file.with_name(f"{file.stem}.before-{version}{file.suffix}")
    if not copy.exists():
        # A second connection reads what was last committed; the transaction of the first keeps all others from writing.
        with (
            whole(copy, private=True) as partial,
            closing(sqlite3.connect(file)) as old,
            closing(sqlite3.connect(partial)) as new,
        ):
            old.backup(new)
    return str(copy)


def _keep_tables(connection: sa.Connection, schema: str) -> None:
    inspector = sa.inspect(connection)
    if schema in inspector.get_schema_names():
        return
    connection.exec_driver_sql(f"CREATE SCHEMA {schema}")
    for table in sorted({*Base.metadata.tables, "alembic_version"} & set(inspector.get_table_names())):
        connection.exec_driver_sql(f"CREATE TABLE {schema}.{table} (LIKE {table} INCLUDING ALL)")
        connection.exec_driver_sql(f"INSERT INTO {schema}.{table} SELECT * FROM {table}")  # nosec B608  # our own names
