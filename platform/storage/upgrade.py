"""Create a store, or bring it to the present schema: all of it in one transaction, or nothing."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from filelock import FileLock

from longwave.platform.errors import StoreError
from longwave.platform.literature.published import published_rows
from longwave.platform.storage.copies import keep_copy
from longwave.platform.storage.engine import REFUSED, cause, enable_wal, without_password, writing
from longwave.platform.storage.schema import PublishedRow
from longwave.platform.storage.versions import HEAD, read_version

LOCK = 7011983
"""The advisory lock in PostgreSQL that whoever creates or upgrades a store takes."""
MIGRATIONS = Path(__file__).parent / "migrations"


def upgrade_store(engine: sa.Engine) -> None:
    """Bring the schema up to date and take up the published numbers; one process at a time.

    An older store is copied first: beside a SQLite file ``results.db`` to ``results.before-0013.db``, in PostgreSQL
    into the schema ``longwave_before_0013``. A copy that is there already is left as it is.

    Raises:
        StoreError: ``read_version`` refuses it, or it cannot be brought up to date. Nothing is changed.
    """
    file = engine.url.database if engine.dialect.name == "sqlite" else None
    with FileLock(f"{file}.lock", mode=0o600) if file else nullcontext():
        enable_wal(engine)
        copy = ""
        try:
            with writing(engine).begin() as connection:
                if file is None:
                    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(LOCK)))
                if (version := read_version(connection)) == HEAD:
                    return
                copy = keep_copy(connection, HEAD) if version else ""
                _migrate(connection)
                connection.execute(sa.delete(PublishedRow))
                connection.execute(sa.insert(PublishedRow), published_rows())
        except (StoreError, *REFUSED) as error:
            kept = f" A copy of it is at {copy}." if copy else ""
            raise StoreError(
                f"The store {without_password(engine.url)} cannot be brought to schema {HEAD}, and is as it was."
                f"{kept} {cause(error)}"
            ) from error


def _migrate(connection: sa.Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
