"""The store's database: opening it, upgrading its schema, and running transactions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from longwave.platform.errors import NoStoreError, StoreError
from longwave.platform.storage.base import Base
from longwave.platform.storage.engine import (
    NO_STORE,
    REFUSED,
    enable_wal,
    make_engine,
    without_password,
    writing_engine,
)
from longwave.platform.storage.faults import describe_refusal
from longwave.platform.storage.retry import Result, configured_wait, retry
from longwave.platform.storage.schema import ImportRow
from longwave.platform.storage.store_identity import StoreIdentity, explain_loss
from longwave.platform.storage.texts import describe_unstorable
from longwave.platform.storage.versions import HEAD, read_version


class Database:
    """A SQLite or PostgreSQL database with the store's tables.

    A store with an older schema is copied and then migrated to the current one; see ``upgrade``.

    Args:
        url: ``sqlite:///file.db`` or ``postgresql://...``.
        create: Create an empty store if there is none.
        read_only: Let the database refuse writes. A store with an older schema is not migrated.

    Attributes:
        on_wait: Called with the reason when a wait for the store begins, and with "" when it is over.
        on_transaction: Called with the kind of each transaction, ``read`` or ``write``, and its seconds.
        longest_wait: Seconds to wait for a store; None for each fault's own limit.

    Raises:
        StoreError: The database cannot be opened, does not exist, is not a store, was written by a newer Longwave or
            before the first release, or cannot be migrated to the current schema. Nothing is changed.
    """

    def __init__(self, url: str, create: bool = True, read_only: bool = False) -> None:
        self.url, self.read_only = url, read_only
        create = create and not read_only
        self.on_wait: Callable[[str], None] = lambda reason: None
        self.on_transaction: Callable[[str, float], None] = lambda kind, seconds: None
        self.longest_wait = configured_wait()
        self._wrote, self._lost = False, ""
        with self._one_line():
            self.engine = make_engine(url, create, read_only)
        self._writing, self._identity = writing_engine(self.engine), StoreIdentity(self.engine)
        try:
            self._bring_up_to_date(create)
            with self._one_line():
                self._identity.remember()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _bring_up_to_date(self, create: bool) -> None:
        """Upgrade a store with an older schema. Alembic is loaded only then: most stores are up to date."""
        with self.reading() as connection:
            version = read_version(connection)
        if version is None and not create:
            raise NoStoreError(NO_STORE.format(without_password(self.url)))
        is_current = version == HEAD
        if is_current and self.read_only:
            return
        with self._one_line():
            if is_current:
                enable_wal(self.engine)
                return
            if self.read_only:
                url = without_password(self.url)
                raise StoreError(f"The store {url} has an older format. Upgrade it with: longwave doctor")
            from longwave.platform.storage.upgrade import upgrade_store

            upgrade_store(self.engine)

    def close(self) -> None:
        """Close all connections; the next query opens new ones."""
        self._identity.forget()
        self.engine.dispose()

    def with_retry(self, work: Callable[[], Result]) -> Result:
        """Return the result of ``work``; repeat all of it while the store is temporarily unusable.

        ``work`` must be idempotent. Each fault has its own limit (``faults``); ``longest_wait`` or
        ``LONGWAVE_STORE_WAIT`` overrides them.

        Raises:
            StoreError: The store is still unusable after waiting, or the fault is permanent.
        """
        return retry(work, self.longest_wait, self.on_wait)

    def check_writable(self) -> None:
        """Raise StoreError if the store cannot be written to; nothing is changed."""
        with self.transaction() as connection:
            connection.execute(sa.update(ImportRow).where(sa.false()).values(at=ImportRow.at))

    @contextmanager
    def transaction(self) -> Iterator[sa.Connection]:
        """Yield a connection for writing; commit at the end of the block, or roll back after an exception.

        Raises:
            StoreError: The database refused a statement.
        """
        with self._timed("write"), self.errors(writes=True), self._writing.begin() as connection:
            yield connection
        self._wrote = True

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Yield a connection for reading, which no writer blocks; on SQLite all its queries see the same state.

        Raises:
            StoreError: The database refused a statement.
        """
        with self._timed("read"), self.errors(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def errors(self, writes: bool = False) -> Iterator[None]:
        """Turn what SQLAlchemy raises inside the block into one line.

        If the store's file was deleted or replaced, the block works on a saved copy, which the error names.

        Args:
            writes: Whether the block writes, too.

        Raises:
            StoreUnavailable: The store is temporarily unusable.
            StoreError: The database refused a statement, or was deleted or replaced.
        """
        if not self._lost and self._identity.is_lost():
            self._switch_to_copy()
        with self._one_line(writes):
            yield
        if self._lost:
            raise StoreError(self._lost)

    @contextmanager
    def _timed(self, kind: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.on_transaction(kind, time.perf_counter() - start)

    @contextmanager
    def _one_line(self, writes: bool = False) -> Iterator[None]:
        try:
            yield
        except REFUSED as error:
            raise describe_refusal(error, self.url, self._wrote) from error
        except UnicodeEncodeError as error:
            raise StoreError(describe_unstorable(error)) from error
        except ValueError as error:  # text that is not a valid time, JSON or record
            what = "A record cannot be written, or the store contains one" if writes else "The store contains records"
            command = f"longwave doctor --store {without_password(self.url)}"
            raise StoreError(f"{what} that cannot be read: {error}. Check it with: {command}") from error

    def _switch_to_copy(self) -> None:
        """Save a lost store to a new file and continue there, so that later writes are kept, too."""
        assert self._identity.file
        saved = self._identity.save_copy()
        self._lost = explain_loss(self._identity.file, saved)
        if saved is None:
            raise StoreError(self._lost)
        self.engine.dispose()
        self.engine = make_engine(f"sqlite:///{saved}", create=False)
        self._writing = writing_engine(self.engine)


def insert_new(connection: sa.Connection, table: type[Base], rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows; rows with an existing key are skipped."""
    if rows:
        connection.execute(_insert_statement(connection, table).on_conflict_do_nothing(), list(rows))


def insert_row(connection: sa.Connection, table: type[Base], row: dict[str, Any]) -> bool:
    """Insert a row as ``insert_new`` does; return whether it is new, which PostgreSQL does not report for several."""
    statement = _insert_statement(connection, table).on_conflict_do_nothing()
    return connection.execute(statement, row, execution_options={"preserve_rowcount": True}).rowcount == 1


def insert_lines(connection: sa.Connection, table: type[Base], lines: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows given as tuples of all columns in order; for millions, several times as fast as ``insert_new``."""
    if lines:
        names = table.__table__.c.keys()
        marks = ["?" if connection.dialect.name == "sqlite" else "%s"] * len(names)
        statement = f"INSERT INTO {table.__tablename__} ({', '.join(names)}) VALUES ({', '.join(marks)})"  # nosec B608
        connection.exec_driver_sql(statement, list(lines))


def insert_selected(
    connection: sa.Connection, table: type[Base], columns: Sequence[str], query: sa.Select[*tuple[Any, ...]]
) -> None:
    """Insert the results of a query, as ``insert_new`` does with rows."""
    connection.execute(_insert_statement(connection, table).from_select(list(columns), query).on_conflict_do_nothing())


def upsert_rows(connection: sa.Connection, table: type[Base], rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows, replacing those with the same key."""
    keys = [column.name for column in sa.inspect(table).primary_key]
    for row in rows:
        statement = _insert_statement(connection, table).values(row)
        connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=row))


def _insert_statement(connection: sa.Connection, table: type[Base]) -> Any:
    return (postgresql if connection.dialect.name == "postgresql" else sqlite).insert(table)
