"""The store's database: opened, brought to the present schema, one transaction at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from longwave.platform.errors import StoreError
from longwave.platform.storage.engine import HEAD, REFUSED, cause, engine_of, recorded, shown, write_ahead, writing
from longwave.platform.storage.schema import Base


class Database:
    """A SQLite or PostgreSQL database with the store's tables.

    A store of an older schema is brought to the present one; ``upgrade`` says how, and where a copy is kept.

    Args:
        url: ``sqlite:///file.db`` or ``postgresql://...``.
        create: Make an empty store if there is none.

    Raises:
        StoreError: The database cannot be opened, does not exist, is no store, was written by a newer Longwave, or
            cannot be brought to the present schema. Nothing is changed.
    """

    def __init__(self, url: str, create: bool = True) -> None:
        self.url = url
        with self.errors():
            self.engine = engine_of(url, create)
        self._writing = writing(self.engine)
        try:
            self._bring_up_to_date()
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
        with self.errors():
            if "trials" in tables and version == HEAD:
                write_ahead(self.engine)
                return
            from longwave.platform.storage.upgrade import bring_up_to_date

            bring_up_to_date(self.engine)

    def close(self) -> None:
        """Close all connections; the next query opens new ones."""
        self.engine.dispose()

    @contextmanager
    def transaction(self) -> Iterator[sa.Connection]:
        """Give a connection to write with; commit at the end of the block, or roll back.

        Raises:
            StoreError: The database refused.
        """
        with self.errors(), self._writing.begin() as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Give a connection to read with, beside any writer; on SQLite all its queries see the same moment.

        Raises:
            StoreError: The database refused.
        """
        with self.errors(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn what SQLAlchemy raises inside the block into one line."""
        try:
            yield
        except REFUSED as error:
            raise StoreError(f"The store {shown(self.url)} cannot be used: {cause(error)}") from error


def insert_new(connection: sa.Connection, table: type[Base], rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows; those whose key is there already are left as they are."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    if rows:
        connection.execute(dialect.insert(table).on_conflict_do_nothing(), list(rows))
