"""Creates a store, or upgrades it to the current schema, in one transaction."""

from __future__ import annotations

import sqlite3
from contextlib import closing, nullcontext
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from filelock import FileLock

from longwave.files import atomic_file
from longwave.platform.errors import StoreError
from longwave.platform.literature.published import published_rows
from longwave.platform.storage.engine import REFUSED, enable_wal, short_cause, without_password, writing_engine
from longwave.platform.storage.schema import Base, PublishedRow
from longwave.platform.storage.versions import HEAD, read_version

LOCK = 7011983
"""Key of the advisory lock in PostgreSQL under which a store is created or upgraded."""
MIGRATIONS = Path(__file__).parent / "migrations"


def upgrade_store(engine: sa.Engine) -> None:
    """Upgrade the schema and write the published numbers; one process at a time.

    An older store is copied first: a SQLite file ``results.db`` to ``results.before-0016.db`` in the same folder, a
    PostgreSQL database to the schema ``longwave_before_0016``. An existing copy is kept.

    Raises:
        StoreError: ``read_version`` refuses it, or it cannot be migrated. Nothing is changed.
    """
    file = engine.url.database if engine.dialect.name == "sqlite" else None
    with FileLock(f"{file}.lock", mode=0o600) if file else nullcontext():
        enable_wal(engine)
        copy = ""
        try:
            with writing_engine(engine).begin() as connection:
                if file is None:
                    connection.execute(sa.text("SET LOCAL lock_timeout = 0"))  # an upgrade may take minutes
                    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(LOCK)))
                if (version := read_version(connection)) == HEAD:
                    return
                copy = _keep_copy(connection) if version else ""
                _run_migrations(connection)
                connection.execute(sa.delete(PublishedRow))
                connection.execute(sa.insert(PublishedRow), [*published_rows()])
        except (StoreError, *REFUSED) as error:
            copy_note = f" A copy of it is at {copy}." if copy else ""
            raise StoreError(
                f"The store {without_password(engine.url)} cannot be upgraded to schema {HEAD}, and is unchanged."
                f"{copy_note} {short_cause(error)}"
            ) from error


def _keep_copy(connection: sa.Connection) -> str:
    """Copy a store, in a transaction that has written nothing yet, unless there is a copy; return the copy's file.

    In PostgreSQL the copy is part of the transaction, and is rolled back if the upgrade fails; "" is returned.
    """
    if connection.dialect.name == "postgresql":
        _copy_tables(connection, f"longwave_before_{HEAD}")
        return ""
    file = Path(connection.engine.url.database or "")
    copy = file.with_name(f"{file.stem}.before-{HEAD}{file.suffix}")
    if not copy.exists():
        # A second connection reads what was last committed; the first one's transaction keeps others from writing.
        with (
            atomic_file(copy, private=True) as partial,
            closing(sqlite3.connect(file)) as old,
            closing(sqlite3.connect(partial)) as new,
        ):
            old.backup(new)
    return str(copy)


def _copy_tables(connection: sa.Connection, schema: str) -> None:
    inspector = sa.inspect(connection)
    if schema in inspector.get_schema_names():
        return
    connection.exec_driver_sql(f"CREATE SCHEMA {schema}")
    for table in sorted({*Base.metadata.tables, "alembic_version"} & set(inspector.get_table_names())):
        connection.exec_driver_sql(f"CREATE TABLE {schema}.{table} (LIKE {table} INCLUDING ALL)")
        connection.exec_driver_sql(f"INSERT INTO {schema}.{table} SELECT * FROM {table}")  # nosec B608  # our own names


def _run_migrations(connection: sa.Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
