"""Stores as older releases of Longwave made them: one text dump a schema, in tests/platform/storage/old/."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from tree import ROOT

from longwave.platform.storage import upgrade

DUMP = ROOT / "tests/platform/storage/old/0003.sql"
TABLES = ("environments", "sweeps", "trials", "asks", "curves", "mirrored")
"""Tables of schema 0003 with data of a user, parents first."""


def old_store(path: Path) -> Path:
    """Write a store of schema 0003 and return its path: five finished sweeps, three unfinished, one imported.

    The numbers that papers print are not in it. A trial that was re-run and kept is.
    """
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(DUMP.read_text(encoding="utf-8"))
    return path


def old_rows(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of a store of schema 0003, by table, with times in UTC."""
    with disposed(f"sqlite:///{path}") as engine, engine.connect() as connection:
        tables = reflected(connection)
        return {
            name: [
                {k: v.replace(tzinfo=UTC) if isinstance(v, datetime) else v for k, v in row.items()}
                for row in connection.execute(sa.select(tables[name])).mappings()
            ]
            for name in TABLES
        }


def old_store_at(url: str, path: Path, schema: str = "0003") -> None:
    """Fill an empty database of either kind with what the old store at ``path`` holds, in that schema or an older."""
    rows = old_rows(path)
    with disposed(url) as engine, engine.begin() as connection:
        migrate(connection, schema)
        tables = reflected(connection)
        for name in TABLES:
            if known := [{k: v for k, v in row.items() if k in tables[name].c} for row in rows[name]]:
                connection.execute(sa.insert(tables[name]), known)


def migrate(connection: sa.Connection, revision: str) -> None:
    """Bring an empty or older database to a schema, as Alembic does it."""
    config = Config()
    config.set_main_option("script_location", str(Path(upgrade.__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def reflected(connection: sa.Connection) -> dict[str, sa.Table]:
    """Return the tables that a database has, as it says."""
    metadata = sa.MetaData()
    metadata.reflect(connection)
    return dict(metadata.tables)


@contextmanager
def disposed(url: str) -> Iterator[sa.Engine]:
    """Give an engine that keeps no connection after the block."""
    engine = sa.create_engine(url)
    try:
        yield engine
    finally:
        engine.dispose()
