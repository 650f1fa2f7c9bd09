"""The schema version of a store, and whether this Longwave can use it."""

from __future__ import annotations

import re
from collections.abc import Set
from pathlib import Path

import sqlalchemy as sa

from longwave.platform.errors import StoreError
from longwave.platform.storage.engine import without_password

BASELINE = "0012"
"""Schema of 0.2.0, the first release. No release created older stores, so they are not upgraded."""
HEAD = max(file.name[:4] for file in (Path(__file__).parent / "migrations/versions").glob("[0-9]*.py"))
"""Schema of the newest migration."""


def read_version(connection: sa.Connection) -> str | None:
    """Return a store's schema version, from ``BASELINE`` to ``HEAD``; None for an empty database.

    Raises:
        StoreError: It is newer, or older than any release, or the database is not a Longwave store.
    """
    tables = set(sa.inspect(connection).get_table_names())
    if not tables:
        return None
    version_query = sa.text("SELECT version_num FROM alembic_version")
    version = str(connection.scalar(version_query) or "") if "alembic_version" in tables else ""
    url = without_password(connection.engine.url)
    if "trials" not in tables or not re.fullmatch(r"\d{4}", version):
        content = _describe_content(tables, version)
        raise StoreError(f"{url} is not a Longwave store: it has {content}. Name another with --store.")
    if version < BASELINE:
        raise StoreError(
            f"The store {url} has schema {version}, which no release created. Import its bundle or edition into a new "
            "store: longwave import FILE --store sqlite:///new.db"
        )
    if version > HEAD:
        raise StoreError(f"The store {url} has schema {version}, newer than this Longwave knows. Upgrade longwave.")
    return version


def _describe_content(tables: Set[str], version: str) -> str:
    """Return what shows that a database is not a Longwave store; ``version`` is "" if it has none."""
    if "trials" not in tables and (others := tables - {"alembic_version"}):
        return f"the table {min(others)}"
    if not version:
        return "no schema version"
    return f"the version {version}" if "trials" in tables else f"the version {version}, but no trials"
