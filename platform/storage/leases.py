"""Drivers with a heartbeat, and their leases of trials. A driver writes results only of trials that it has leased.

A lease is free once its driver has ended, or has sent no heartbeat until ``expires`` by the database's clock; if the
driver died on this machine, after two missed beats (``liveness``). Taking a lease raises its fencing number, so the
writes of a driver that was wrongly believed dead are refused: two drivers never write the same trial.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import sqlalchemy as sa

from longwave.platform.errors import StoreError
from longwave.platform.processes import start_ticks
from longwave.platform.records.report import Report, split_reports
from longwave.platform.records.run import ENDED
from longwave.platform.redaction import redacted
from longwave.platform.storage import trial_writes
from longwave.platform.storage.database import Database, insert_new, insert_selected
from longwave.platform.storage.in_clause import in_clause, split_ids
from longwave.platform.storage.lease_tables import DriverRow, LeaseRow
from longwave.platform.storage.liveness import (
    database_clock,
    end_dead_drivers,
    has_missed_beats,
    is_gone,
    live_owners,
    machine_name,
)
from longwave.platform.storage.retry import with_retry
from longwave.platform.storage.schema import SweepRow, TrialRow
from longwave.platform.storage.texts import escape_unstorable
from longwave.platform.variables import read_seconds

SECONDS = read_seconds("LONGWAVE_LEASE_SECONDS")
"""A driver that sends no heartbeat for this long loses its leases. It sends ``BEATS`` in that time."""


class LeaseLostError(StoreError):
    """Another driver has leased these trials, so late results are not written."""


@dataclass(frozen=True)
class Driver:
    """A process that runs a sweep.

    Attributes:
        owner: Its name in the store.
        note: What it waits for, or which packs have stalled; empty while it trains.
        seconds: Since it began.
        silent: Seconds since its last heartbeat.
        alive: Whether its leases are valid.
        gone: Whether it died on this machine. Its leases are valid until it has missed two beats.
        devices: Kinds of the devices that its packs have used so far.
    """

    owner: str
    sweep: str
    host: str
    process: int
    priority: int
    note: str
    seconds: float
    silent: float
    alive: bool
    gone: bool = False
    devices: Sequence[str] = ()


class Leases:
    """One driver's leases in a store, and its writes under them. Its methods may be called from two threads.

    Args:
        store: The store.
        sweep: Name of the sweep that is run.
        priority: Of the sweep.

    Attributes:
        owner: The driver's name in the store.
        fences: Fencing number of each leased trial.
        after_a_death: Whether a driver on this machine had died when this one began.
        spent: Returns what its packs have used so far, and were expected to use, as columns of ``DriverRow``.
    """

    def __init__(self, store: Database, sweep: str, priority: int = 0) -> None:
        self.store, self.sweep, self.priority = store, sweep, priority
        self.owner = uuid.uuid4().hex
        self.fences: dict[str, int] = {}
        self.after_a_death = False
        self.spent: Callable[[], Mapping[str, Mapping[str, float]]] = dict

    @with_retry
    def __enter__(self) -> Self:
        with self.store.transaction() as connection:
            self.after_a_death = end_dead_drivers(connection)
            now = connection.scalars(sa.select(database_clock(connection))).one()
            row = {"owner": self.owner, "sweep": self.sweep, "machine": machine_name(), "process": os.getpid()}
            times = {"process_started": start_ticks(os.getpid()), "started": now, "heartbeat": now}
            row |= {**times, "expires": now + SECONDS, "priority": self.priority, "ended": False}
            insert_new(connection, DriverRow, [row])
        return self

    @with_retry
    def __exit__(self, *_: object) -> None:
        with self.store.transaction() as connection:
            self._release(connection, {*self.fences})
            values = {"ended": True, "note": "", "heartbeat": database_clock(connection), **self.spent()}
            connection.execute(sa.update(DriverRow).where(DriverRow.owner == self.owner).values(values))

    def beat(self, note: str) -> str:
        """Send a heartbeat with a note for readers; it also revives a driver that was believed dead.

        Returns:
            The requested state of its sweep, see ``Sweeps.set_state``.
        """
        with self.store.transaction() as connection:
            now = database_clock(connection)
            values = {
                "heartbeat": now,
                "expires": now + SECONDS,
                "ended": False,
                "note": escape_unstorable(redacted(note)),
                **self.spent(),
            }
            connection.execute(sa.update(DriverRow).where(DriverRow.owner == self.owner).values(values))
            return str(connection.scalar(sa.select(SweepRow.state).where(SweepRow.name == self.sweep)))

    @with_retry
    def held_by_others(self) -> set[str]:
        """Return the trials that other live drivers hold."""
        with self.store.reading() as connection:
            others = sa.and_(LeaseRow.owner != self.owner, LeaseRow.owner.in_(live_owners(connection)))
            return set(connection.scalars(sa.select(LeaseRow.trial).where(others)))

    @with_retry
    def take(self, trials: Collection[str]) -> set[str]:
        """Lease the open trials that no other driver holds; return those that this driver now holds."""
        fences: dict[str, int] = {}
        with self.store.transaction() as connection:
            end_dead_drivers(connection)
            free = sa.or_(LeaseRow.owner == self.owner, LeaseRow.owner.not_in(live_owners(connection)))
            is_open = LeaseRow.trial.in_(sa.select(TrialRow.id).where(TrialRow.status.not_in(ENDED)))
            for part in split_ids(sorted(trials)):
                unleased = sa.select(TrialRow.id, sa.literal(""), sa.literal(0)).where(in_clause(TrialRow.id, part))
                insert_selected(connection, LeaseRow, ["trial", "owner", "fence"], unleased)
                # PostgreSQL: wait for drivers that take them at the same time, so that the next statement sees theirs
                connection.execute(sa.select(LeaseRow.trial).where(in_clause(LeaseRow.trial, part)).with_for_update())
                update = sa.update(LeaseRow).where(in_clause(LeaseRow.trial, part), free, is_open)
                connection.execute(update.values(owner=self.owner, fence=LeaseRow.fence + 1))
                query = sa.select(LeaseRow.trial, LeaseRow.owner, LeaseRow.fence).where(in_clause(LeaseRow.trial, part))
                open_leases = connection.execute(query.where(is_open))
                own_leases = {line.trial: line.fence for line in open_leases if line.owner == self.owner}
                trial_writes.abandon_attempts(connection, own_leases, "its driver was lost")
                fences |= own_leases
        self.fences |= fences
        return {trial for trial in trials if trial in self.fences}

    @with_retry
    def release(self, trials: Iterable[str]) -> None:
        """Release leases and abandon the attempts under them. The driver keeps them until the store has recorded it."""
        held = self.fences.keys() & set(trials)
        with self.store.transaction() as connection:
            self._release(connection, held)
        self.fences = {trial: fence for trial, fence in self.fences.items() if trial not in held}

    @with_retry
    def write(self, *reports: Report) -> None:
        """Write reports of packs, in order and in one transaction; existing results are not changed.

        A restarted worker may train a trial again that has already ended; its reports of that trial are dropped.

        Raises:
            LeaseLostError: Another driver holds one of its trials. Nothing is written.
        """
        with self.store.transaction() as connection:
            self._check_fences(connection, {trial for report in reports for trial in report.trials})
            for part in split_reports(reports):
                self._write(connection, part)

    def _write(self, connection: sa.Connection, reports: Sequence[Report]) -> None:
        """Write one part of ``split_reports``."""
        open_trials = trial_writes.open_trials(connection, {trial for report in reports for trial in report.trials})
        open_reports = [replace(report.of(open_trials), rungs=report.rungs) for report in reports]
        if any(report.began for report in open_reports):
            last_epochs = {trial: epoch for report in open_reports for trial, epoch in report.began.items()}
            checkpointed = [point for report in open_reports if report.began for point in report.points]
            trial_writes.begin_attempts(connection, last_epochs, checkpointed, self.owner, self.fences)
        points = [point for report in open_reports for point in report.points]
        trial_writes.write_epochs(connection, points, [rung for report in open_reports for rung in report.rungs])
        trial_writes.write_ends(connection, [run for report in open_reports for run in report.runs])

    def _check_fences(self, connection: sa.Connection, trials: Collection[str]) -> None:
        query = sa.select(LeaseRow.trial, LeaseRow.owner, LeaseRow.fence)
        parts = split_ids(sorted(trials))
        # PostgreSQL: no other driver can take them before this is committed; SQLite has one writer anyway
        results = [connection.execute(query.where(in_clause(LeaseRow.trial, part)).with_for_update()) for part in parts]
        held = {line.trial: line.fence for part in results for line in part if line.owner == self.owner}
        if lost := [trial for trial in trials if held.get(trial, -1) != self.fences.get(trial)]:
            raise LeaseLostError(
                f"Another process has taken over {len(lost)} of these trials, such as {min(lost)}; "
                "results of this process for them are not written."
            )

    def _release(self, connection: sa.Connection, trials: Collection[str]) -> None:
        for part in split_ids(sorted(trials)):
            query = sa.select(LeaseRow.trial, LeaseRow.owner).where(in_clause(LeaseRow.trial, part)).with_for_update()
            held = [line.trial for line in connection.execute(query) if line.owner == self.owner]
            trial_writes.abandon_attempts(connection, held, "its driver released it")
            connection.execute(sa.update(LeaseRow).where(in_clause(LeaseRow.trial, held)).values(owner=""))


def read_drivers(store: Database, sweep: str | None = None) -> list[Driver]:
    """Return the drivers that have not ended, of one sweep or of all, the oldest first."""
    with store.reading() as connection:
        now = connection.scalars(sa.select(database_clock(connection))).one()
        query = sa.select(DriverRow.__table__).where(DriverRow.ended.is_(False)).order_by(DriverRow.started)
        lines = connection.execute(query if sweep is None else query.where(DriverRow.sweep == sweep)).all()
    gone = {row.owner: is_gone(row) for row in lines}
    return [
        Driver(
            owner=row.owner,
            sweep=row.sweep,
            host=row.machine.partition("/")[0],
            process=row.process,
            priority=row.priority,
            note=row.note,
            seconds=now - row.started,
            silent=now - row.heartbeat,
            alive=row.expires > now and not (gone[row.owner] and has_missed_beats(row, now)),
            gone=gone[row.owner],
            devices=sorted(row.used or {}),
        )
        for row in lines
    ]
