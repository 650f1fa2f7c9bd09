"""The store's tables, as SQLAlchemy classes. ``migrations/`` brings an older store to this shape."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, DateTime, ForeignKey, Index, MetaData, String, Text, TypeDecorator
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class UTCTime(TypeDecorator[datetime]):
    """A moment in UTC; SQLite drops time zones, this puts UTC back."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return ``value`` in UTC."""
        return value and value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return the stored moment, aware."""
        return value and (value if value.tzinfo else value.replace(tzinfo=UTC))


def utc_now() -> datetime:
    """Return the present moment, in UTC."""
    return datetime.now(UTC)


class Base(DeclarativeBase):
    """Declarative base of the results store."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(column_0_label)s",
            "uq": "uq_%(table_name)s_%(column_0_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {
        dict[str, Any]: JSON().with_variant(JSONB(), "postgresql"),
        datetime: UTCTime,
    }


class SweepRow(Base):
    """A sweep: its settings in full."""

    __tablename__ = "sweeps"
    name: Mapped[str] = mapped_column(String(80), primary_key=True)
    content: Mapped[dict[str, Any]]
    created: Mapped[datetime] = mapped_column(default=utc_now)


class EnvironmentRow(Base):
    """Where trials ran; one row for each distinct set of facts."""

    __tablename__ = "environments"
    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    facts: Mapped[dict[str, Any]]


class TrialRow(Base):
    """A trial: the plan, and its record once it has ended. Columns are what is filtered or sorted."""

    __tablename__ = "trials"
    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    task: Mapped[str] = mapped_column(String(80))
    model: Mapped[str] = mapped_column(String(80))
    phase: Mapped[str] = mapped_column(String(10))
    row: Mapped[str] = mapped_column(String(16), index=True)
    config: Mapped[dict[str, Any]]
    about: Mapped[dict[str, Any]]
    status: Mapped[str] = mapped_column(String(10), default="planned", index=True)
    pack: Mapped[str | None] = mapped_column(String(16))
    reason: Mapped[str] = mapped_column(Text, default="")
    epochs: Mapped[int] = mapped_column(default=0)
    best_epoch: Mapped[int | None]
    valid: Mapped[float | None]
    test: Mapped[float | None]
    seconds: Mapped[float] = mapped_column(default=0.0)
    members: Mapped[int] = mapped_column(default=1)
    parameters: Mapped[int | None]
    joules: Mapped[float | None]
    environment: Mapped[str | None] = mapped_column(ForeignKey("environments.id"))
    ended: Mapped[datetime | None]
    __table_args__ = (Index("ix_trials_phase_task", "phase", "task", "model", "id", "status", "seconds"),)


class AskRow(Base):
    """A sweep asked for a trial. Two sweeps may ask for the same one."""

    __tablename__ = "asks"
    sweep: Mapped[str] = mapped_column(ForeignKey("sweeps.name"), primary_key=True)
    trial: Mapped[str] = mapped_column(ForeignKey("trials.id"), primary_key=True)
    position: Mapped[int]
    __table_args__ = (Index("ix_asks_trial", "trial", "sweep"),)


class CurveRow(Base):
    """One epoch of one trial."""

    __tablename__ = "curves"
    trial: Mapped[str] = mapped_column(ForeignKey("trials.id"), primary_key=True)
    epoch: Mapped[int] = mapped_column(primary_key=True)
    loss: Mapped[float]
    valid: Mapped[float]
    seconds: Mapped[float]
    at: Mapped[float]


class PublishedRow(Base):
    """One published number, with every source that prints it."""

    __tablename__ = "published"
    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    task: Mapped[str] = mapped_column(String(80), index=True)
    variant: Mapped[str]
    model: Mapped[str] = mapped_column(String(80))
    model_variant: Mapped[str]
    metric: Mapped[str]
    value: Mapped[float]
    std: Mapped[float | None]
    statistic: Mapped[str]
    n: Mapped[int | None]
    units: Mapped[str]
    params: Mapped[int | None]
    sources: Mapped[str] = mapped_column(Text)
    note: Mapped[str] = mapped_column(Text, server_default="")


class MirroredRow(Base):
    """How much of a trial a tracking server has been sent."""

    __tablename__ = "mirrored"
    trial: Mapped[str] = mapped_column(ForeignKey("trials.id"), primary_key=True)
    server: Mapped[str] = mapped_column(String(300), primary_key=True)
    run: Mapped[str] = mapped_column(String(64))
    epoch: Mapped[int]
    closed: Mapped[bool]
