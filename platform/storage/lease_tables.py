"""The tables of training in progress: drivers, leases, attempts, archived epochs, cohorts, and probes of devices."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from longwave.platform.storage.base import Base, Epoch


class ArchiveRow(Epoch, Base):
    """An epoch of an attempt from which a later attempt did not continue."""

    __tablename__ = "archive"
    trial: Mapped[str] = mapped_column(ForeignKey("trials.id"), primary_key=True)
    attempt: Mapped[int] = mapped_column(primary_key=True)
    epoch: Mapped[int] = mapped_column(primary_key=True)


class AttemptRow(Base):
    """An attempt at training a trial: by which driver, under which lease, from which epoch on, and how it ended."""

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

    ``used`` holds the device seconds of its packs by kind: half a device for two seconds is one. ``expected`` holds
    what probes predicted for the packs that are over, and under "" the number of packs without a prediction.
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
    """The driver that may write a trial's results, "" if none may. Writes with an older fence are refused."""

    __tablename__ = "leases"
    trial: Mapped[str] = mapped_column(ForeignKey("trials.id"), primary_key=True)
    owner: Mapped[str] = mapped_column(String(32), index=True)
    fence: Mapped[int]


class CohortRow(Base):
    """A trial's score at a rung of successive halving, and whether it continues; epoch 0 lists a cohort's trials."""

    __tablename__ = "cohorts"
    cohort: Mapped[str] = mapped_column(String(16), primary_key=True)
    epoch: Mapped[int] = mapped_column(primary_key=True)
    trial: Mapped[str] = mapped_column(ForeignKey("trials.id"), primary_key=True)
    valid: Mapped[float | None]
    stays: Mapped[bool | None]


class ProbeRow(Base):
    """Memory and time that a pack took on a kind of device; see ``Probe``."""

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
