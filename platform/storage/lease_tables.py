"""The tables of who trains what: drivers, leases, attempts and what they left, cohorts, probes of devices."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from longwave.platform.storage.base import Base, Epoch


class ArchiveRow(Epoch, Base):
    """An epoch of an attempt that a later one did not go on from."""

    __tablename__ = "archive"
    trial: Mapped[str] = mapped_column(ForeignKey("trials.id"), primary_key=True)
    attempt: Mapped[int] = mapped_column(primary_key=True)
    epoch: Mapped[int] = mapped_column(primary_key=True)


class AttemptRow(Base):
    """One time that a trial was trained: who did, under which lease, from which epoch on, and how that ended."""

    __tablename__ = "attempts"
    trial: Mapped[str] = mapped_column(ForeignKey("trials.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    owner: Mapped[str]
    fence: Mapped[int]
    epoch: Mapped[int] = mapped_column(server_default="0")
    started: Mapped[datetime]
    ended: Mapped[datetime | None]
    status: Mapped[str] = mapped_column(String(10), server_default="")
    reason: Mapped[str] = mapped_column(Text, server_default="")


class DriverRow(Base):
    """A process that runs a sweep. It is alive until ``expires``, by the database's clock, unless it ended before.

    ``used`` says for how many seconds its packs held devices, by kind: half of one for two seconds is one; ``expected``
    what probes said of the packs that are over, and under "" of how many they said nothing.
    """

    __tablename__ = "drivers"
    owner: Mapped[str] = mapped_column(String(32), primary_key=True)
    sweep: Mapped[str] = mapped_column(ForeignKey("sweeps.name"), index=True)
    machine: Mapped[str]
    process: Mapped[int]
    process_started: Mapped[float]
    priority: Mapped[int]
    note: Mapped[str] = mapped_column(server_default="")
    started: Mapped[float]
    heartbeat: Mapped[float]
    expires: Mapped[float]
    ended: Mapped[bool] = mapped_column(default=False)
    used: Mapped[dict[str, Any] | None]
    expected: Mapped[dict[str, Any] | None]


class LeaseRow(Base):
    """Who may write a trial's results; nobody where ``owner`` is empty. A write under an older fence is refused."""

    __tablename__ = "leases"
    trial: Mapped[str] = mapped_column(ForeignKey("trials.id"), primary_key=True)
    owner: Mapped[str] = mapped_column(String(32), index=True)
    fence: Mapped[int]


class CohortRow(Base):
    """A trial's score at a rung of successive halving, and whether it stays; at epoch 0, that it is of the cohort."""

    __tablename__ = "cohorts"
    cohort: Mapped[str] = mapped_column(String(16), primary_key=True)
    epoch: Mapped[int] = mapped_column(primary_key=True)
    trial: Mapped[str] = mapped_column(ForeignKey("trials.id"), primary_key=True)
    valid: Mapped[float | None]
    stays: Mapped[bool | None]


class ProbeRow(Base):
    """What a pack of a load took of a kind of device; see ``Probe``."""

    __tablename__ = "probes"
    kind: Mapped[str] = mapped_column(String(80), primary_key=True)
    shape: Mapped[str] = mapped_column(String(16), primary_key=True)
    members: Mapped[int] = mapped_column(primary_key=True)
    bytes: Mapped[int] = mapped_column(BigInteger)
    capacity: Mapped[int] = mapped_column(BigInteger)
    step: Mapped[float]
    epoch: Mapped[float]
    busy: Mapped[float | None]
    fits: Mapped[bool]
