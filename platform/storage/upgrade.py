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
from longwave.platform.storage.copies import keep
from longwave.platform.storage.engine import HEAD, REFUSED, cause, shown, write_ahead, writing
from longwave.platform.storage.repair import holds_data, mend, version_of
from longwave.platform.storage.schema import PublishedRow
from longwave.platform.storage.seals import fill


def bring_up_to_date(engine: sa.Engine) -> None:
    """Bring the schema up to date and take up the published numbers; one process at a time.

    A store that holds anything is copied first: beside a SQLite file ``results.db`` to ``results.before-0009.db``, in
    PostgreSQL into the schema ``longwave_before_0009``. A copy that is there already is left as it is. One that was
    left half made by an older Longwave is mended.

    Raises:
        StoreError: It is no store, or a newer one, or cannot be brought up to date. Nothing is changed.
    """
    with engine.begin() as connection:
        version_of(connection)
    file = engine.url.database if engine.dialect.name == "sqlite" else None
    with FileLock(f"{file}.lock", mode=0o600) if file else nullcontext():
        write_ahead(engine)
        copy = ""
        try:
            with writing(engine).begin() as connection:
                if file is None:
                    connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7011983)")
                if (version := version_of(connection)) == HEAD:
                    return
                copy = keep(connection, HEAD) if holds_data(connection) else ""
                mend(connection, version)
                _migrate(connection)
                fill(connection)
                connection.execute(sa.delete(PublishedRow))
                connection.execute(sa.insert(PublishedRow), published_rows())
        except (StoreError, *REFUSED) as error:
            kept = f" A copy of it is at {copy}." if copy else ""
            raise StoreError(
                f"The store {shown(engine.url)} cannot be brought to schema {HEAD}, and is as it was.{kept} "
                f"{cause(error)}"
            ) from error


def _migrate(connection: sa.Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
