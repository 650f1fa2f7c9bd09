"""Who trains what: drivers with a heartbeat, and leases of trials. A driver writes only what it leases.

A lease is free once its driver ended, or has sent no heartbeat until ``expires``, by the database's clock; of one that
died on this machine, after two beats (``liveness``). Whoever takes it raises its fence, so a driver that was thought
dead and is not finds its writes refused: the same trial is never written by two.
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
from longwave.platform.variables import read_seconds

SECONDS = read_seconds("LONGWAVE_LEASE_SECONDS")
"""A driver without a heartbeat for so long has lost its leases. It sends ``BEATS`` in that time."""


class LeaseLostError(StoreError):
    """Another driver trains these trials by now: what came late is not written."""


@dataclass(frozen=True)
class Driver:
    """A process that runs a sweep.

    Attributes:
        owner: Its name in the store.
        note: What it does now.
        seconds: Since it began.
        silent: Seconds since its last heartbeat.
        alive: Whether its leases hold.
        gone: Whether it died on this machine. Its leases hold until it has missed two beats.
        devices: Kinds of the devices that its packs held so far.
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
    """What one driver holds in a store, and what it writes under that. Its methods may be called from two threads.

    Args:
        store: Where.
        sweep: What is run.
        priority: Of the sweep.

    Attributes:
        owner: Its name in the store.
        fences: Of the trials it holds.
        after_a_death: Whether a driver on this machine had died when this one began.
        spent: Says what its packs have used so far, and were expected to: columns of ``DriverRow`` by name.
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
            connection.execute(
                sa.update(DriverRow).where(DriverRow.owner == self.owner).values(ended=True, note="", **self.spent())
            )

    def beat(self, note: str) -> str:
        """Send a heartbeat with what this driver does, which is alive whoever took it for dead.

        Returns:
            What its sweep is to do, as ``state`` says.
        """
        with self.store.transaction() as connection:
            now = database_clock(connection)
            values = {
                "heartbeat": now,
                "expires": now + SECONDS,
                "ended": False,
                "note": redacted(note),
                **self.spent(),
            }
            connection.execute(sa.update(DriverRow).where(DriverRow.owner == self.owner).values(values))
            return str(connection.scalar(sa.select(SweepRow.state).where(SweepRow.name == self.sweep)))

    @with_retry
    def take(self, trials: Collection[str]) -> set[str]:
        """Lease open trials that nobody holds, or that this driver does; return those it holds now."""
        fences: dict[str, int] = {}
        with self.store.transaction() as connection:
            end_dead_drivers(connection)
            free = sa.or_(LeaseRow.owner == self.owner, LeaseRow.owner.not_in(live_owners(connection)))
            is_open = LeaseRow.trial.in_(sa.select(TrialRow.id).where(TrialRow.status.not_in(ENDED)))
            for part in split_ids(sorted(trials)):
                nobody = sa.select(TrialRow.id, sa.literal(""), sa.literal(0)).where(in_clause(TrialRow.id, part))
                insert_selected(connection, LeaseRow, ["trial", "owner", "fence"], nobody)
                # PostgreSQL: whoever takes them at the same moment is waited for, and seen by the next statement
                connection.execute(sa.select(LeaseRow.trial).where(in_clause(LeaseRow.trial, part)).with_for_update())
                mine = sa.update(LeaseRow).where(in_clause(LeaseRow.trial, part), free, is_open)
                connection.execute(mine.values(owner=self.owner, fence=LeaseRow.fence + 1))
                held = sa.select(LeaseRow.trial, LeaseRow.owner, LeaseRow.fence).where(in_clause(LeaseRow.trial, part))
                open_leases = connection.execute(held.where(is_open))
                mine_now = {line.trial: line.fence for line in open_leases if line.owner == self.owner}
                trial_writes.abandon_attempts(connection, mine_now, "its driver was lost")
                fences |= mine_now
        self.fences |= fences
        return {trial for trial in trials if trial in self.fences}

    @with_retry
    def release(self, trials: Iterable[str]) -> None:
        """Give leases back; attempts under them are over. They are this driver's until the store has it."""
        mine = self.fences.keys() & set(trials)
        with self.store.transaction() as connection:
            self._release(connection, mine)
        self.fences = {trial: fence for trial, fence in self.fences.items() if trial not in mine}

    @with_retry
    def write(self, *reports: Report) -> None:
        """Write what packs said, in their order and in one transaction; what is there already stays as it is.

        A worker that died and went on from behind a trial's end trains that trial again beside those still open: of
        one that has ended nothing is written.

        Raises:
            LeaseLostError: Another driver holds one of its trials. Nothing is written.
        """
        with self.store.transaction() as connection:
            self._check_fences(connection, {trial for report in reports for trial in report.trials})
            for part in split_reports(reports):
                self._write(connection, part)

    def _write(self, connection: sa.Connection, reports: Sequence[Report]) -> None:
        """Write reports that ``split_reports`` left together."""
        still = trial_writes.open_trials(connection, {trial for report in reports for trial in report.trials})
        own = [replace(report.of(still), rungs=report.rungs) for report in reports]
        if any(report.began for report in own):
            began = {trial: epoch for report in own for trial, epoch in report.began.items()}
            stand = [point for report in own if report.began for point in report.points]
            trial_writes.begin_attempts(connection, began, stand, self.owner, self.fences)
        points, rungs = [p for report in own for p in report.points], [r for report in own for r in report.rungs]
        trial_writes.write_epochs(connection, points, rungs)
        trial_writes.write_ends(connection, [run for report in own for run in report.runs])

    def _check_fences(self, connection: sa.Connection, trials: Collection[str]) -> None:
        query = sa.select(LeaseRow.trial, LeaseRow.owner, LeaseRow.fence)
        parts = split_ids(sorted(trials))
        # PostgreSQL: nobody else takes them before this is committed; SQLite has one writer anyway
        results = [connection.execute(query.where(in_clause(LeaseRow.trial, part)).with_for_update()) for part in parts]
        held = {line.trial: line.fence for part in results for line in part if line.owner == self.owner}
        if lost := [trial for trial in trials if held.get(trial, -1) != self.fences.get(trial)]:
            raise LeaseLostError(
                f"Another process trains {len(lost)} of these trials by now, {min(lost)} among them; "
                "what this one had of them is not written."
            )

    def _release(self, connection: sa.Connection, mine: Collection[str]) -> None:
        for part in split_ids(sorted(mine)):
            of = sa.select(LeaseRow.trial, LeaseRow.owner).where(in_clause(LeaseRow.trial, part)).with_for_update()
            held = [line.trial for line in connection.execute(of) if line.owner == self.owner]
            trial_writes.abandon_attempts(connection, held, "its driver released it")
            connection.execute(sa.update(LeaseRow).where(in_clause(LeaseRow.trial, held)).values(owner=""))


def read_drivers(store: Database, sweep: str | None = None) -> list[Driver]:
    """Return the drivers that have not ended, of one sweep or of all, the oldest first.

    One that died on this machine is not alive once it has missed two beats.
    """
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
