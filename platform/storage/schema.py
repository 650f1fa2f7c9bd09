"""The store's tables, as SQLAlchemy classes. ``migrations/`` upgrades older stores to this schema.

A new column needs a ``server_default``, or must be nullable. The checksum of a trial covers each column of ``trials``,
``curves``, ``measures`` and ``flags`` that differs from its default; those of ``sweeps`` and ``catalogue`` cover their
own row.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from longwave.platform.storage import lease_tables  # noqa: F401  registers its tables
from longwave.platform.storage.base import Base as Base  # import it from here, where all tables are registered
from longwave.platform.storage.base import Epoch, utc_now


class SweepRow(Base):
    """A sweep: its settings and its plan; see ``StoredSweep``."""

    __tablename__ = "sweeps"
    name: Mapped[str] = mapped_column(String(80), primary_key=True)
    content: Mapped[dict[str, Any]]
    plan: Mapped[dict[str, Any] | None]
    created: Mapped[datetime] = mapped_column(default=utc_now)
    state: Mapped[str] = mapped_column(String(10), server_default="")
    origin: Mapped[str | None] = mapped_column(String(64))
    checksum: Mapped[str] = mapped_column(String(32), server_default="")


class ImportRow(Base):
    """A bundle that was imported."""

    __tablename__ = "imports"
    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    at: Mapped[datetime] = mapped_column(default=utc_now)


class CatalogueRow(Base):
    """Facts about a model, or a task's variant, that pages show; see ``CatalogueEntry``."""

    __tablename__ = "catalogue"
    kind: Mapped[str] = mapped_column(String(10), primary_key=True)
    name: Mapped[str] = mapped_column(String(80), primary_key=True)
    variant: Mapped[str] = mapped_column(String(200), primary_key=True, server_default="")
    version: Mapped[str]
    family: Mapped[str]
    data: Mapped[str] = mapped_column(server_default="")
    facts: Mapped[dict[str, Any]]
    written: Mapped[datetime] = mapped_column(default=utc_now)
    checksum: Mapped[str] = mapped_column(String(32), server_default="")


class EnvironmentRow(Base):
    """Where trials ran; one row for each distinct set of facts."""

    __tablename__ = "environments"
    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    facts: Mapped[dict[str, Any]]


class PatchRow(Base):
    """How the code of some trials differed from its commit; their environment gives its id as ``diff``."""

    __tablename__ = "patches"
    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    text: Mapped[str] = mapped_column(Text)


class TrialRow(Base):
    """A trial: its plan, and its record once it has ended. Only what queries filter or sort by has its own column."""

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
    origin: Mapped[str | None] = mapped_column(ForeignKey("imports.name"))
    rerun: Mapped[str] = mapped_column(String(10), server_default="")
    ended: Mapped[datetime | None]
    checksum: Mapped[str] = mapped_column(String(80), server_default="")
    __table_args__ = (Index("ix_trials_phase_task", "phase", "task", "model", "id", "status", "seconds"),)


class SweepTrialRow(Base):
    """A trial in a sweep's plan, in one of its cells; see ``PlannedTrial``. Two sweeps may plan the same one."""

    __tablename__ = "sweep_trials"
    sweep: Mapped[str] = mapped_column(ForeignKey("sweeps.name"), primary_key=True)
    trial: Mapped[str] = mapped_column(ForeignKey("trials.id"), primary_key=True)
    position: Mapped[int]
    cell: Mapped[int | None]
    __table_args__ = (Index("ix_sweep_trials_trial", "trial", "sweep", "cell"),)


class CurveRow(Epoch, Base):
    """One epoch of one trial."""

    __tablename__ = "curves"
    trial: Mapped[str] = mapped_column(ForeignKey("trials.id"), primary_key=True)
    epoch: Mapped[int] = mapped_column(primary_key=True)


class MeasureRow(Base):
    """An additional measurement of a trial's run; see ``Measure``."""

    __tablename__ = "measures"
    trial: Mapped[str] = mapped_column(ForeignKey("trials.id"), primary_key=True)
    key: Mapped[str] = mapped_column(String(80), primary_key=True)
    x_name: Mapped[str] = mapped_column(String(40), primary_key=True, server_default="")
    x: Mapped[float] = mapped_column(primary_key=True, server_default="0")
    unit: Mapped[str]
    value: Mapped[float]


class FlagRow(Base):
    """What checks of its bundle found wrong with an imported trial, one finding per line; see ``Trial.flags``."""

    __tablename__ = "flags"
    trial: Mapped[str] = mapped_column(ForeignKey("trials.id"), primary_key=True)
    text: Mapped[str] = mapped_column(Text)


class PublishedRow(Base):
    """A published number, with every source that prints it."""

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
    ours: Mapped[str] = mapped_column(server_default="")
    fixed: Mapped[str] = mapped_column(server_default="")
    block: Mapped[str] = mapped_column(server_default="")
    printed: Mapped[str] = mapped_column(server_default="")
    layers: Mapped[int | None]
    paper: Mapped[str] = mapped_column(server_default="")


def default_of(column: Any) -> Any:
    """Return a column's default value; ``...`` if every row must set it."""
    if column.default is not None and column.default.is_scalar:
        return column.default.arg
    if column.server_default is not None:
        text, kind = str(column.server_default.arg), column.type.python_type
        return text in ("1", "true") if kind is bool else kind(text)
    return None if column.nullable else ...


BLANK_TRIAL = {
    column.name: default
    for column in TrialRow.__table__.c
    if column.name != "checksum" and (default := default_of(column)) is not ...
}
"""Columns of a trial of which nothing has been recorded yet, without its checksum, which covers its plan."""
