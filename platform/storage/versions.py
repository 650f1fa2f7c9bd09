"""Versions of a store's schema: the one that a database has, and whether this Longwave may use it."""

from __future__ import annotations

import re
from pathlib import Path

import sqlalchemy as sa

from longwave.platform.errors import StoreError
from longwave.platform.storage.engine import without_password

BASELINE = "0012"
"""That of 0.2.0, the first release. Stores of older versions were made by no release, and are not upgraded."""
HEAD = max(file.name[:4] for file in (Path(__file__).parent / "migrations/versions").glob("[0-9]*.py"))
"""The newest migration's."""


def read_version(connection: sa.Connection) -> str | None:
    """Return the version of a store, from ``BASELINE`` to ``HEAD``; None of a database that is empty.

    Raises:
        StoreError: It is newer, or older than any release, or what the database holds is no store.
    """
    tables = set(sa.inspect(connection).get_table_names())
    if not tables:
        return None
    recorded = sa.text("SELECT version_num FROM alembic_version")
    version = str(connection.scalar(recorded)) if "alembic_version" in tables else "None"
    url = without_password(connection.engine.url)
    if "trials" not in tables or not re.fullmatch(r"\d{4}", version):
        shows = f"the version {version}" if "trials" in tables else f"the table {min(tables - {'alembic_version'})}"
        raise StoreError(f"{url} is not a Longwave store: it has {shows}. Name another with --store.")
    if version < BASELINE:
        raise StoreError(
            f"The store {url} has schema {version}, which no release created. Import its bundle or edition into a new "
            "store: longwave import FILE --store sqlite:///new.db"
        )
    if version > HEAD:
        raise StoreError(f"The store {url} has schema {version}, newer than this Longwave knows. Upgrade longwave.")
    return version
