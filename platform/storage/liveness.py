"""Which drivers are alive, by their heartbeats and the database's clock, and which trials they are training.

The processes of this machine are checked only to notice a death before the leases expire. A driver that sends
heartbeats is alive in any case.
"""

from __future__ import annotations

import socket
from typing import Any

import sqlalchemy as sa

from longwave.platform.processes import machine_identity, start_ticks
from longwave.platform.storage.lease_tables import AttemptRow, DriverRow, LeaseRow

BEATS = 6
"""Heartbeats that a driver sends in the time for which one keeps its leases valid."""
MISSED_BEATS = 2
"""Beats that a driver whose process is gone must miss before it counts as dead."""


def database_clock(connection: sa.Connection) -> sa.ColumnElement[float]:
    """Return the database's own clock in Unix seconds, so that all drivers of a store use the same one."""
    if connection.dialect.name == "postgresql":
        return sa.cast(sa.func.extract("epoch", sa.func.clock_timestamp()), sa.Double)
    return (sa.func.julianday("now") - sa.literal(2440587.5)) * 86400.0


def live_owners(connection: sa.Connection) -> sa.Select[str]:
    """Return a query of the drivers whose leases are valid."""
    return sa.select(DriverRow.owner).where(DriverRow.ended.is_(False), DriverRow.expires > database_clock(connection))


def trials_in_training(connection: sa.Connection) -> sa.Select[str]:
    """Return a query of the trials that a live driver is training."""
    attempt = sa.and_(AttemptRow.trial == LeaseRow.trial, AttemptRow.ended.is_(None))
    return sa.select(LeaseRow.trial).join(AttemptRow, attempt).where(LeaseRow.owner.in_(live_owners(connection)))


def end_dead_drivers(connection: sa.Connection) -> bool:
    """Mark the drivers that died on this machine as ended, each once it has missed two beats.

    Returns:
        Whether any has died, including those whose last beat is too recent.
    """
    query = sa.select(DriverRow.__table__, database_clock(connection).label("now"))
    here = connection.execute(query.where(DriverRow.ended.is_(False), DriverRow.machine == machine_name())).all()
    gone = [row for row in here if is_gone(row)]
    for row in gone:
        if has_missed_beats(row, row.now):
            died = sa.update(DriverRow).where(DriverRow.owner == row.owner, DriverRow.heartbeat == row.heartbeat)
            connection.execute(died.values(ended=True, note="died"))
    return bool(gone)


def is_gone(row: Any) -> bool:
    """Return whether a driver, a row of ``DriverRow``, was a process of this machine that no longer runs."""
    if not machine_identity() or row.machine != machine_name():
        return False
    return bool(row.process_started == 0 or start_ticks(row.process) != row.process_started)


def has_missed_beats(row: Any, now: float) -> bool:
    """Return whether a driver has missed two heartbeats, by the database's clock.

    If its last beat lies in the future, that clock was set back, and the beat does not count.
    """
    silent, limit = now - row.heartbeat, MISSED_BEATS * (row.expires - row.heartbeat) / BEATS
    return bool(silent < 0 or silent > limit)


def machine_name() -> str:
    """Return host name and identity of this machine: ``host/1f0c...``."""
    return f"{socket.gethostname()}/{machine_identity()}"
