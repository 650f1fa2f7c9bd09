"""Which drivers live, by the database's clock and by the processes of this machine; what they train at this moment."""

from __future__ import annotations

import socket
from pathlib import Path

import sqlalchemy as sa

from longwave.platform.processes import is_running
from longwave.platform.storage.driving import AttemptRow, DriverRow, LeaseRow


def clock(connection: sa.Connection) -> sa.ColumnElement[float]:
    """Return the database's own clock, in Unix seconds: all drivers of a store go by the same."""
    if connection.dialect.name == "postgresql":
        return sa.cast(sa.func.extract("epoch", sa.func.clock_timestamp()), sa.Double)
    return (sa.func.julianday("now") - sa.literal(2440587.5)) * 86400.0


def living(connection: sa.Connection) -> sa.ColumnElement[bool]:
    """Return the condition that a driver's leases hold."""
    return sa.and_(DriverRow.ended.is_(False), DriverRow.expires > clock(connection))


def in_training(connection: sa.Connection) -> sa.Select[str]:
    """Return the query of the trials that a living driver trains at this moment."""
    alive = sa.select(DriverRow.owner).where(living(connection))
    attempt = sa.and_(AttemptRow.trial == LeaseRow.trial, AttemptRow.ended.is_(None))
    return sa.select(LeaseRow.trial).join(AttemptRow, attempt).where(LeaseRow.owner.in_(alive))


def bury(connection: sa.Connection) -> int:
    """Write of drivers that died on this machine that they ended; return how many there were."""
    query = sa.select(DriverRow.owner, DriverRow.process, DriverRow.born)
    found = connection.execute(query.where(DriverRow.ended.is_(False), DriverRow.place == place())).all()
    dead = [owner for owner, process, born in found if not is_running(process, born)]
    for owner in dead:
        connection.execute(sa.update(DriverRow).where(DriverRow.owner == owner).values(ended=True, note="died"))
    return len(dead)


def place() -> str:
    """Return the name of this machine, and of the space in which its processes are counted: ``host/4026531836``."""
    try:
        space = Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        space = 0
    return f"{socket.gethostname()}/{space}"
