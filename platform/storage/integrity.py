"""Checks a store for damage: SQLite's check of the file, and the checksums of the records."""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa

from longwave.platform.errors import StoreUnavailable
from longwave.platform.literature.published import SAME, published_rows
from longwave.platform.records.identity import digest
from longwave.platform.storage.base import Base, UTCTime
from longwave.platform.storage.checksums import (
    DAMAGED,
    find_damaged_environments,
    find_damaged_rows,
    find_mismatches,
    find_wrong_rows,
)
from longwave.platform.storage.engine import REFUSED, make_engine, short_cause
from longwave.platform.storage.faults import describe_damaged_store, describe_refusal, is_foreign_file
from longwave.platform.storage.schema import PatchRow, PublishedRow, SweepRow, TrialRow
from longwave.platform.storage.versions import HEAD, read_version

INDEX_CHECK_LIMIT = 200_000
"""With more trials than this, checking SQLite's indexes takes over a second: ``check_board`` skips it."""
EPOCHS = ("curves", "archive")
"""Tables of millions of rows."""


def describe_damage(engine: sa.Engine) -> str:
    """Return what is wrong with a store, in one line; empty if nothing is."""
    damage = find_damage(engine)
    more = f"; and {len(damage) - 3} more" if len(damage) > 3 else ""
    return "; ".join(damage[:3]) + more


def damage_after_crash(engine: sa.Engine) -> str:
    """Return what is wrong with a store whose driver died. Only SQLite is checked: a server protects its own files."""
    return describe_damage(engine) if engine.dialect.name == "sqlite" else ""


def find_damage(engine: sa.Engine) -> list[str]:
    """Return all damage of a store: first of its file, then of its records, the trials by id.

    Of a store with an older schema only the file is checked.

    Raises:
        StoreError: It cannot be reached, or is not a store.
    """
    damage: list[str] = []
    try:
        with engine.begin() as connection:
            if engine.dialect.name == "sqlite":
                damage += _file_damage(connection)
            if read_version(connection) == HEAD:
                damage += _record_damage(connection)
                _read_texts(connection)
    except (*REFUSED, *DAMAGED) as error:
        refused = describe_refusal(error, engine.url)
        is_unreachable = engine.dialect.name != "sqlite" or isinstance(refused, StoreUnavailable)
        if is_unreachable or is_foreign_file(error, engine.url):
            raise refused from error  # which is not damage
        damage.append(f"it cannot be read: {short_cause(error)}")
    return damage


def find_damage_at(url: str) -> list[str]:
    """Return all damage of the store at a URL, as ``find_damage`` does. Nothing is changed.

    Raises:
        StoreError: There is no store.
    """
    engine = make_engine(url, create=False)
    try:
        return find_damage(engine)
    finally:
        engine.dispose()


def _file_damage(connection: sa.Connection) -> Iterator[str]:
    for (line,) in connection.exec_driver_sql("PRAGMA integrity_check(5)"):
        if line != "ok":
            yield f"its file is damaged: {' '.join(str(line).split())}"
    for table, row, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check").fetchmany(5):
        yield f"its file is damaged: row {row} of {table} belongs to a missing row of {parent}"


def check_board(connection: sa.Connection, where: sa.ColumnElement[bool], describing: sa.Select[str]) -> None:
    """Check the records behind a board before it is shown: a flipped bit could mean a wrong score or a missing row.

    Args:
        connection: To the store.
        where: The board's retrainings.
        describing: Query of the trials whose configuration and description the board shows, one a row.

    Raises:
        StoreError: A record is damaged.
    """
    try:
        damage = next(_board_damage(connection, where, describing), "")
    except DAMAGED as error:
        raise describe_refusal(error, connection.engine.url) from error
    if damage:
        raise describe_damaged_store(connection.engine.url, damage)


def _board_damage(
    connection: sa.Connection, where: sa.ColumnElement[bool], describing: sa.Select[str]
) -> Iterator[str]:
    trials = connection.scalar(sa.select(sa.func.count(TrialRow.id))) or 0
    if connection.dialect.name == "sqlite" and trials <= INDEX_CHECK_LIMIT:
        for check in ("PRAGMA integrity_check(trials)", "PRAGMA integrity_check(sweep_trials)"):
            for (line,) in connection.exec_driver_sql(check).fetchmany(1):
                if line != "ok":
                    yield f"its file is damaged: {' '.join(str(line).split())}"
    for trial in find_wrong_rows(connection, where, describing):
        yield f"trial {trial} is damaged: its plan or record does not match its checksum"
    yield from _environment_damage(connection)
    yield from _row_damage(connection)
    yield from _published_damage(connection)


def _read_texts(connection: sa.Connection) -> None:
    """Read every text and time; an invalid one raises. Epochs have only keys, which ``_file_damage`` checks."""
    for table in Base.metadata.sorted_tables:
        texts = [column for column in table.c if isinstance(column.type, sa.String | sa.JSON | UTCTime)]
        if table.name not in EPOCHS and texts:
            for _ in connection.execute(sa.select(*texts)):
                continue


def _record_damage(connection: sa.Connection) -> Iterator[str]:
    for trial in find_mismatches(connection):
        yield f"trial {trial} is damaged: its plan, record or curve does not match its checksum"
    yield from _environment_damage(connection)
    unchecked = sa.select(SweepRow.name, SweepRow.content, SweepRow.plan).where(SweepRow.checksum == "")
    for line in connection.execute(unchecked):
        if not isinstance(line.content, dict) or not isinstance(line.plan, dict | None):
            yield f"the sweep {line.name!r} is damaged: its settings or its plan are not JSON objects"
    yield from _row_damage(connection)
    for key, text in connection.execute(sa.select(PatchRow.id, PatchRow.text)):
        if digest({"patch": text}) != key:
            yield f"the patch {key} is damaged: its text does not match its name"
    yield from _published_damage(connection)


def _row_damage(connection: sa.Connection) -> Iterator[str]:
    for table, row in find_damaged_rows(connection):
        record = "the sweep" if table.name == SweepRow.__tablename__ else f"the description of the {row.kind}"
        yield f"{record} {row.name!r} is damaged: it does not match its checksum"


def _environment_damage(connection: sa.Connection) -> Iterator[str]:
    for key in find_damaged_environments(connection):
        yield f"the environment {key} is damaged: its facts do not match its name"


def _published_damage(connection: sa.Connection) -> Iterator[str]:
    shipped = {row["id"]: row for row in published_rows()}
    for number in connection.execute(sa.select(PublishedRow.__table__)).mappings():
        original = shipped.get(number["id"])
        if original and any(number[name] != original[name] for name in SAME):
            yield f"the published number {number['id']} is damaged: it differs from the one that Longwave ships"
