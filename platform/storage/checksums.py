"""Checksums of trials: written when a trial is planned and when it ends, and compared with the stored rows.

Rows of sweeps and of the catalogue have their own checksums.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa

from longwave.platform.records.checksum import (
    PLAN,
    START,
    WITHOUT_RECORD,
    Line,
    epoch_text,
    record_digits,
    row_checksum,
    trial_checksum,
)
from longwave.platform.records.identity import digest
from longwave.platform.records.run import ENDED, EpochLine
from longwave.platform.storage.base import Base
from longwave.platform.storage.in_clause import in_clause, split_ids
from longwave.platform.storage.schema import (
    CatalogueRow,
    CurveRow,
    EnvironmentRow,
    FlagRow,
    MeasureRow,
    SweepRow,
    TrialRow,
    default_of,
)

TRIAL_TABLES = tuple(Base.metadata.tables[row.__tablename__] for row in (CurveRow, MeasureRow, FlagRow))
"""Tables whose rows belong to one trial that has ended."""
MEASURES, FLAGS = TRIAL_TABLES[1:]
TRIALS = Base.metadata.tables[TrialRow.__tablename__]
CHECKED: dict[type[Base], sa.Table] = {row: Base.metadata.tables[row.__tablename__] for row in (SweepRow, CatalogueRow)}
"""Tables whose rows have their own checksums."""
CHUNK = 500
"""Trials checked at a time, few enough for their curves to fit in memory."""
DAMAGED = (sa.exc.SQLAlchemyError, ValueError, TypeError)
"""Exceptions from reading a damaged row, whose JSON, text or types are invalid."""


def write_checksums(connection: sa.Connection, trials: Sequence[str]) -> None:
    """Write the checksums of ``trials``, computed from their stored rows. The digits of a plan that has some stay, so
    that a damaged plan stays damaged.

    Call it last in any transaction that plans a trial, writes its end or changes its record.
    """
    write = sa.update(TRIALS).where(TRIALS.c.id == sa.bindparam("of")).values(checksum=sa.bindparam("new"))
    for part in split_ids(trials, CHUNK):
        checksums = _read_checksums(connection, part)
        if updates := [
            {"of": trial, "new": (stored[:START] or expected[:START]) + expected[START:]}
            for trial, (stored, expected) in checksums.items()
        ]:
            connection.execute(write, updates)


def write_row_checksums(connection: sa.Connection, of: type[Base]) -> None:
    """Write the missing checksums of a table's rows: of those just written, and of those from before schema 0013."""
    table = CHECKED[of]
    for row in connection.execute(sa.select(table).where(table.c.checksum == "")).all():
        checksum = row_checksum(_used_columns(table, row._mapping))
        connection.execute(sa.update(table).where(*_is_row(table, row)).values(checksum=checksum))


def find_damaged_rows(connection: sa.Connection) -> Iterator[tuple[sa.Table, sa.Row[Any]]]:
    """Yield the rows of sweeps and of the catalogue that do not match their checksums."""
    for table in CHECKED.values():
        for row in connection.execute(sa.select(table).where(table.c.checksum != "")):
            if not is_row_intact(table, row):
                yield table, row


def is_row_intact(table: sa.Table, row: sa.Row[Any]) -> bool:
    """Return whether a row of ``CHECKED``, with all its columns, matches its checksum, if it has one."""
    return row.checksum in ("", row_checksum(_used_columns(table, row._mapping)))


def delete_damaged_rows(connection: sa.Connection) -> None:
    """Delete the rows that ``find_damaged_rows`` yields."""
    for table, row in [*find_damaged_rows(connection)]:
        connection.execute(sa.delete(table).where(*_is_row(table, row)))


def find_damaged_environments(connection: sa.Connection) -> list[str]:
    """Return the ids of environments that are not the digests of their facts."""
    rows = connection.execute(sa.select(EnvironmentRow.id, EnvironmentRow.facts))
    return [key for key, facts in rows if digest(facts) != key]


def _is_row(table: sa.Table, row: sa.Row[Any]) -> list[sa.ColumnElement[bool]]:
    return [column == row._mapping[column.name] for column in table.primary_key]


def checksums_of_new(
    trials: Sequence[Mapping[str, Any]],
    epochs: Mapping[str, Sequence[EpochLine]],
    measures: Sequence[Mapping[str, Any]],
    flags: Sequence[Mapping[str, Any]],
) -> list[str]:
    """Return the checksums of ended trials from the rows that are about to be written to SQLite."""
    rows_by_trial: dict[str, dict[str, list[Line | str]]] = {trial["id"]: defaultdict(list) for trial in trials}
    for table, rows in ((MEASURES, measures), (FLAGS, flags)):
        for row in rows:
            rows_by_trial[row["trial"]][table.name].append(_used_columns(table, _without_negative_zeros(row)))
    for trial, lines in epochs.items():
        rows_by_trial[trial][CurveRow.__tablename__] = [epoch_text(*line) for line in lines]
    return [
        trial_checksum(_used_columns(TRIALS, _without_negative_zeros(trial)), rows_by_trial[trial["id"]])
        for trial in trials
    ]


def _without_negative_zeros(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with 0.0 in place of -0.0, as SQLite stores it."""
    return {name: value + 0.0 if isinstance(value, float) else value for name, value in row.items()}


def find_mismatches(connection: sa.Connection) -> dict[str, bool]:
    """Return the trials that do not match their checksums or cannot be read; for each, whether its plan is intact."""
    mismatches: dict[str, bool] = {}
    for part in split_ids(connection.scalars(sa.select(TRIALS.c.id).order_by(TRIALS.c.id)).all(), CHUNK):
        mismatches |= _compare_part(connection, part)
    return mismatches


def find_damaged_plans(connection: sa.Connection, trials: Sequence[str]) -> list[str]:
    """Return those of ``trials`` whose plans do not match their checksums or cannot be read."""
    compared = [_compare_part(connection, part).items() for part in split_ids(trials, CHUNK)]
    return [trial for part in compared for trial, plan_is_intact in part if not plan_is_intact]


def _compare_part(connection: sa.Connection, part: Sequence[str]) -> dict[str, bool]:
    try:
        checksums = _read_checksums(connection, part).items()
    except DAMAGED:  # some row cannot even be read: check each trial by itself
        if len(part) == 1:
            return {part[0]: False}
        return {
            trial: plan_is_intact
            for single in part
            for trial, plan_is_intact in _compare_part(connection, [single]).items()
        }
    return {
        trial: stored[:START] == expected[:START]
        for trial, (stored, expected) in checksums
        if stored not in (expected, expected[:WITHOUT_RECORD])
    }


def find_wrong_rows(
    connection: sa.Connection, where: sa.ColumnElement[bool], describing: sa.Select[str]
) -> Iterator[str]:
    """Yield trials whose rows do not match their checksums. Plans are checked only of the trials ``describing``.

    Curves are read only for trials with older checksums, which have no digits for the record alone.
    """
    plain = [column for column in TRIALS.c if column.name not in PLAN or column.name == "id"]
    with_older_checksums: list[str] = []
    for row in connection.execute(sa.select(*plain).where(where)):
        if len(row.checksum) == WITHOUT_RECORD:
            with_older_checksums.append(row.id)
        elif row.checksum[WITHOUT_RECORD:] != (
            record_digits(_used_columns(TRIALS, row._mapping)) if row.status in ENDED else ""
        ):
            yield row.id
    for part in split_ids(with_older_checksums, CHUNK):
        yield from _compare_part(connection, part)
    plan = [TRIALS.c[name] for name in sorted(PLAN)]
    for row in connection.execute(sa.select(*plan, TRIALS.c.checksum).where(TRIALS.c.id.in_(describing))):
        if row.checksum[:START] != trial_checksum(_used_columns(TRIALS, row._mapping)):
            yield row.id


def _read_checksums(connection: sa.Connection, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return the checksum of each trial, and the one that it should have."""
    rows = connection.execute(sa.select(TRIALS).where(in_clause(TRIALS.c.id, ids))).all()
    ended = [row.id for row in rows if row.status in ENDED]
    rows_by_trial: dict[str, dict[str, list[Line]]] = {trial: defaultdict(list) for trial in ended}
    for table in TRIAL_TABLES if ended else ():
        for row in connection.execute(sa.select(table).where(in_clause(table.c.trial, ended))):
            rows_by_trial[row.trial][table.name].append(_used_columns(table, row._mapping))
    return {
        row.id: (row.checksum, trial_checksum(_used_columns(TRIALS, row._mapping), rows_by_trial.get(row.id)))
        for row in rows
    }


def _used_columns(table: sa.Table, row: Mapping[str, Any] | sa.RowMapping) -> dict[str, Any]:
    """Return the columns of a row that differ from their defaults, except the checksum itself."""
    defaults = _column_defaults(table)
    used = {name: value for name, value in row.items() if (d := defaults[name]) is None or repr(value) != d}
    used.pop("checksum", None)
    return used


@cache
def _column_defaults(table: sa.Table) -> dict[str, str | None]:
    """Return the default of each column as text, as equal numbers may differ in type; None if it has none."""
    defaults = {column.name: default_of(column) for column in table.c}
    return {name: None if default is ... else repr(default) for name, default in defaults.items()}
