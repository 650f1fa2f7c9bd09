"""A checksum over all that was recorded of a trial: whoever finds another one knows that something was changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

FORM = "2"
"""Version of the form, which each checksum begins with."""
PLAN = frozenset({"id", "task", "model", "phase", "row", "config", "about"})
"""Columns of a trial that say what is planned; all others are of its end."""
START = len(FORM) + 33
"""Characters of the form and of the plan's digits."""
WITHOUT_RECORD = START + 32
"""Characters of a checksum that was written before the digits of the record alone came to it."""
RECORD = 14
"""Digits of the record alone."""

Line = Mapping[str, Any]
"""The columns of a row that differ from their defaults, by name."""


def trial_checksum(trial: Line, rows_by_table: Mapping[str, Iterable[Line | str]] | None = None) -> str:
    """Return ``2:``, 32 hex digits for a trial's plan, 32 more for its end, and ``record_digits``, with SHA-256.

    It covers every column by its name, but for those that have their default: one that is added later with a default
    changes no checksum until it is used, and is covered from then on. It depends on values alone: not on the order of
    columns or rows, nor on the database they lie in.

    Args:
        trial: Its row.
        rows_by_table: Its rows in other tables, by table, or their texts; None of a trial that has not ended. Numbers
            that are not finite count, too.
    """
    plan = {name: value for name, value in trial.items() if name in PLAN}
    made = f"{FORM}:{_hash_text(_text(plan))}"
    if rows_by_table is None:
        return made
    end = _text({name: value for name, value in trial.items() if name not in PLAN})
    tables = {
        table: lines
        for table, rows in rows_by_table.items()
        if (lines := sorted(row if isinstance(row, str) else _text(row) for row in rows))
    }
    return made + _hash_text(_text([end, tables])) + _hash_text(end)[:RECORD]


def row_checksum(row: Line) -> str:
    """Return 32 hex digits for a row that belongs to no trial; they cover what those of a trial do."""
    return _hash_text(_text(row))


def record_digits(trial: Line) -> str:
    """Return 14 hex digits for what a trial's row says of its end: a board is checked by them, without any curve."""
    return _hash_text(_text({name: value for name, value in trial.items() if name not in PLAN}))[:RECORD]


def epoch_text(trial: str, epoch: int, loss: float, valid: float, seconds: float, at: float) -> str:
    """Return what ``_text`` gives for the row of an epoch with finite numbers, in a third of the time.

    0.0 stands for -0.0, as in SQLite.
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
).encode  # made once: curves are long
