"""Is a store sound? What SQLite says of its file, and what the records say of themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import sqlalchemy as sa

from longwave.platform.errors import StoreUnavailable
from longwave.platform.literature.published import SAME, published_rows
from longwave.platform.records.identity import digest
from longwave.platform.storage.base import Base, UTCTime
from longwave.platform.storage.engine import HEAD, REFUSED, cause, engine_of, recorded
from longwave.platform.storage.faults import refusal
from longwave.platform.storage.schema import EnvironmentRow, PublishedRow, SweepRow, TrialRow
from longwave.platform.storage.seals import DAMAGED, broken

OF_CONFIG = ("task", "model", "phase")
"""Columns of a trial that repeat what its configuration says."""
EPOCHS = ("curves", "archive")
"""Tables of millions of rows."""


def sound(engine: sa.Engine) -> str:
    """Return what is wrong with a store of the present schema, in one line; empty if nothing is."""
    found = faults(engine)
    more = f"; and {len(found) - 3} more" if len(found) > 3 else ""
    return "; ".join(found[:3]) + more


def torn(engine: sa.Engine) -> str:
    """Return what is wrong with a store whose driver has died, as ``sound`` does.

    A server keeps its files whole whoever of its clients dies; ``doctor`` looks at those, too.
    """
    return sound(engine) if engine.dialect.name == "sqlite" else ""


def faults(engine: sa.Engine) -> list[str]:
    """Return all that is wrong with a store: first its file, then its records, each trial by its id.

    A store of an older schema has no seals yet; only its file is looked at.

    Raises:
        StoreError: It cannot be reached.
    """
    found: list[str] = []
    try:
        with engine.begin() as connection:
            if engine.dialect.name == "sqlite":
                found += _file(connection)
            if recorded(connection)[1] == HEAD:
                found += _records(connection)
                _read_texts(connection)
    except (*REFUSED, *DAMAGED) as error:
        told = refusal(error, engine.url)
        if engine.dialect.name != "sqlite" or isinstance(told, StoreUnavailable):
            raise told from error  # it cannot be looked at, which says nothing of what it holds
        found.append(f"it cannot be read: {cause(error)}")
    return found


def faults_at(url: str) -> list[str]:
    """Return all that is wrong with the store at a URL, as ``faults`` does. Nothing is changed.

    Raises:
        StoreError: There is none.
    """
    engine = engine_of(url, create=False)
    try:
        return faults(engine)
    finally:
        engine.dispose()


def named_by_config(trial: Mapping[str, Any]) -> bool:
    """Return whether a trial's configuration gives it its ``id``, and says what its columns say."""
    config = trial["config"]
    try:
        return digest(config) == trial["id"] and all(config.get(name) == trial[name] for name in OF_CONFIG)
    except ValueError:  # a number that is not finite
        return False


def _file(connection: sa.Connection) -> Iterator[str]:
    for (line,) in connection.exec_driver_sql("PRAGMA integrity_check(5)"):
        if line != "ok":
            yield f"its file is damaged: {' '.join(str(line).split())}"
    for table, row, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check").fetchmany(5):
        yield f"its file is damaged: row {row} of {table} belongs to a row of {parent} that is not there"


def _read_texts(connection: sa.Connection) -> None:
    """Read every text and time; what is none raises. Epochs have but keys, which ``_file`` looks at."""
    for table in Base.metadata.sorted_tables:
        texts = [column for column in table.c if isinstance(column.type, sa.String | sa.JSON | UTCTime)]
        if table.name not in EPOCHS and texts:
            for _ in connection.execute(sa.select(*texts)):
                continue


def _records(connection: sa.Connection) -> Iterator[str]:
    for trial in broken(connection):
        yield f"trial {trial} is damaged: its plan, record or curve is not what was sealed"
    t = TrialRow
    columns = [t.id, t.config, *(getattr(t, name) for name in OF_CONFIG)]
    for row in connection.execute(sa.select(*columns).where(t.seal.is_(None)).order_by(t.id)).mappings():
        if not named_by_config(dict(row)):
            yield f"trial {row['id']} is damaged: its configuration is not the one that gave it its name"
    for key, facts in connection.execute(sa.select(EnvironmentRow.id, EnvironmentRow.facts)):
        if digest(facts) != key:
            yield f"the environment {key} is damaged: its facts are not those that gave it its name"
    for line in connection.execute(sa.select(SweepRow.name, SweepRow.content, SweepRow.plan)):
        if not isinstance(line.content, dict) or not isinstance(line.plan, dict | None):
            yield f"the sweep {line.name!r} is damaged: its settings or its plan are none"
    shipped = {row["id"]: row for row in published_rows()}
    for number in connection.execute(sa.select(PublishedRow.__table__)).mappings():
        known = shipped.get(number["id"])
        if known and any(number[name] != known[name] for name in SAME):
            yield f"the published number {number['id']} is damaged: it is not the one that is known by this name"
