"""Queries of the store: trials, curves, and the results behind boards."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from longwave.platform.boards.row import SHORT
from longwave.platform.boards.trust import shipped
from longwave.platform.errors import ConfigError
from longwave.platform.records.group import Group, RunSummary
from longwave.platform.records.run import ENDED, Measure, Point
from longwave.platform.records.stored import Trial, TrialEnd
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage import rows
from longwave.platform.storage.choices import list_instead_of, read_sweep_contents, read_uncounted
from longwave.platform.storage.database import Database
from longwave.platform.storage.groups import read_groups, read_search
from longwave.platform.storage.in_clause import in_clause, select_in, split_ids
from longwave.platform.storage.lease_tables import AttemptRow
from longwave.platform.storage.liveness import trials_in_training
from longwave.platform.storage.schema import (
    CurveRow,
    EnvironmentRow,
    FlagRow,
    ImportRow,
    MeasureRow,
    PatchRow,
    PublishedRow,
    SweepTrialRow,
    TrialRow,
)
from longwave.platform.wording import list_first

MEASURE: tuple[Any, ...] = (MeasureRow.trial, *(getattr(MeasureRow, f.name) for f in fields(Measure)))
ALONG = (MeasureRow.trial, MeasureRow.key, MeasureRow.unit, MeasureRow.x_name, MeasureRow.x)
"""Order of measures: along their axis, as in bundles, and not by value."""


class Queries(Database):
    """Queries of a store; they write nothing."""

    def trials(self, sweep: str) -> list[Trial]:
        """Return the trials of a sweep, in order."""
        return self._select(TrialRow.id.in_(sa.select(SweepTrialRow.trial).where(SweepTrialRow.sweep == sweep)), sweep)

    def trials_by_id(self, ids: Sequence[str]) -> list[Trial]:
        """Return those of the trials with these ids that exist, ordered by id."""
        return [trial for part in split_ids(sorted(ids)) for trial in self._select(in_clause(TrialRow.id, part))]

    def ends_of(self, ids: Collection[str]) -> dict[str, TrialEnd]:
        """Return status and results of those of the trials with these ids that exist."""
        query = sa.select(TrialRow.id, *(getattr(TrialRow, field.name) for field in fields(TrialEnd)))
        with self.reading() as connection:
            return {trial: TrialEnd(*end) for trial, *end in select_in(connection, query, TrialRow.id, ids)}

    def have_trusted_ends(self, ids: Collection[str]) -> bool:
        """Return whether all trials with these ids exist and ended, here or in bundles that the package trusts."""
        ends = self.ends_of(ids).values()
        trusted = [end for end in ends if end.status in ENDED and (end.origin is None or end.origin in shipped())]
        return len(trusted) == len(set(ids))

    def configs(self, ids: Sequence[str]) -> dict[str, TrialConfig]:
        """Return the configurations of those of the trials with these ids that exist."""
        query = sa.select(TrialRow.id, TrialRow.config)
        with self.reading() as connection:
            lines = select_in(connection, query, TrialRow.id, ids)
            by_trial = {trial: TrialConfig.from_dict(config) for trial, config in lines}
        for trial, config in by_trial.items():
            vars(config)["id"] = trial  # cached: hashing each configuration of a large sweep takes long
        return by_trial

    def retrainings(self, task: str | None = None) -> list[Trial]:
        """Return all retrainings of ``task``, or of all tasks, ended or not."""
        where = TrialRow.phase == "retrain"
        return self._select(where if task is None else sa.and_(where, TrialRow.task == task))

    def uncounted(self, trust: Collection[str] = ()) -> set[str]:
        """Return the ids of retrainings that no board counts.

        They were used to choose their row, which was then retrained with other seeds.

        Args:
            trust: Full names of bundles that the reader trusts.
        """
        with self.reading() as connection:
            return read_uncounted(connection, [*list_instead_of(read_sweep_contents(connection))], trust)

    def rows(self, name: str, task: str | None = None) -> list[Trial]:
        """Return the retrainings of a row, ended or not.

        Args:
            name: The row's name or its first hex digits, 4 or more.
            task: Consider only rows of this task.

        Raises:
            ConfigError: The name matches no row, or several; the message says what to do.
        """
        digits, advice = _check_digits("row", name), f"See the names with: {_list(task)}"
        where = [TrialRow.phase == "retrain", _begins_with(TrialRow.row, digits)]
        trials = self._select(sa.and_(*where, *([TrialRow.task == task] if task else [])))
        configs = {t.config.row: t.config for t in trials}
        if not configs:
            of_task = f" of {task}" if task else ""
            raise ConfigError(f"No trained row{of_task} has a name that begins with {digits}. {advice}")
        if len(configs) > 1:
            several = [f"{row[:SHORT]} ({c.model} on {c.task})" for row, c in sorted(configs.items())]
            shown = list_first(several, 5)
            raise ConfigError(f"{digits} begins the names of {len(configs)} rows: {shown}. Give more digits.")
        return trials

    def trials_named(self, name: str) -> list[Trial]:
        """Return the retrainings of the row, or the one trial, whose name begins with ``name``: 4 hex digits or more.

        Raises:
            ConfigError: It matches no row and no trial, or several; the message says what to do.
        """
        digits = _check_digits("row or a trial", name)
        matches = self._select(_begins_with(TrialRow.id, digits))
        of_row = sa.select(sa.func.count()).where(TrialRow.phase == "retrain", _begins_with(TrialRow.row, digits))
        with self.reading() as connection:
            rows = connection.scalar(of_row)
        if len(matches) + bool(rows) > 1:
            several = [f"trial {t.config.id[:SHORT]}" for t in matches[:5]] + (["a row"] if rows else [])
            raise ConfigError(f"{digits} begins the names of {', '.join(several)}. Give more digits.")
        if not matches and not rows:
            raise ConfigError(f"No trained row and no trial has a name that begins with {digits}. See: {_list(None)}")
        return matches or self.rows(digits)

    def bundles(self) -> list[str]:
        """Return the names of the bundles that were imported, sorted."""
        with self.reading() as connection:
            return list(connection.scalars(sa.select(ImportRow.name).order_by(ImportRow.name)))

    def sweeps_of_trial(self, trial: str) -> list[str]:
        """Return the sweeps that planned a trial, sorted."""
        query = sa.select(SweepTrialRow.sweep).where(SweepTrialRow.trial == trial).order_by(SweepTrialRow.sweep)
        with self.reading() as connection:
            return list(connection.scalars(query))

    def failures(self, sweep: str) -> list[tuple[str, str]]:
        """Return model and reason of each trial of a sweep that failed."""
        query = sa.select(TrialRow.model, TrialRow.reason).join(SweepTrialRow, SweepTrialRow.trial == TrialRow.id)
        query = query.where(SweepTrialRow.sweep == sweep, TrialRow.status == "failed").order_by(SweepTrialRow.position)
        with self.reading() as connection:
            return [(model, reason) for model, reason in connection.execute(query)]

    def curves(self, trials: Sequence[str]) -> list[Point]:
        """Return all epochs of ``trials``, by trial and epoch."""
        query = sa.select(CurveRow.__table__).order_by(CurveRow.trial, CurveRow.epoch)
        with self.reading() as connection:
            return [Point(**line._mapping) for line in select_in(connection, query, CurveRow.trial, trials)]

    def attempts(self, trials: Sequence[str]) -> dict[str, list[str]]:
        """Return how the attempts at each of ``trials`` ended, in order; "" for one that has not ended."""
        query = sa.select(AttemptRow.trial, AttemptRow.status).order_by(AttemptRow.trial, AttemptRow.number)
        by_trial: dict[str, list[str]] = {}
        with self.reading() as connection:
            for trial, status in select_in(connection, query, AttemptRow.trial, trials):
                by_trial.setdefault(trial, []).append(status)
        return by_trial

    def starts(self, trials: Sequence[str]) -> dict[str, float]:
        """Return the Unix time at which each of ``trials`` was first trained here; others are left out."""
        query = sa.select(AttemptRow.trial, sa.func.min(AttemptRow.started)).group_by(AttemptRow.trial)
        with self.reading() as connection:
            return {trial: at.timestamp() for trial, at in select_in(connection, query, AttemptRow.trial, trials)}

    def groups(self, task: str | None = None, trust: Collection[str] = ()) -> list[Group]:
        """Return the groups of retrainings from which the board of ``task``, or of all tasks, is computed.

        Args:
            task: Name of the task.
            trust: Full names of bundles that the reader trusts.
        """
        with self.reading() as connection:
            return read_groups(connection, task, trust)

    def published(self, task: str | None = None) -> list[dict[str, Any]]:
        """Return the published numbers of ``task``, or all."""
        query = sa.select(PublishedRow.__table__).order_by(PublishedRow.id)
        query = query if task is None else query.where(PublishedRow.task == task)
        with self.reading() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    def search_runs(self, row: str) -> list[RunSummary]:
        """Return the search trials of the cells that planned retrainings of ``row``, by id."""
        with self.reading() as connection:
            return read_search(connection, row)

    def tasks(self) -> list[str]:
        """Return the tasks that have retrainings, sorted."""
        query = sa.select(TrialRow.task).where(TrialRow.phase == "retrain").distinct().order_by(TrialRow.task)
        with self.reading() as connection:
            return list(connection.scalars(query))

    def sweeps_of_rows(self, rows: Iterable[str]) -> list[str]:
        """Return the sweeps that planned retrainings of any of ``rows``, sorted."""
        s, t = SweepTrialRow, TrialRow
        query = sa.select(s.sweep).join(t, t.id == s.trial).distinct().order_by(s.sweep)
        with self.reading() as connection:
            return list(connection.scalars(query.where(t.phase == "retrain", t.row.in_(list(rows)))))

    def patches(self, names: Iterable[str]) -> dict[str, str]:
        """Return how code differed from its commit, by the names that environments give as ``diff``."""
        query = sa.select(PatchRow.id, PatchRow.text).where(PatchRow.id.in_(list(names))).order_by(PatchRow.id)
        with self.reading() as connection:
            return {line.id: line.text for line in connection.execute(query)}

    def count(self) -> dict[str, int]:
        """Return how many ``trials`` and ``epochs`` the store holds."""
        with self.reading() as connection:
            counts = {"trials": sa.func.count(TrialRow.id), "epochs": sa.func.count(CurveRow.epoch)}
            return {name: connection.scalar(sa.select(count)) or 0 for name, count in counts.items()}

    def _select(self, where: sa.ColumnElement[bool], sweep: str | None = None) -> list[Trial]:
        """Return trials by a condition on their columns; by position in ``sweep``, else by id."""
        query = sa.select(TrialRow, EnvironmentRow.facts, FlagRow.text).outerjoin(EnvironmentRow)
        query = query.outerjoin(FlagRow, FlagRow.trial == TrialRow.id).where(where)
        if sweep is None:
            query = query.order_by(TrialRow.id)
        else:
            on = sa.and_(SweepTrialRow.trial == TrialRow.id, SweepTrialRow.sweep == sweep)
            query = query.join(SweepTrialRow, on).order_by(SweepTrialRow.position)
        with self.errors(), Session(self.engine) as session:
            measures: dict[str, list[Measure]] = {}
            for trial, *measure in session.execute(sa.select(*MEASURE).join(TrialRow).where(where).order_by(*ALONG)):
                measures.setdefault(trial, []).append(Measure(*measure))
            in_training = set(session.scalars(trials_in_training(session.connection())))
            selected = [
                rows.to_trial(row, facts, measures.get(row.id, ()), flags)
                for row, facts, flags in session.execute(query)
            ]
        return [replace(t, status="running") if t.run is None and t.config.id in in_training else t for t in selected]


def _begins_with(column: Any, name: str) -> sa.ColumnElement[bool]:
    """Return the condition that a name of hex digits begins with ``name``; unlike LIKE, it uses the index."""
    condition: sa.ColumnElement[bool] = column.between(name, f"{name}g")
    return condition


def _check_digits(kind: str, name: str) -> str:
    """Return the first hex digits of a name, in lower case; ConfigError if they are not 4 to 16 hex digits."""
    if not re.fullmatch("[0-9a-f]{4,16}", name.lower()):
        raise ConfigError(f"A {kind} is named by 4 to 16 hex digits, got {name!r}. See the names with: {_list(None)}")
    return name.lower()


def _list(task: str | None) -> str:
    return f"longwave board {task or ''} --format json".replace("  ", " ")
