"""How a store's database is connected to: transactions that hold the schema too, and SQLite's settings."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from longwave.files import own_file
from longwave.platform.errors import NoStoreError, StoreError
from longwave.platform.redaction import redacted

PRAGMAS = ("busy_timeout=5000", "synchronous=FULL", "foreign_keys=ON", "cache_size=-65536")
"""Settings of SQLite; after its own 5 s of waiting for a lock, ``retry`` waits on, and says so."""
POSTGRESQL = {"connect_timeout": 10, "tcp_user_timeout": 30_000}
"""Seconds to reach a server, milliseconds until one that does not answer counts as away."""
SETTINGS = "-c lock_timeout=5000"
"""What is asked of PostgreSQL: it waits for a lock as long as SQLite does."""
SWITCH_SECONDS = 30.0
"""Seconds that readers have to let a SQLite file be switched to write-ahead logging."""
REFUSED = (sa.exc.SQLAlchemyError, OSError, ModuleNotFoundError, UnicodeDecodeError)
"""What is raised where a database cannot be reached, or refuses, or is damaged down to its names."""


def make_engine(url: str, create: bool, read_only: bool = False) -> sa.Engine:
    """Return an engine for ``url``; the database refuses what one that is ``read_only`` would write.

    Its transactions begin and end where SQLAlchemy says, and hold whatever is done in them. Python's sqlite3 would
    begin one at the first row that is written, and keep changes of the schema out of it.

    Raises:
        StoreError: It is neither kind of database, or there is no such file and none may be made.
    """
    kind, _, driver = url.partition("://")[0].partition("+")
    if kind not in ("sqlite", "postgresql"):
        raise StoreError(f"A store is sqlite:///file.db or postgresql://..., got {without_password(url)}.")
    try:
        engine = sa.create_engine(url)
    except (sa.exc.NoSuchModuleError, ModuleNotFoundError) as error:
        if kind == "postgresql" and getattr(error, "name", "") == "psycopg":
            raise StoreError("psycopg is not installed. Install it with: pip install 'longwave[postgres]'") from None
        raise StoreError(
            f"There is no driver {driver or kind!r} here for {without_password(url)}. Leave it out: {kind}://..."
        ) from None
    except ValueError:  # a port that is no number
        advice = "In a user and a password write @ as %40, / as %2F, : as %3A, # as %23, ? as %3F."
        raise StoreError(f"{without_password(url)} is no URL of a store. {advice}") from None
    file = engine.url.database
    if engine.dialect.name == "postgresql":
        settings = [SETTINGS, *engine.url.normalized_query.get("options", ())]
        settings += ["-c default_transaction_read_only=on"] if read_only else []
        return sa.create_engine(url, pool_pre_ping=True, connect_args={**POSTGRESQL, "options": " ".join(settings)})
    if engine.dialect.name != "sqlite" or not file:
        raise StoreError(f"A store is sqlite:///file.db or postgresql://..., got {without_password(url)}.")
    if Path(file).is_dir():
        raise StoreError(f"A store is a file, and {file} is a folder. Name a file in it.")
    if not create and not Path(file).is_file():
        raise NoStoreError(f"There is no store at {file}. Make one with: longwave sweep run FILE")
    if create and not Path(file).exists():
        own_file(Path(file))
    sa.event.listen(engine, "do_connect", _no_new_file)
    sa.event.listen(engine, "connect", _configure_sqlite)
    sa.event.listen(engine, "begin", _begin_transaction)
    if read_only:
        sa.event.listen(engine, "connect", _only_query)
    return engine


def writing_engine(engine: sa.Engine) -> sa.Engine:
    """Return the same engine with transactions that write from their start.

    On SQLite the one writer's place is taken at once: a transaction that reads first and writes then would be refused
    if another had written in between.
    """
    return engine.execution_options(begin="BEGIN IMMEDIATE")


def enable_wal(engine: sa.Engine) -> None:
    """Switch a SQLite file to write-ahead logging, where readers and a writer work side by side; once set, it stays.

    SQLite refuses at once while another process reads, so this tries for ``SWITCH_SECONDS`` seconds.
    """
    if engine.dialect.name != "sqlite":
        return
    until = time.monotonic() + SWITCH_SECONDS
    while True:
        pooled = engine.raw_connection()  # no transaction: the switch is refused inside one
        try:
            pooled.cursor().execute("PRAGMA journal_mode=WAL")
            return
        except Exception as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise StoreError(f"The store {without_password(engine.url)} cannot be used: {error}") from error
            time.sleep(0.02)
        finally:
            pooled.close()


def without_password(url: str | sa.URL) -> str:
    """Return ``url`` without its user and password."""
    return redacted(url if isinstance(url, str) else url.render_as_string(hide_password=False))


def short_cause(error: BaseException) -> str:
    """Return what the database said, in one line."""
    return str(getattr(error, "orig", None) or error).strip().splitlines()[0]


def _no_new_file(_: object, __: object, arguments: list[Any], options: dict[str, Any]) -> None:
    """Have SQLite open the file that is there; it would make an empty one in place of one that was deleted."""
    arguments[0] = f"{Path(arguments[0]).absolute().as_uri()}?mode=rw"
    options["uri"] = True


def _configure_sqlite(connection: Any, _: object) -> None:
    try:
        connection.isolation_level = None
        for pragma in PRAGMAS:
            connection.execute(f"PRAGMA {pragma}")
    except Exception:
        connection.close()
        raise


def _only_query(connection: Any, _: object) -> None:
    connection.execute("PRAGMA query_only=ON")


def _begin_transaction(connection: sa.Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN"))
