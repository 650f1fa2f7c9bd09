"""The store's database: opened, migrated to the present schema, one transaction at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from longwave.platform.errors import StoreError
from longwave.platform.storage.base import Base
from longwave.platform.storage.engine import REFUSED, enable_wal, make_engine, without_password, writing_engine
from longwave.platform.storage.faults import describe_refusal
from longwave.platform.storage.retry import Result, configured_wait, retry
from longwave.platform.storage.schema import ImportRow
from longwave.platform.storage.store_identity import StoreIdentity, explain_loss
from longwave.platform.storage.versions import HEAD, read_version


class Database:
    """A SQLite or PostgreSQL database with the store's tables.

    A store of an older schema is migrated to the present one; ``upgrade`` says how, and where a copy is kept.

    Args:
        url: ``sqlite:///file.db`` or ``postgresql://...``.
        create: Make an empty store if there is none.
        read_only: Write nothing: the database refuses it, and a store of an older schema is left as it is.

    Attributes:
        on_wait: Gets the reason where a store is waited for, and "" when the wait is over.
        on_transaction: Gets the kind of each transaction, ``read`` or ``write``, and its seconds.
        longest_wait: Seconds to wait for a store; None for those of each fault.

    Raises:
        StoreError: The database cannot be opened, does not exist, is no store, was written by a newer Longwave or
            before the first release, or cannot be migrated to the present schema. Nothing is changed.
    """

    def __init__(self, url: str, create: bool = True, read_only: bool = False) -> None:
        self.url, self.read_only = url, read_only
        self.on_wait: Callable[[str], None] = lambda reason: None
        self.on_transaction: Callable[[str, float], None] = lambda kind, seconds: None
        self.longest_wait = configured_wait()
        self._wrote, self._lost = False, ""
        with self._one_line():
            self.engine = make_engine(url, create and not read_only, read_only)
        self._writing, self._identity = writing_engine(self.engine), StoreIdentity(self.engine)
        try:
            self._bring_up_to_date()
            with self._one_line():
                self._identity.remember()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _bring_up_to_date(self) -> None:
        """Upgrade where that is due; Alembic is loaded only then, as most commands find a store up to date."""
        with self.reading() as connection:
            is_present = read_version(connection) == HEAD
        if is_present and self.read_only:
            return
        with self._one_line():
            if is_present:
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
        """Return what ``work`` does with this store; do all of it again while the store cannot be used for now.

        What is done must change nothing when it is done twice. Each fault has its own limit (``faults``);
        ``longest_wait`` or ``LONGWAVE_STORE_WAIT`` overrides them.

        Raises:
            StoreError: Waiting did not help, or what is wrong does not pass.
        """
        return retry(work, self.longest_wait, self.on_wait)

    def check_writable(self) -> None:
        """Raise StoreError where the store cannot be written to; nothing is changed."""
        with self.transaction() as connection:
            connection.execute(sa.update(ImportRow).where(sa.false()).values(at=ImportRow.at))

    @contextmanager
    def transaction(self) -> Iterator[sa.Connection]:
        """Give a connection to write with; commit at the end of the block, or roll back.

        Raises:
            StoreError: The database refused.
        """
        with self._timed("write"), self.errors(), self._writing.begin() as connection:
            yield connection
        self._wrote = True

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Give a connection to read with, beside any writer; on SQLite all its queries see the same moment.

        Raises:
            StoreError: The database refused.
        """
        with self._timed("read"), self.errors(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn what SQLAlchemy raises inside the block into one line.

        Should the store's file have been deleted or replaced, the block works on a copy of it, which is named then.

        Raises:
            StoreUnavailable: The store cannot be used for now.
            StoreError: The database refused, or is not where it was.
        """
        if not self._lost and self._identity.is_lost():
            self._switch_to_copy()
        with self._one_line():
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
    def _one_line(self) -> Iterator[None]:
        try:
            yield
        except REFUSED as error:
            raise describe_refusal(error, self.url, self._wrote) from error
        except ValueError as error:  # a text that is no time, no JSON, no record
            where = f"longwave doctor --store {without_password(self.url)}"
            raise StoreError(
                f"The store contains records that cannot be read: {error}. Look at it with: {where}"
            ) from error

    def _switch_to_copy(self) -> None:
        """Save the store that was lost, and go on with what was saved: what is still to be written is kept, too."""
        assert self._identity.file
        saved = self._identity.save_copy()
        self._lost = explain_loss(self._identity.file, saved)
        if saved is None:
            raise StoreError(self._lost)
        self.engine.dispose()
        self.engine = make_engine(f"sqlite:///{saved}", create=False)
        self._writing = writing_engine(self.engine)


def insert_new(connection: sa.Connection, table: type[Base], rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows; those whose key is there already are left as they are."""
    if rows:
        connection.execute(_insert_statement(connection, table).on_conflict_do_nothing(), list(rows))


def insert_row(connection: sa.Connection, table: type[Base], row: dict[str, Any]) -> bool:
    """Insert a row as ``insert_new`` does, and return whether it is new; of several rows PostgreSQL does not say."""
    return connection.execute(_insert_statement(connection, table).on_conflict_do_nothing(), row).rowcount == 1


def insert_lines(connection: sa.Connection, table: type[Base], lines: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows given as the values of all columns in order: of millions, several times as fast as ``insert_new``."""
    if lines:
        names = table.__table__.c.keys()
        marks = ["?" if connection.dialect.name == "sqlite" else "%s"] * len(names)
        statement = f"INSERT INTO {table.__tablename__} ({', '.join(names)}) VALUES ({', '.join(marks)})"  # nosec B608
        connection.exec_driver_sql(statement, list(lines))


def insert_selected(
    connection: sa.Connection, table: type[Base], columns: Sequence[str], query: sa.Select[*tuple[Any, ...]]
) -> None:
    """Insert what a query finds, as ``insert_new`` does with rows."""
    connection.execute(_insert_statement(connection, table).from_select(list(columns), query).on_conflict_do_nothing())


def upsert_rows(connection: sa.Connection, table: type[Base], rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows, each in place of the one that has its key."""
    keys = [column.name for column in sa.inspect(table).primary_key]
    for row in rows:
        statement = _insert_statement(connection, table).values(row)
        connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=row))


def _insert_statement(connection: sa.Connection, table: type[Base]) -> Any:
    return (postgresql if connection.dialect.name == "postgresql" else sqlite).insert(table)
