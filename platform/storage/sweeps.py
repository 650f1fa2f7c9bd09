"""Sweeps in the store: their settings and plan, what they are to do, what they have cost."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from longwave.platform.errors import ConfigError, did_you_mean
from longwave.platform.records.run import ENDED
from longwave.platform.records.stored import EpochCounts, RunningTrial, StoredSweep, SweepCost
from longwave.platform.records.trial import Phase
from longwave.platform.storage import trial_writes
from longwave.platform.storage.base import utc_now
from longwave.platform.storage.checksums import write_row_checksums
from longwave.platform.storage.database import insert_row
from longwave.platform.storage.in_clause import select_in
from longwave.platform.storage.lease_tables import AttemptRow, DriverRow
from longwave.platform.storage.liveness import trials_in_training
from longwave.platform.storage.queries import Queries
from longwave.platform.storage.schema import CurveRow, SweepRow, SweepTrialRow, TrialRow

MAY_CHANGE = {"budget", "priority", "plugins", "keep_weights"}
"""Settings of a sweep that decide no result."""


def _epochs_reached() -> sa.ColumnElement[int]:
    """Return the epochs that an open trial has, in a query of trials."""
    last = sa.select(sa.func.max(CurveRow.epoch)).where(CurveRow.trial == TrialRow.id)
    return sa.func.coalesce(last.correlate(TrialRow).scalar_subquery(), 0)


def _update_sweep(connection: sa.Connection, name: str, **values: Any) -> None:
    connection.execute(sa.update(SweepRow).where(SweepRow.name == name).values(**values, checksum=""))
    write_row_checksums(connection, SweepRow)


class Sweeps(Queries):
    """Rows of sweeps."""

    def add_sweep(self, name: str, content: Mapping[str, Any], plan: Mapping[str, Any] | None = None) -> bool:
        """Write a sweep's settings and plan, and return whether it is new.

        The same sweep again changes nothing but what ``MAY_CHANGE``.

        Raises:
            ConfigError: A sweep of this name has other settings.
        """
        with self.transaction() as connection:
            row = {"name": name, "content": content, "plan": plan, "created": utc_now()}
            is_new = insert_row(connection, SweepRow, row)
            write_row_checksums(connection, SweepRow)
        stored = content if is_new else self.sweep(name).content
        if stored != content:
            differs = {k for k in {*stored, *content} if stored.get(k) != content.get(k)} - MAY_CHANGE
            if changed := ", ".join(sorted(differs)):
                raise ConfigError(
                    f"A sweep named {name!r} with another {changed} is in the store. Give the new one another name."
                )
            with self.transaction() as connection:
                _update_sweep(connection, name, content=dict(content))
        return is_new

    def sweep(self, name: str) -> StoredSweep:
        """Return the sweep ``name``.

        Raises:
            ConfigError: There is no such sweep; the message names the nearest ones.
        """
        query = sa.select(SweepRow.name, SweepRow.content, SweepRow.plan, SweepRow.state)
        with self.reading() as connection:
            line = connection.execute(query.where(SweepRow.name == name)).one_or_none()
        if line is None:
            raise ConfigError(did_you_mean("sweep", name, self.sweeps(), "Start one with: longwave sweep run FILE"))
        return StoredSweep(*line)

    def created(self, sweep: str) -> datetime:
        """Return when a sweep of the store was planned."""
        with self.reading() as connection:
            return connection.scalars(sa.select(SweepRow.created).where(SweepRow.name == sweep)).one()

    def sweeps(self) -> list[str]:
        """Return the names of all sweeps, sorted."""
        with self.reading() as connection:
            return list(connection.scalars(sa.select(SweepRow.name).order_by(SweepRow.name)))

    def set_state(self, sweep: str, state: str) -> None:
        """Write what the drivers of a sweep are to do: ``pause``, ``stop``, or go on where it is empty.

        Raises:
            ConfigError: There is no such sweep.
        """
        self.sweep(sweep)
        with self.transaction() as connection:
            _update_sweep(connection, sweep, state=state)

    def reopen_failed(self, sweep: str) -> int:
        """Make the trials of a sweep that failed open again, and return how many they are.

        How they ended stays with their attempts. A trial that failed under a winner's row is planned as before.
        """
        s = SweepTrialRow
        failed = sa.select(s.trial).join(TrialRow, TrialRow.id == s.trial)
        with self.transaction() as connection:
            trials = connection.scalars(failed.where(s.sweep == sweep, TrialRow.status == "failed")).all()
            trial_writes.reopen_trials(connection, trials)
        return len(trials)

    def counts(self, sweep: str) -> dict[tuple[int | None, str], int]:
        """Return how many trials of a sweep there are in each cell and status, ``running`` among them."""
        t, s = TrialRow, SweepTrialRow
        with self.reading() as connection:
            now = sa.and_(t.status.not_in(ENDED), t.id.in_(trials_in_training(connection)))
            status = sa.case((now, "running"), else_=t.status)
            query = sa.select(s.cell, status, sa.func.count()).join(t, t.id == s.trial)
            lines = connection.execute(query.where(s.sweep == sweep).group_by(s.cell, status))
            return {(cell, status): trials for cell, status, trials in lines}

    def epoch_counts(self, sweep: str) -> dict[tuple[int, Phase], EpochCounts]:
        """Return what there is of the trials of a sweep in each cell and phase; without a number, a cell is the first.

        The last epoch of an open trial says how many there are.
        """
        t, s = TrialRow, SweepTrialRow
        has_ended, cell = t.status.in_(ENDED), sa.func.coalesce(s.cell, 0)
        parts = [sa.case((has_ended, 1), else_=0), sa.case((has_ended, t.epochs), else_=0)]
        sums = [sa.func.sum(part) for part in (*parts, sa.case((has_ended, 0), else_=_epochs_reached()))]
        query = sa.select(cell, t.phase, *sums).join(t, t.id == s.trial)
        with self.reading() as connection:
            lines = connection.execute(query.where(s.sweep == sweep).group_by(cell, t.phase))
            return {(number, phase): EpochCounts(*map(int, counts)) for number, phase, *counts in lines}

    def trained_since(self, sweep: str, seconds: float) -> int:
        """Return how many epochs the trials of a sweep were trained in the last ``seconds``.

        The attempts of a trial say from which epoch on it was trained.
        """
        since = utc_now() - timedelta(seconds=seconds)
        begun = sa.select(AttemptRow.trial, sa.func.min(AttemptRow.epoch).label("epoch"))
        begun_then = begun.where(AttemptRow.started >= since).group_by(AttemptRow.trial).subquery()
        there = sa.case((TrialRow.status.in_(ENDED), TrialRow.epochs), else_=_epochs_reached())
        new = sa.func.sum(there - begun_then.c.epoch)
        query = sa.select(new).join(begun_then, begun_then.c.trial == TrialRow.id)
        of_sweep = TrialRow.id.in_(sa.select(SweepTrialRow.trial).where(SweepTrialRow.sweep == sweep))
        with self.reading() as connection:
            return int(connection.scalar(query.where(of_sweep)) or 0)

    def running_trials(self, trials: Collection[str]) -> list[RunningTrial]:
        """Return how far those of ``trials`` are that somebody trains now."""
        a, c = AttemptRow, CurveRow
        query = (
            sa.select(a.trial, a.owner, a.started, a.epoch, sa.func.max(c.epoch), sa.func.max(c.at))
            .join(c, c.trial == a.trial, isouter=True)
            .where(a.ended.is_(None))
            .group_by(a.trial, a.owner, a.started, a.epoch)
        )
        with self.reading() as connection:
            return [
                RunningTrial(trial, owner, since.timestamp(), first, last or first, reported)
                for trial, owner, since, first, last, reported in select_in(connection, query, a.trial, trials)
            ]

    def cost(self, sweep: str) -> SweepCost:
        """Return what a sweep has taken so far, over all its drivers."""
        d = DriverRow
        query = sa.select(d.heartbeat - d.started, d.used, d.expected).where(d.sweep == sweep)
        with self.reading() as connection:
            costs = [SweepCost(ran, used or {}, expected or {}) for ran, used, expected in connection.execute(query)]
        return sum(costs, SweepCost())
