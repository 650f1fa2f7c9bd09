"""The store's database: opened, brought to the present schema, one transaction at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from longwave.platform.errors import StoreError
from longwave.platform.storage.engine import HEAD, REFUSED, engine_of, recorded, shown, write_ahead, writing
from longwave.platform.storage.faults import refusal
from longwave.platform.storage.patience import Result, given_patience, patiently
from longwave.platform.storage.place import Whereabouts, told
from longwave.platform.storage.schema import Base


class Database:
    """A SQLite or PostgreSQL database with the store's tables.

    A store of an older schema is brought to the present one; ``upgrade`` says how, and where a copy is kept.

    Args:
        url: ``sqlite:///file.db`` or ``postgresql://...``.
        create: Make an empty store if there is none.
        reads: Write nothing: the database refuses it, and a store of an older schema is left as it is.

    Raises:
        StoreError: The database cannot be opened, does not exist, is no store, was written by a newer Longwave, or
            cannot be brought to the present schema. Nothing is changed.
    """

    def __init__(self, url: str, create: bool = True, reads: bool = False) -> None:
        self.url, self.reads = url, reads
        self.waiting: Callable[[str], None] = _say_nothing
        self.took: Callable[[str, float], None] = _count_nothing
        self.patience = given_patience()
        self._wrote, self._lost = False, ""
        with self._one_line():
            self.engine = engine_of(url, create and not reads, reads)
        self._writing, self._place = writing(self.engine), Whereabouts(self.engine)
        try:
            self._bring_up_to_date()
            with self._one_line():
                self._place.take()
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
            tables, version = recorded(connection)
        with self._one_line():
            if "trials" in tables and version == HEAD:
                if not self.reads:
                    write_ahead(self.engine)
                return
            if self.reads:
                raise StoreError(f"The store {shown(self.url)} has an older form. Bring it up to date: longwave doctor")
            from longwave.platform.storage.upgrade import bring_up_to_date

            bring_up_to_date(self.engine)

    def close(self) -> None:
        """Close all connections; the next query opens new ones."""
        self._place.leave()
        self.engine.dispose()

    def patiently(self, work: Callable[[], Result]) -> Result:
        """Return what ``work`` does with this store; do all of it again while the store cannot be used for now.

        What is done must change nothing when it is done twice. ``waiting`` is told once why this waits, and "" when it
        goes on. Each fault has its own limit (``faults``); ``patience`` or ``LONGWAVE_STORE_WAIT`` overrides them.

        Raises:
            StoreError: Waiting did not help, or what is wrong does not pass.
        """
        return patiently(self, work)

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
        if not self._lost and self._place.lost():
            self._turn_to_a_copy()
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
            self.took(kind, time.perf_counter() - start)

    @contextmanager
    def _one_line(self) -> Iterator[None]:
        try:
            yield
        except REFUSED as error:
            raise refusal(error, self.url, self._wrote) from error
        except ValueError as error:  # a text that is no time, no JSON, no record
            where = f"longwave doctor --store {shown(self.url)}"
            raise StoreError(f"The store holds what cannot be read: {error}. Look at it with: {where}") from error

    def _turn_to_a_copy(self) -> None:
        """Save the store that was lost, and go on with what was saved: what is still to be written is kept, too."""
        assert self._place.file
        saved = self._place.save()
        self._lost = told(self._place.file, saved)
        if saved is None:
            raise StoreError(self._lost)
        self.engine.dispose()
        self.engine = engine_of(f"sqlite:///{saved}", create=False)
        self._writing = writing(self.engine)


def _count_nothing(_: str, __: float) -> None:
    """Take no notice of what a transaction took."""


def _say_nothing(_: str) -> None:
    """Nobody is told that a store is waited for."""


def put(connection: sa.Connection, table: type[Base], rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows, each in place of the one that has its key."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    keys = [column.name for column in sa.inspect(table).primary_key]
    for row in rows:
        statement = dialect.insert(table).values(row)
        connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=row))


def insert_found(
    connection: sa.Connection, table: type[Base], columns: Sequence[str], query: sa.Select[*tuple[Any, ...]]
) -> None:
    """Insert what a query finds, as ``insert_new`` does with rows."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    connection.execute(dialect.insert(table).from_select(list(columns), query).on_conflict_do_nothing())


def insert_new(connection: sa.Connection, table: type[Base], rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows; those whose key is there already are left as they are."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    if rows:
        connection.execute(dialect.insert(table).on_conflict_do_nothing(), list(rows))
