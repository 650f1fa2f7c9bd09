"""What is written of trials in training: attempts, epochs, rungs and ends, each on a connection that writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa

from longwave.platform.records.report import Rung
from longwave.platform.records.run import ENDED, Point, Run
from longwave.platform.storage import rows
from longwave.platform.storage.among import among
from longwave.platform.storage.base import Base, utc_now
from longwave.platform.storage.database import insert_new
from longwave.platform.storage.driving import ArchiveRow, AttemptRow, CohortRow
from longwave.platform.storage.queries import pieces
from longwave.platform.storage.schema import CurveRow, TrialRow
from longwave.platform.storage.seals import fill

OF_CURVE = tuple(c.name for c in CurveRow.__table__.columns)
"""Columns of an epoch."""


TRIALS, ATTEMPTS = (Base.metadata.tables[row.__tablename__] for row in (TrialRow, AttemptRow))
GONE = sa.delete(Base.metadata.tables[CurveRow.__tablename__]).where(
    CurveRow.trial == sa.bindparam("of"), CurveRow.epoch == sa.bindparam("at")
)


def open_of(connection: sa.Connection, trials: Iterable[str]) -> set[str]:
    """Return which trials have not ended."""
    is_open = TrialRow.status.not_in(ENDED)
    query = sa.select(TrialRow.id).where(is_open)
    return {i for part in pieces(sorted(trials)) for i in connection.scalars(query.where(among(TrialRow.id, part)))}


def begin(
    connection: sa.Connection, began: Mapping[str, int], stand: Sequence[Point], owner: str, fences: Mapping[str, int]
) -> None:
    """Write an attempt at each trial; epochs of earlier ones that it does not stand on go to the archive.

    Args:
        connection: In a transaction that writes.
        began: The last epoch of each trial that stands.
        stand: All epochs that stand: those of the checkpoint.
        owner: Who trains.
        fences: Of the leases of the trials.
    """
    numbers, kept = _attempts(connection, began), {_numbers(vars(point)) for point in stand}
    query = sa.select(CurveRow.__table__)
    for part in pieces(sorted(began)):
        found = connection.execute(query.where(among(CurveRow.trial, part))).mappings().all()
        if gone := [dict(line) for line in found if _numbers(line) not in kept]:
            insert_new(connection, ArchiveRow, [{**line, "attempt": numbers.get(line["trial"], 0)} for line in gone])
            connection.execute(GONE, [{"of": line["trial"], "at": line["epoch"]} for line in gone])
        still = sa.and_(among(AttemptRow.trial, part), AttemptRow.ended.is_(None))
        connection.execute(sa.update(AttemptRow).where(still).values(ended=utc_now(), status="left"))
    new = [
        {"trial": trial, "number": numbers.get(trial, 0) + 1, "owner": owner, "fence": fences[trial]}
        | {"epoch": epoch, "started": utc_now(), "status": "", "reason": ""}
        for trial, epoch in began.items()
    ]
    insert_new(connection, AttemptRow, new)


def leave(connection: sa.Connection, trials: Iterable[str], why: str) -> None:
    """Write that the attempts at trials are over without an end of theirs."""
    for part in pieces(sorted(trials)):
        still = sa.and_(among(AttemptRow.trial, part), AttemptRow.ended.is_(None))
        connection.execute(sa.update(AttemptRow).where(still).values(ended=utc_now(), status="left", reason=why))


def note(connection: sa.Connection, points: Sequence[Point], rungs: Sequence[Rung]) -> None:
    """Write epochs, and places at rungs; what is there already stays, and a rung is decided once."""
    insert_new(connection, CurveRow, [vars(p) for p in points])
    insert_new(connection, CohortRow, [asdict(r) for r in rungs])
    for rung in rungs:
        if rung.stays is not None:
            key = sa.and_(CohortRow.cohort == rung.cohort, CohortRow.epoch == rung.epoch, CohortRow.trial == rung.trial)
            undecided = sa.update(CohortRow).where(key, CohortRow.stays.is_(None))
            connection.execute(undecided.values(stays=rung.stays))


def end(connection: sa.Connection, runs: Sequence[Run], rerun: str = "") -> None:
    """Write the ends of trials that have none."""
    now = utc_now()
    for table, values in rows.beside(runs):
        insert_new(connection, table, values)
    if runs:
        ends = [{"of": run.trial, **rows.ended(run), "rerun": rerun, "ended": now} for run in runs]
        open_row = sa.and_(TRIALS.c.id == sa.bindparam("of"), *(TRIALS.c.status != status for status in ENDED))
        connection.execute(sa.update(TRIALS).where(open_row), ends)
        still = sa.and_(ATTEMPTS.c.trial == sa.bindparam("of"), ATTEMPTS.c.ended.is_(None))
        how = [{"of": run.trial, "ended": now, "status": run.status, "reason": run.reason} for run in runs]
        connection.execute(sa.update(ATTEMPTS).where(still), how)
    fill(connection, [run.trial for run in runs])


def reopen(connection: sa.Connection, trials: Sequence[str]) -> None:
    """Make ended trials open again; how they ended stays with their attempts."""
    blank = {"status": "planned", "reason": "", "epochs": 0, "best_epoch": None, "valid": None, "test": None}
    blank |= {"seconds": 0.0, "members": 1, "parameters": None, "joules": None, "environment": None}
    for part in pieces(sorted(trials)):
        values = {**blank, "pack": None, "ended": None, "seal": None}
        connection.execute(sa.update(TrialRow).where(among(TrialRow.id, part)).values(values))
    fill(connection, trials)


def _attempts(connection: sa.Connection, trials: Iterable[str]) -> dict[str, int]:
    """Return the number of the last attempt at each trial that has one."""
    query = sa.select(AttemptRow.trial, sa.func.max(AttemptRow.number)).group_by(AttemptRow.trial)
    parts = [connection.execute(query.where(among(AttemptRow.trial, part))) for part in pieces(sorted(trials))]
    return {trial: number for part in parts for trial, number in part}


def _numbers(line: Mapping[str, Any] | sa.RowMapping) -> tuple[Any, ...]:
    """Return what makes two epochs the same."""
    return tuple(line[name] for name in OF_CURVE)
