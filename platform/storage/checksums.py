"""Checksums of trials: written where one is planned or has ended, and compared with what lies there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa

from longwave.platform.records.checksum import START, Line, trial_checksum
from longwave.platform.records.run import ENDED
from longwave.platform.storage.base import Base
from longwave.platform.storage.in_clause import in_clause
from longwave.platform.storage.schema import CurveRow, FlagRow, MeasureRow, TrialRow, default_of

BESIDE = tuple(Base.metadata.tables[row.__tablename__] for row in (CurveRow, MeasureRow, FlagRow))
"""Tables whose rows belong to one trial that has ended."""
TRIALS = Base.metadata.tables[TrialRow.__tablename__]
CHUNK = 500
"""Trials that are looked at together: their curves fit in memory."""
DAMAGED = (sa.exc.SQLAlchemyError, ValueError, TypeError)
"""What reading a damaged row may raise: its JSON, its text or its types are broken."""


def write_checksums(connection: sa.Connection, trials: Sequence[str]) -> None:
    """Write the checksums of ``trials`` as they are.

    It is done in the transaction that plans a trial, writes its end or changes its record, after all of it.
    """
    write = sa.update(TRIALS).where(TRIALS.c.id == sa.bindparam("of")).values(checksum=sa.bindparam("new"))
    for part in _split_ids(trials):
        if new := [{"of": trial, "new": right} for trial, (_, right) in _read_checksums(connection, part).items()]:
            connection.execute(write, new)


def find_mismatches(connection: sa.Connection) -> dict[str, bool]:
    """Return the trials that are not what their checksums say, or unreadable; for each whether its plan is right."""
    mismatches: dict[str, bool] = {}
    for part in _split_ids(connection.scalars(sa.select(TRIALS.c.id).order_by(TRIALS.c.id)).all()):
        mismatches |= _compare_part(connection, part)
    return mismatches


def _compare_part(connection: sa.Connection, part: Sequence[str]) -> dict[str, bool]:
    try:
        checksums = _read_checksums(connection, part).items()
    except DAMAGED:  # a row here cannot even be read: look at each alone
        if len(part) == 1:
            return {part[0]: False}
        return {trial: plan for single in part for trial, plan in _compare_part(connection, [single]).items()}
    return {trial: kept[:START] == right[:START] for trial, (kept, right) in checksums if kept != right}


def _split_ids(ids: Sequence[str]) -> list[Sequence[str]]:
    return [ids[k : k + CHUNK] for k in range(0, len(ids), CHUNK)]


def _read_checksums(connection: sa.Connection, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return the checksum of each trial, and the one that it should have."""
    rows = connection.execute(sa.select(TRIALS).where(in_clause(TRIALS.c.id, ids))).all()
    ended = [row.id for row in rows if row.status in ENDED]
    beside: dict[str, dict[str, list[Line]]] = {trial: defaultdict(list) for trial in ended}
    for table in BESIDE if ended else ():
        for row in connection.execute(sa.select(table).where(in_clause(table.c.trial, ended))):
            beside[row.trial][table.name].append(_used_columns(table, row))
    return {row.id: (row.checksum, trial_checksum(_used_columns(TRIALS, row), beside.get(row.id))) for row in rows}


def _used_columns(table: sa.Table, row: sa.Row[Any]) -> dict[str, Any]:
    """Return the columns of a row that differ from their defaults, but for the checksum itself."""
    columns = zip(_column_defaults(table).items(), row, strict=True)
    used = {name: value for (name, default), value in columns if default is None or repr(value) != default}
    used.pop("checksum", None)
    return used


@cache
def _column_defaults(table: sa.Table) -> dict[str, str | None]:
    """Return the default of each column as text, as equal numbers may differ in kind; None where there is none."""
    defaults = {column.name: default_of(column) for column in table.c}
    return {name: None if default is ... else repr(default) for name, default in defaults.items()}
