"""The content of a database."""

from __future__ import annotations

import sqlalchemy as sa

Rows = dict[str, list[str]]


def read_rows(url: str, schema: str | None = None) -> Rows:
    """Return the rows of a database by table, except published numbers, which an upgrade writes again."""
    engine, metadata = sa.create_engine(url), sa.MetaData(schema=schema)
    with engine.connect() as connection:
        metadata.reflect(connection)
        tables = [table for table in metadata.sorted_tables if table.name != "published"]
        rows = {t.name: sorted(map(repr, connection.execute(sa.select(t)).all())) for t in tables}
    engine.dispose()
    return rows
