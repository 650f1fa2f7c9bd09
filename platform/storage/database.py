"""The store's database: opened, brought to the present schema, one transaction at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Self

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from filelock import FileLock
from sqlalchemy.dialects import postgresql, sqlite

from longwave.platform.errors import StoreError
from longwave.platform.literature.published import published_rows
from longwave.platform.storage.schema import Base, PublishedRow

PRAGMAS = ("busy_timeout=30000", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "cache_size=-65536")


class Database:
    """A SQLite or PostgreSQL database with the store's tables.

    Args:
        url: ``sqlite:///file.db`` or ``postgresql://...``.
        create: Make an empty store if there is none.

    Raises:
        StoreError: The database cannot be opened, does not exist, or was written by a newer Longwave. Nothing is
            changed.
    """

    def __init__(self, url: str, create: bool = True) -> None:
        self.url = url
        config = Config()
        config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
        config.set_main_option("path_separator", "os")
        with self.errors():
            self.engine = _engine(url, create)
        try:
            self._bring_up_to_date(config)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _bring_up_to_date(self, config: Config) -> None:
        with self.errors(), self.engine.connect() as connection:
            version = MigrationContext.configure(connection).get_current_revision()
        scripts = ScriptDirectory.from_config(config)
        if version is not None and version not in {s.revision for s in scripts.walk_revisions()}:
            raise StoreError(
                f"The store {shown(self.url)} has schema {version}, newer than this Longwave knows. Upgrade longwave."
            )
        if version != scripts.get_current_head():
            self._upgrade(config)

    def close(self) -> None:
        """Close all connections; the next query opens new ones."""
        self.engine.dispose()

    @contextmanager
    def transaction(self) -> Iterator[sa.Connection]:
        """Give a connection; commit at the end of the block, or roll back.

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
        except (sa.exc.SQLAlchemyError, OSError, ModuleNotFoundError) as error:
            cause = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
            raise StoreError(f"The store {shown(self.url)} cannot be used: {cause}") from error

    def _upgrade(self, config: Config) -> None:
        """Bring the schema up to date and import the published numbers; one process at a time."""
        file = self.engine.url.database if self.engine.dialect.name == "sqlite" else None
        with FileLock(f"{file}.lock") if file else nullcontext(), self.transaction() as connection:
            if file is None:
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(7011983)"))
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
            connection.execute(sa.delete(PublishedRow))
            insert_new(connection, PublishedRow, published_rows())


def insert_new(connection: sa.Connection, table: type[Base], rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows; those whose key is there already are left as they are."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    if rows:
        connection.execute(dialect.insert(table).on_conflict_do_nothing(), list(rows))


def shown(url: str) -> str:
    """Return ``url`` without its password."""
    try:
        return sa.engine.make_url(url).render_as_string(hide_password=True)
    except sa.exc.ArgumentError:
        return repr(url)


def _engine(url: str, create: bool) -> sa.Engine:
    engine = sa.create_engine(url)
    if engine.dialect.name not in ("sqlite", "postgresql"):
        raise StoreError(f"A store is sqlite:///file.db or postgresql://..., got {shown(url)}.")
    if engine.dialect.name == "sqlite":
        file = Path(engine.url.database or "")
        if not create and not file.is_file():
            raise StoreError(f"There is no store at {file}. Make one with: longwave sweep run FILE")

        @sa.event.listens_for(engine, "connect")
        def configure(connection: Any, _: object) -> None:
            try:
                for pragma in PRAGMAS:
                    connection.execute(f"PRAGMA {pragma}")
            except Exception:
                connection.close()
                raise

    return engine
