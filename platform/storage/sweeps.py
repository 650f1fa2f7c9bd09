"""Sweeps in the store: their settings, plan, requested state, progress and cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import aliased

from longwave.platform.errors import ConfigError, did_you_mean
from longwave.platform.records.run import ENDED
from longwave.platform.records.stored import PackAttempt, PackPart, RunningTrial, StatusCounts, StoredSweep, SweepCost
from longwave.platform.storage import trial_writes
from longwave.platform.storage.base import utc_now
from longwave.platform.storage.checksums import CHECKED, find_damaged_plans, is_row_intact, write_row_checksums
from longwave.platform.storage.database import insert_row
from longwave.platform.storage.faults import describe_damaged_store
from longwave.platform.storage.in_clause import select_in
from longwave.platform.storage.lease_tables import AttemptRow, DriverRow
from longwave.platform.storage.liveness import trials_in_training
from longwave.platform.storage.queries import Queries
from longwave.platform.storage.schema import CurveRow, SweepRow, SweepTrialRow, TrialRow

MAY_CHANGE = {"budget", "priority", "plugins", "keep_weights"}
"""Settings of a sweep that affect no result."""


def _epochs_reached() -> sa.ColumnElement[int]:
    """Return the last epoch of an open trial, as an expression for a query of trials."""
    last = sa.select(sa.func.max(CurveRow.epoch)).where(CurveRow.trial == TrialRow.id)
    return sa.func.coalesce(last.correlate(TrialRow).scalar_subquery(), 0)


def _update_sweep(connection: sa.Connection, name: str, **values: Any) -> None:
    connection.execute(sa.update(SweepRow).where(SweepRow.name == name).values(**values, checksum=""))
    write_row_checksums(connection, SweepRow)


class Sweeps(Queries):
    """Writes and reads sweeps."""

    def add_sweep(self, name: str, content: Mapping[str, Any], plan: Mapping[str, Any] | None = None) -> bool:
        """Write a sweep's settings and plan, and return whether it is new.

        Writing the same sweep again changes only settings in ``MAY_CHANGE``.

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
                    f"The store already has a sweep {name!r} with another {changed}. Give the new one another name."
                )
            with self.transaction() as connection:
                _update_sweep(connection, name, content=dict(content))
        return is_new

    def sweep(self, name: str) -> StoredSweep:
        """Return the sweep ``name``.

        Raises:
            ConfigError: There is no such sweep; the message names the nearest ones.
            StoreError: It does not match its checksum.
        """
        table = CHECKED[SweepRow]
        with self.reading() as connection:
            line = connection.execute(sa.select(table).where(table.c.name == name)).one_or_none()
        if line is None:
            raise ConfigError(did_you_mean("sweep", name, self.sweeps(), "Start one with: longwave sweep run FILE"))
        if not is_row_intact(table, line):
            raise describe_damaged_store(self.url, f"the sweep {name!r} does not match its checksum")
        return StoredSweep(line.name, line.content, line.plan, line.state, line.origin)

    def check_plans(self, trials: Sequence[str]) -> None:
        """Raise StoreError if the plan of one of these trials does not match its checksum: it would be trained so."""
        with self.reading() as connection:
            damaged = find_damaged_plans(connection, trials)
        if damaged:
            raise describe_damaged_store(self.url, f"the plan of trial {damaged[0]} does not match its checksum")

    def created(self, sweep: str) -> datetime:
        """Return when a sweep of the store was planned."""
        with self.reading() as connection:
            return connection.scalars(sa.select(SweepRow.created).where(SweepRow.name == sweep)).one()

    def sweeps(self) -> list[str]:
        """Return the names of all sweeps, sorted."""
        with self.reading() as connection:
            return list(connection.scalars(sa.select(SweepRow.name).order_by(SweepRow.name)))

    def set_state(self, sweep: str, state: str) -> None:
        """Write what the drivers of a sweep should do: ``pause``, ``stop``, or continue if it is empty.

        Raises:
            ConfigError: There is no such sweep.
        """
        self.sweep(sweep)
        with self.transaction() as connection:
            _update_sweep(connection, sweep, state=state)

    def reopen_failed(self, sweep: str, but: Collection[str] = ()) -> int:
        """Reopen the failed trials of a sweep, except those in ``but``, and return their number.

        Their attempts still record how they ended. A trial stays failed if what was planned next was decided from it,
        in this sweep or in another that shares it: a search trial once its race has begun, a trial of a race's first
        heat once the second has, and both once a winner has been chosen.
        """
        t, s, own = TrialRow, SweepTrialRow, aliased(SweepTrialRow)
        seed, cell = t.config["seed"].as_integer().label("seed"), sa.func.coalesce(s.cell, 0).label("cell")
        query = sa.select(t.id, t.phase, t.status, t.row, seed, s.sweep, cell).join(s, s.trial == t.id)
        failed = sa.select(t.id).join(own, own.trial == t.id).where(own.sweep == sweep, t.status == "failed")
        sweeps = sa.select(s.sweep).where(s.trial.in_(failed))
        with self.transaction() as connection:
            later = defaultdict[tuple[str, int], list[sa.Row[Any]]](list)
            for line in connection.execute(query.where(t.phase != "search", s.sweep.in_(sweeps))):
                later[line.sweep, line.cell].append(line)
            lines = connection.execute(query.where(t.id.in_(failed))).all()
            decided = {line.id for line in lines if _has_decided(line, later[line.sweep, line.cell])}
            trials = list({line.id for line in lines} - decided - {*but})
            trial_writes.reopen_trials(connection, trials)
        return len(trials)

    def status_counts(self, sweep: str) -> list[StatusCounts]:
        """Return the trials and epochs of a sweep by cell, phase and status.

        An open trial has as many epochs as its last one says.
        """
        t, s = TrialRow, SweepTrialRow
        has_ended, cell = t.status.in_(ENDED), sa.func.coalesce(s.cell, 0)
        epochs = sa.func.sum(sa.case((has_ended, t.epochs), else_=_epochs_reached()))
        with self.reading() as connection:
            in_training = sa.and_(t.status.not_in(ENDED), t.id.in_(trials_in_training(connection)))
            status = sa.case((in_training, "running"), else_=t.status)
            query = sa.select(cell, t.phase, status, sa.func.count(), epochs).join(s, s.trial == t.id)
            lines = connection.execute(query.where(s.sweep == sweep).group_by(cell, t.phase, status))
            return [
                StatusCounts(cell, phase, status, trials, int(total)) for cell, phase, status, trials, total in lines
            ]

    def count_trained(self, sweep: str) -> int:
        """Return how many trials the drivers of a sweep have trained to their end; a trial is in several sweeps if they
        share it, and counts in those that trained it.
        """
        t, s, a, d = TrialRow, SweepTrialRow, AttemptRow, DriverRow
        own = sa.exists().where(a.trial == t.id, d.owner == a.owner, d.sweep == sweep)
        query = sa.select(sa.func.count()).select_from(t).join(s, s.trial == t.id).where(s.sweep == sweep)
        with self.reading() as connection:
            return connection.scalars(query.where(t.status.in_(ENDED), own)).one()

    def pack_parts(self, sweep: str) -> list[PackPart]:
        """Return the progress of a sweep's trials, pack by pack."""
        t, s, c = TrialRow, SweepTrialRow, CurveRow
        last_seconds = sa.select(sa.func.max(c.seconds)).where(c.trial == t.id).correlate(t).scalar_subquery()
        has_ended, share = t.status.in_(ENDED), sa.func.coalesce(last_seconds, 0.0)
        each = (
            sa.select(
                sa.func.coalesce(s.cell, 0).label("cell"),
                s.position,
                t.phase,
                sa.func.coalesce(t.pack, "").label("pack"),
                sa.case((has_ended, t.status), else_="").label("status"),
                sa.case((has_ended, t.epochs), else_=_epochs_reached()).label("epochs"),
                sa.case((t.origin.is_not(None), 0.0), (has_ended, t.seconds), else_=share).label("share"),
            )
            .join(s, s.trial == t.id)
            .where(s.sweep == sweep)
            .subquery()
        )
        keys = (each.c.cell, each.c.phase, each.c.pack, each.c.status, each.c.epochs)
        query = sa.select(*keys, sa.func.count(), sa.func.avg(each.c.share)).group_by(*keys)
        with self.reading() as connection:
            return [PackPart(*line) for line in connection.execute(query.order_by(sa.func.min(each.c.position)))]

    def pack_attempts(self, sweep: str, since: float) -> list[PackAttempt]:
        """Return the attempts at packs of a sweep that began after a Unix time, in order."""
        t, s, a, c = TrialRow, SweepTrialRow, AttemptRow, CurveRow
        last_epoch = sa.select(sa.func.max(c.at)).where(c.trial == a.trial).correlate(a).scalar_subquery()
        in_training = sa.func.count() - sa.func.count(a.ended)
        reported = sa.func.max(sa.case((a.ended.is_(None), last_epoch), else_=None))
        query = (
            sa.select(t.pack, sa.func.min(a.started), sa.func.max(a.ended), in_training, reported)
            .join(t, t.id == a.trial)
            .join(s, s.trial == t.id)
            .where(s.sweep == sweep, t.pack.is_not(None), a.started >= datetime.fromtimestamp(since, UTC))
            .group_by(t.pack, a.number)
            .order_by(sa.func.min(a.started))
        )
        with self.reading() as connection:
            return [
                PackAttempt(pack, started.timestamp(), None if open_attempts else ended.timestamp(), reported)
                for pack, started, ended, open_attempts, reported in connection.execute(query)
            ]

    def running_trials(self, trials: Collection[str]) -> list[RunningTrial]:
        """Return the progress of those of ``trials`` that are in training."""
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
        """Return the cost of a sweep so far, summed over its drivers; if a clock was set back, one may count 0 s."""
        d = DriverRow
        query = sa.select(d.heartbeat - d.started, d.used, d.expected).where(d.sweep == sweep)
        with self.reading() as connection:
            costs = [
                SweepCost(max(ran, 0.0), used or {}, expected or {})
                for ran, used, expected in connection.execute(query)
            ]
        return sum(costs, SweepCost())


def _has_decided(failed: sa.Row[Any], later: Sequence[sa.Row[Any]]) -> bool:
    """Return whether what was planned next of a cell followed from a failed trial.

    Args:
        failed: Its phase, row and seed.
        later: The same of all trials of the cell's race and retrainings.
    """
    if failed.phase == "retrain":
        return False
    if failed.phase == "search" or any(trial.phase == "retrain" for trial in later):
        return bool(later)
    seeds: dict[str, set[int]] = {}
    for trial in later:
        seeds.setdefault(trial.row, set()).add(trial.seed)
    first_heat = min(seeds.values(), key=len)  # that of a setting which the second one left out, if there is one
    return failed.seed in first_heat and len({len(each) for each in seeds.values()}) > 1
