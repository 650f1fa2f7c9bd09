"""Connections to a store's database: transactions that include schema changes, and SQLite's settings."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from longwave.files import own_file
from longwave.platform.errors import NoStoreError, StoreError
from longwave.platform.paths import sqlite_file
from longwave.platform.redaction import redacted

PRAGMAS = ("busy_timeout=5000", "synchronous=FULL", "foreign_keys=ON", "cache_size=-65536")
"""Settings of SQLite, which waits 5 s for a lock by itself; after that ``retry`` continues, and reports it."""
POSTGRESQL = {"connect_timeout": 10, "tcp_user_timeout": 30_000}
"""Seconds to connect to a server, and milliseconds after which one that does not answer counts as unreachable."""
SETTINGS = "-c lock_timeout=5000"
"""Options for PostgreSQL, so that it waits for a lock as long as SQLite does."""
SWITCH_SECONDS = 30.0
"""Seconds to wait for readers before a SQLite file can be switched to write-ahead logging."""
NO_STORE = "There is no store at {}. Make one with: longwave sweep run FILE, or: longwave import BUNDLE"
REFUSED = (sa.exc.SQLAlchemyError, OSError, ModuleNotFoundError, UnicodeDecodeError)
"""Exceptions from a database that is unreachable, refuses a statement, or is damaged even in its names."""


def make_engine(url: str, create: bool, read_only: bool = False) -> sa.Engine:
    """Return an engine for ``url``; with ``read_only`` the database refuses writes.

    Its transactions begin and end where SQLAlchemy says, and include schema changes. By default Python's sqlite3
    begins one only at the first row that is written, and leaves schema changes outside.

    Raises:
        StoreError: It is another kind of database, the file does not exist and ``create`` is false, or neither does its
            folder.
    """
    kind, _, driver = url.partition("://")[0].partition("+")
    if kind not in ("sqlite", "postgresql"):
        raise StoreError(f"A store is sqlite:///file.db or postgresql://..., got {without_password(url)}.")
    if kind == "sqlite" and "?" in url:
        advice = "Rename the file, or leave out the ? and what follows."
        raise StoreError(f"The path of a SQLite store cannot contain ?, got {without_password(url)}. {advice}")
    try:
        engine = sa.create_engine(url)
    except (sa.exc.NoSuchModuleError, ModuleNotFoundError) as error:
        if kind == "postgresql" and getattr(error, "name", "") == "psycopg":
            raise StoreError("psycopg is not installed. Install it with: pip install 'longwave[postgres]'") from None
        raise StoreError(
            f"{without_password(url)} needs the database driver {driver or kind!r}, which is not installed. "
            f"Leave it out: {kind}://..."
        ) from None
    except ValueError:  # the port is not a number
        advice = "In a user and a password write @ as %40, / as %2F, : as %3A, # as %23, ? as %3F."
        raise StoreError(f"{without_password(url)} is not a valid store URL. {advice}") from None
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
        raise NoStoreError(NO_STORE.format(file))
    if create and not Path(file).exists():
        check_folder(url)
        own_file(Path(file))
    if _is_frozen(Path(file)):
        engine = sa.create_engine(url, pool_recycle=0)  # for each transaction the file is opened anew
        sa.event.listen(engine, "do_connect", _open_frozen_file)
    else:
        sa.event.listen(engine, "do_connect", _open_existing_file)
    sa.event.listen(engine, "connect", _configure_sqlite)
    sa.event.listen(engine, "begin", _begin_transaction)
    if read_only:
        sa.event.listen(engine, "connect", _only_query)
    return engine


def check_folder(url: str) -> None:
    """Raise StoreError if the folder of a SQLite store does not exist."""
    if (file := sqlite_file(url)) and not (folder := file.parent).is_dir():
        raise StoreError(f"There is no folder {folder}. Create it, or name another store.")


def writing_engine(engine: sa.Engine) -> sa.Engine:
    """Return the same engine with transactions that take SQLite's write lock at their start.

    A transaction that reads first and writes later would be refused if another one had written in between.
    """
    return engine.execution_options(begin="BEGIN IMMEDIATE")


def enable_wal(engine: sa.Engine) -> None:
    """Switch a SQLite file permanently to write-ahead logging, so that reading and writing do not block each other.

    SQLite refuses at once while another process reads, so this retries for ``SWITCH_SECONDS``.
    """
    if engine.dialect.name != "sqlite":
        return
    deadline = time.monotonic() + SWITCH_SECONDS
    while True:
        pooled = engine.raw_connection()  # no transaction: the switch is refused inside one
        try:
            pooled.cursor().execute("PRAGMA journal_mode=WAL")
            return
        except Exception as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise StoreError(f"The store {without_password(engine.url)} cannot be used: {error}") from error
            time.sleep(0.02)
        finally:
            pooled.close()


def without_password(url: str | sa.URL) -> str:
    """Return ``url`` without its user and password."""
    return redacted(url if isinstance(url, str) else url.render_as_string(hide_password=False))


def short_cause(error: BaseException) -> str:
    """Return the first line of the database's own error message."""
    return str(getattr(error, "orig", None) or error).strip().splitlines()[0]


def is_allowed(path: Path, access: int) -> bool:
    """Return whether this process may access a path in a way such as ``os.W_OK``."""
    return os.access(path, access, effective_ids=os.access in os.supports_effective_ids)


def _is_frozen(file: Path) -> bool:
    """Return whether a file can be read only as immutable: it has no write-ahead log, and this user cannot make one."""
    return not is_allowed(file.parent, os.W_OK) and not Path(f"{file}-wal").exists()


def _open_frozen_file(_: object, __: object, arguments: list[Any], options: dict[str, Any]) -> None:
    """Open a file that was frozen when its engine was made: as immutable, unless it can be written to by now."""
    mode = "mode=ro&immutable=1" if _is_frozen(Path(arguments[0])) else "mode=rw"
    arguments[0], options["uri"] = f"{Path(arguments[0]).absolute().as_uri()}?{mode}", True


def _open_existing_file(_: object, __: object, arguments: list[Any], options: dict[str, Any]) -> None:
    """Open the file only if it exists: by default SQLite would create an empty one in place of a deleted one."""
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
