"""Writes attempts, epochs, rungs and ends of trials, each on a connection in a write transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import sqlalchemy as sa

from longwave.platform.records.report import Rung
from longwave.platform.records.run import ENDED, EpochLine, Point, Run
from longwave.platform.records.stored import Trial
from longwave.platform.storage import rows
from longwave.platform.storage.base import Base, utc_now
from longwave.platform.storage.checksums import checksums_of_new, write_checksums
from longwave.platform.storage.database import insert_lines, insert_new, upsert_rows
from longwave.platform.storage.in_clause import in_clause, split_ids
from longwave.platform.storage.lease_tables import ArchiveRow, AttemptRow, CohortRow
from longwave.platform.storage.schema import (
    BLANK_TRIAL,
    CurveRow,
    EnvironmentRow,
    FlagRow,
    MeasureRow,
    PatchRow,
    TrialRow,
)
from longwave.platform.storage.texts import clean_run

TRIALS, ATTEMPTS, CURVES = (Base.metadata.tables[row.__tablename__] for row in (TrialRow, AttemptRow, CurveRow))


def open_trials(connection: sa.Connection, trials: Iterable[str]) -> set[str]:
    """Return those of ``trials`` that have not ended."""
    query = sa.select(TrialRow.id).where(TrialRow.status.not_in(ENDED))
    parts = [connection.scalars(query.where(in_clause(TrialRow.id, part))) for part in split_ids(sorted(trials))]
    return {trial for part in parts for trial in part}


def begin_attempts(
    connection: sa.Connection,
    last_epochs: Mapping[str, int],
    valid_points: Sequence[Point],
    owner: str,
    fences: Mapping[str, int],
) -> None:
    """Write an attempt at each trial; epochs of earlier attempts that it does not continue from move to the archive.

    Args:
        connection: In a write transaction.
        last_epochs: The last epoch of each trial in the checkpoint.
        valid_points: All epochs in the checkpoint.
        owner: The driver.
        fences: Fencing numbers of the trials' leases.
    """
    numbers, points = _last_attempts(connection, last_epochs), {_point_values(vars(point)) for point in valid_points}
    delete = sa.delete(CURVES).where(CURVES.c.trial == sa.bindparam("of"), CURVES.c.epoch == sa.bindparam("at"))
    for part in split_ids(sorted(last_epochs)):
        lines = connection.execute(sa.select(CURVES).where(in_clause(CURVES.c.trial, part))).mappings().all()
        if superseded := [dict(line) for line in lines if _point_values(line) not in points]:
            attempts = [{**line, "attempt": numbers.get(line["trial"], 0)} for line in superseded]
            insert_new(connection, ArchiveRow, attempts)
            connection.execute(delete, [{"of": line["trial"], "at": line["epoch"]} for line in superseded])
    abandon_attempts(connection, last_epochs)
    new_attempts = [
        {"trial": trial, "number": numbers.get(trial, 0) + 1, "owner": owner, "fence": fences[trial]}
        | {"epoch": epoch, "started": utc_now()}
        for trial, epoch in last_epochs.items()
    ]
    insert_new(connection, AttemptRow, new_attempts)


def abandon_attempts(connection: sa.Connection, trials: Iterable[str], reason: str = "") -> None:
    """Record that unfinished attempts at trials were abandoned."""
    for part in split_ids(sorted(trials)):
        update = sa.update(AttemptRow).where(in_clause(AttemptRow.trial, part), AttemptRow.ended.is_(None))
        connection.execute(update.values(ended=utc_now(), status="left", reason=reason))


def write_epochs(connection: sa.Connection, points: Sequence[Point], rungs: Sequence[Rung] = ()) -> None:
    """Write epochs and scores at rungs. Existing ones are not changed, and a rung is decided once."""
    insert_new(connection, CurveRow, [vars(p) for p in points])
    insert_new(connection, CohortRow, [asdict(r) for r in rungs])
    for rung in rungs:
        if rung.stays is not None:
            key = sa.and_(CohortRow.cohort == rung.cohort, CohortRow.epoch == rung.epoch, CohortRow.trial == rung.trial)
            undecided = sa.update(CohortRow).where(key, CohortRow.stays.is_(None))
            connection.execute(undecided.values(stays=rung.stays))


def write_ends(connection: sa.Connection, runs: Sequence[Run], rerun: str = "") -> None:
    """Write the ends of trials that have not ended."""
    if not runs:
        return
    runs, now = [clean_run(run) for run in runs], utc_now()
    insert_new(connection, EnvironmentRow, rows.environment_rows(runs))
    insert_new(connection, PatchRow, rows.patch_rows(runs))
    insert_new(connection, MeasureRow, rows.measure_rows(runs))
    ends = [{"of": run.trial, **rows.columns_of_end(run), "rerun": rerun, "ended": now} for run in runs]
    open_row = sa.and_(TRIALS.c.id == sa.bindparam("of"), *(TRIALS.c.status != status for status in ENDED))
    connection.execute(sa.update(TRIALS).where(open_row), ends)
    unfinished = sa.and_(ATTEMPTS.c.trial == sa.bindparam("of"), ATTEMPTS.c.ended.is_(None))
    attempt_ends = [{"of": run.trial, "ended": now, "status": run.status, "reason": run.reason} for run in runs]
    connection.execute(sa.update(ATTEMPTS).where(unfinished), attempt_ends)
    write_checksums(connection, [run.trial for run in runs])


def insert_ended(
    connection: sa.Connection, trials: Sequence[tuple[Trial, Sequence[EpochLine]]], replaced: Collection[str] = ()
) -> None:
    """Write trials that ended elsewhere with their epochs and checksums. The store has those of ``replaced`` alone."""
    records = [replace(trial, run=trial.run and clean_run(trial.run)) for trial, _ in trials]
    runs = [trial.run for trial in records if trial.run]
    insert_new(connection, EnvironmentRow, rows.environment_rows(runs))
    insert_new(connection, PatchRow, rows.patch_rows(runs))
    lines, measures, flags = rows.ended_trials(records), rows.measure_rows(runs), rows.flag_rows(records)
    epochs = {trial.config.id: lines for trial, lines in trials}
    is_sqlite = connection.dialect.name == "sqlite"
    checksums = checksums_of_new(lines, epochs, measures, flags) if is_sqlite else [""] * len(lines)
    for line, checksum in zip(lines, checksums, strict=True):
        line["checksum"] = checksum
    for line in lines:
        if (trial := line["id"]) in replaced:
            for table in (MeasureRow, FlagRow, CurveRow):
                connection.execute(sa.delete(table).where(table.trial == trial))
    upsert_rows(connection, TrialRow, [line for line in lines if line["id"] in replaced])
    if new := [line for line in lines if line["id"] not in replaced]:
        connection.execute(sa.insert(TrialRow), new)
    insert_new(connection, MeasureRow, measures)
    insert_new(connection, FlagRow, flags)
    insert_lines(connection, CurveRow, [line for lines in epochs.values() for line in lines])
    if not is_sqlite:  # PostgreSQL keeps -0.0, which SQLite stores as 0.0
        write_checksums(connection, list(epochs))


def reopen_trials(connection: sa.Connection, trials: Sequence[str]) -> None:
    """Reopen ended trials; their attempts still record how they ended."""
    for part in split_ids(sorted(trials)):
        connection.execute(sa.update(TrialRow).where(in_clause(TrialRow.id, part)).values(BLANK_TRIAL))
    write_checksums(connection, trials)


def _last_attempts(connection: sa.Connection, trials: Iterable[str]) -> dict[str, int]:
    """Return the number of the last attempt at each trial that has one."""
    query = sa.select(AttemptRow.trial, sa.func.max(AttemptRow.number)).group_by(AttemptRow.trial)
    parts = [connection.execute(query.where(in_clause(AttemptRow.trial, part))) for part in split_ids(sorted(trials))]
    return {trial: number for part in parts for trial, number in part}


def _point_values(line: Mapping[str, Any] | sa.RowMapping) -> tuple[Any, ...]:
    """Return the values in which equal epochs agree."""
    return tuple(line[column.name] for column in CURVES.c)
