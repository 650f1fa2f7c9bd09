"""Rows that their own retrainings chose: which retrainings count no longer, and which rows gave way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from longwave.platform.records.group import Group
from longwave.platform.storage.schema import SweepRow, SweepTrialRow, TrialRow


def read_sweep_contents(connection: sa.Connection) -> dict[str, Mapping[str, Any]]:
    """Return the settings of all sweeps by name."""
    lines = connection.execute(sa.select(SweepRow.name, SweepRow.content))
    return {line.name: line.content for line in lines}


def list_instead_of(contents: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the rows that give way to those of a sweep, by its name; sweeps to which none gives way are left out."""
    return {name: rows for name, content in contents.items() if (rows := content.get("instead_of"))}


def read_uncounted(connection: sa.Connection, sweeps: Sequence[str]) -> set[str]:
    """Return the retrainings that count no longer, as they chose their row: ``sweeps`` trained it with other seeds."""
    if not sweeps:
        return set()
    t, s = TrialRow, SweepTrialRow
    by_these = sa.select(s.trial).where(s.sweep.in_(sweeps))
    rows = sa.select(t.row).where(t.phase == "retrain", t.id.in_(by_these))
    query = sa.select(t.id).join(s, s.trial == t.id).where(t.phase == "retrain", t.row.in_(rows), t.id.not_in(by_these))
    return set(connection.scalars(query))


def list_rejected(groups: Sequence[Group], instead_of: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return of each row that gave way the rows of its task, variant and model that took its place, sorted."""
    found: dict[str, list[str]] = {}
    by_row = {group.row: group.config for group in groups}
    for group in groups:
        here = group.config
        for row in sorted({row for sweep in group.sweeps for row in instead_of.get(sweep, ())} - {group.row}):
            there = by_row.get(row)
            if there and (there.task, there.variant, there.model) == (here.task, here.variant, here.model):
                found.setdefault(row, []).append(group.row)
    return {row: sorted(others) for row, others in found.items()}
