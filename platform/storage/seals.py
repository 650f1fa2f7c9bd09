"""Seals of the store's records: set where a trial has ended, and compared with what lies there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from longwave.platform.records.run import ENDED, Measure, Point
from longwave.platform.records.seal import ENDS, HALF, PLANNED, seal
from longwave.platform.storage.among import among
from longwave.platform.storage.schema import Base, CurveRow, MeasureRow, TrialRow

CHUNK = 500
"""Trials that are looked at together: their curves fit in memory."""
DAMAGED = (sa.exc.SQLAlchemyError, ValueError, TypeError)
"""What reading a damaged row may raise: its JSON, its text or its types are broken."""


def fill(connection: sa.Connection, trials: Sequence[str] | None = None) -> int:
    """Seal ``trials`` as they are, or all that have no seal; return how many.

    It is done in the transaction that plans a trial, writes its end or changes its record, after all of it.
    """
    chunks = _chunks(connection, TrialRow.seal.is_(None)) if trials is None else _cut(trials)
    made = [{"of": trial, "made": found} for part in chunks for trial, (_, found) in _seals(connection, part).items()]
    if made:
        table = Base.metadata.tables[TrialRow.__tablename__]
        connection.execute(
            sa.update(table).where(table.c.id == sa.bindparam("of")).values(seal=sa.bindparam("made")), made
        )
    return len(made)


def broken(connection: sa.Connection) -> dict[str, bool]:
    """Return the trials that are not what was sealed, or unreadable, by id; for each whether its plan is still right.

    A trial without a seal is none of them: an older Longwave wrote it.
    """
    found: dict[str, bool] = {}
    for part in _chunks(connection, TrialRow.seal.is_not(None)):
        found |= _broken(connection, part)
    return found


def _broken(connection: sa.Connection, part: Sequence[str]) -> dict[str, bool]:
    try:
        seals = _seals(connection, part).items()
    except DAMAGED:  # a row here cannot even be read: look at each alone
        if len(part) == 1:
            return {part[0]: False}
        return {trial: plan for single in part for trial, plan in _broken(connection, [single]).items()}
    return {trial: (kept or "")[:HALF] == right[:HALF] for trial, (kept, right) in seals if kept != right}


def _chunks(connection: sa.Connection, where: sa.ColumnElement[bool]) -> list[Sequence[str]]:
    return _cut(list(connection.scalars(sa.select(TrialRow.id).where(where).order_by(TrialRow.id))))


def _cut(ids: Sequence[str]) -> list[Sequence[str]]:
    return [ids[k : k + CHUNK] for k in range(0, len(ids), CHUNK)]


def _seals(connection: sa.Connection, ids: Sequence[str]) -> dict[str, tuple[str | None, str]]:
    """Return the seal of each trial, and the one that it should have."""
    columns = [getattr(TrialRow, name) for name in (*PLANNED, *ENDS, "seal")]
    rows = connection.execute(sa.select(*columns).where(among(TrialRow.id, ids))).mappings().all()
    ended = [row["id"] for row in rows if row["status"] in ENDED]
    curves, measures = _of(connection, CurveRow, ended), _of(connection, MeasureRow, ended)
    return {
        row["id"]: (
            row["seal"],
            seal(
                dict(row),
                [Point(trial=row["id"], **point) for point in curves[row["id"]]] if row["status"] in ENDED else None,
                [Measure(**measure) for measure in measures[row["id"]]],
            ),
        )
        for row in rows
    }


def _of(connection: sa.Connection, table: type[Any], ids: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of a table of trials, by trial, without it."""
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    if not ids:
        return rows
    for row in connection.execute(sa.select(table.__table__).where(among(table.trial, ids))).mappings():
        plain = dict(row)
        rows[plain.pop("trial")].append(plain)
    return rows
