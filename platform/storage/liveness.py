"""Which drivers are alive, by the database's clock and by the processes of this machine; what they train now."""

from __future__ import annotations

import socket
from pathlib import Path

import sqlalchemy as sa

from longwave.platform.processes import is_running
from longwave.platform.storage.lease_tables import AttemptRow, DriverRow, LeaseRow


def database_clock(connection: sa.Connection) -> sa.ColumnElement[float]:
    """Return the database's own clock, in Unix seconds: all drivers of a store go by the same."""
    if connection.dialect.name == "postgresql":
        return sa.cast(sa.func.extract("epoch", sa.func.clock_timestamp()), sa.Double)
    return (sa.func.julianday("now") - sa.literal(2440587.5)) * 86400.0


def live_owners(connection: sa.Connection) -> sa.Select[str]:
    """Return the query of the drivers whose leases hold."""
    return sa.select(DriverRow.owner).where(DriverRow.ended.is_(False), DriverRow.expires > database_clock(connection))


def trials_in_training(connection: sa.Connection) -> sa.Select[str]:
    """Return the query of the trials that a live driver trains now."""
    attempt = sa.and_(AttemptRow.trial == LeaseRow.trial, AttemptRow.ended.is_(None))
    return sa.select(LeaseRow.trial).join(AttemptRow, attempt).where(LeaseRow.owner.in_(live_owners(connection)))


def end_dead_drivers(connection: sa.Connection) -> int:
    """Write that drivers which died on this machine have ended; return how many there were."""
    query = sa.select(DriverRow.owner, DriverRow.process, DriverRow.process_started)
    here = connection.execute(query.where(DriverRow.ended.is_(False), DriverRow.machine == machine_name())).all()
    dead = [owner for owner, process, started in here if not is_running(process, started)]
    for owner in dead:
        connection.execute(sa.update(DriverRow).where(DriverRow.owner == owner).values(ended=True, note="died"))
    return len(dead)


def machine_name() -> str:
    """Return the name of this machine, and of the space in which its processes are counted: ``host/4026531836``."""
    try:
        space = Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        space = 0
    return f"{socket.gethostname()}/{space}"
