"""Checksums of everything recorded of a trial, which reveal later changes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

FORM = "2"
"""Version of the format, with which each checksum begins."""
PLAN = frozenset({"id", "task", "model", "phase", "row", "config", "about"})
"""Columns of a trial's plan; all others describe its end."""
START = len(FORM) + 33
"""Number of characters of the version and of the plan's digits."""
WITHOUT_RECORD = START + 32
"""Length of older checksums without the digits of the record."""
RECORD = 14
"""Number of digits of the record."""

Line = Mapping[str, Any]
"""The columns of a row that differ from their defaults, by name."""


def trial_checksum(trial: Line, rows_by_table: Mapping[str, Iterable[Line | str]] | None = None) -> str:
    """Return ``2:``, 32 hex digits for a trial's plan, 32 more for its end, and ``record_digits``, with SHA-256.

    It covers every column that differs from its default, by name: a column that is added later with a default changes
    no checksum until it is used, and is covered from then on. It depends only on values: not on the order of columns or
    rows, nor on the database.

    Args:
        trial: The trial's row.
        rows_by_table: Its rows in other tables, by table, or their texts; None if the trial has not ended. Numbers that
            are not finite are covered too.
    """
    plan = {name: value for name, value in trial.items() if name in PLAN}
    plan_digits = f"{FORM}:{_hash_text(_text(plan))}"
    if rows_by_table is None:
        return plan_digits
    end = _text({name: value for name, value in trial.items() if name not in PLAN})
    tables = {
        table: lines
        for table, rows in rows_by_table.items()
        if (lines := sorted(row if isinstance(row, str) else _text(row) for row in rows))
    }
    return plan_digits + _hash_text(_text([end, tables])) + _hash_text(end)[:RECORD]


def row_checksum(row: Line) -> str:
    """Return 32 hex digits for a row that belongs to no trial, with the same coverage of columns."""
    return _hash_text(_text(row))


def record_digits(trial: Line) -> str:
    """Return 14 hex digits for the end of a trial in its row, by which boards are checked without reading curves."""
    return _hash_text(_text({name: value for name, value in trial.items() if name not in PLAN}))[:RECORD]


def epoch_text(trial: str, epoch: int, loss: float, valid: float, seconds: float, at: float) -> str:
    """Return the same as ``_text`` for the row of an epoch with finite numbers, in a third of the time. -0.0 becomes
    0.0, as in SQLite.
    """
    return (
        f'{{"at":{at + 0.0!r},"epoch":{epoch},"loss":{loss + 0.0!r},"seconds":{seconds + 0.0!r},'
        f'"trial":"{trial}","valid":{valid + 0.0!r}}}'
    )


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _moment_text(value: datetime) -> str:
    return value.astimezone(UTC).isoformat()


_text = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), default=_moment_text
).encode  # built once, because curves are long
