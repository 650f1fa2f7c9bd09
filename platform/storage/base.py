"""What all tables of the store share: column types for times and JSON, and the naming of constraints."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, DateTime, MetaData, TypeDecorator
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class UTCTime(TypeDecorator[datetime]):
    """A time in UTC. SQLite drops time zones, so UTC is added again on reading."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return ``value`` in UTC."""
        return value and value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return the stored time with its time zone."""
        return value and (value if value.tzinfo else value.replace(tzinfo=UTC))


def utc_now() -> datetime:
    """Return the current time in UTC."""
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
        dict[str, Any]: JSON(none_as_null=True),  # JSONB would sort keys, and read 1e20 back as an integer
        datetime: UTCTime,
    }


class Epoch:
    """Columns shared by all tables of epochs."""

    loss: Mapped[float] = mapped_column(sort_order=1)
    valid: Mapped[float] = mapped_column(sort_order=1)
    seconds: Mapped[float] = mapped_column(sort_order=1)
    at: Mapped[float] = mapped_column(sort_order=1)
