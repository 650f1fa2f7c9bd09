"""Rows chosen by comparing retrainings: these retrainings no longer count, and the other rows are rejected."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from longwave.platform.boards.trust import shipped
from longwave.platform.records.group import Group
from longwave.platform.storage.schema import SweepRow, SweepTrialRow, TrialRow


def read_sweep_contents(connection: sa.Connection) -> dict[str, Mapping[str, Any]]:
    """Return the settings of all sweeps by name."""
    lines = connection.execute(sa.select(SweepRow.name, SweepRow.content))
    return {line.name: line.content for line in lines}


def list_instead_of(contents: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the rows that each sweep replaces, by its name; sweeps that replace none are left out."""
    return {name: rows for name, content in contents.items() if (rows := content.get("instead_of"))}


def select_untrusted_sweeps(trust: Collection[str]) -> sa.Select[str]:
    """Return the query of the sweeps that came with a bundle that nobody trusts; ``trust`` as for ``is_trusted``."""
    return sa.select(SweepRow.name).where(SweepRow.origin.not_in([*shipped(), *trust]))


def read_uncounted(connection: sa.Connection, sweeps: Sequence[str], trust: Collection[str]) -> set[str]:
    """Return the retrainings that were used to choose a row and no longer count: ``sweeps`` retrained that row.

    Retrainings and sweeps from bundles that nobody trusts replace only retrainings of such bundles; ``trust`` as for
    ``is_trusted``.
    """
    if not sweeps:
        return set()
    t, s = TrialRow, SweepTrialRow
    planned = sa.select(s.trial).where(s.sweep.in_(sweeps))
    rows = sa.select(t.row).where(t.phase == "retrain", t.id.in_(planned))
    trusted = is_trusted(trust)
    believed = planned.where(s.sweep.not_in(select_untrusted_sweeps(trust)))
    is_replaced = sa.or_(t.row.in_(rows.where(trusted, t.id.in_(believed))), sa.and_(t.row.in_(rows), sa.not_(trusted)))
    query = sa.select(t.id).join(s, s.trial == t.id).where(t.phase == "retrain", is_replaced, t.id.not_in(planned))
    return set(connection.scalars(query))


def is_trusted(trust: Collection[str]) -> sa.ColumnElement[bool]:
    """Return the condition that a trial was trained here, or came with a bundle that the package trusts, or ``trust``:
    full names of bundles that the reader trusts.
    """
    return sa.or_(TrialRow.origin.is_(None), TrialRow.origin.in_([*shipped(), *trust]))


def list_rejected(groups: Sequence[Group], instead_of: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return, for each rejected row, the rows of its task, variant and model that replaced it, sorted."""
    replacements: dict[str, list[str]] = {}
    by_row = {group.row: group.config for group in groups}
    for group in groups:
        config = group.config
        for row in sorted({row for sweep in group.sweeps for row in instead_of.get(sweep, ())} - {group.row}):
            other = by_row.get(row)
            if other and (other.task, other.variant, other.model) == (config.task, config.variant, config.model):
                replacements.setdefault(row, []).append(group.row)
    return {row: sorted(others) for row, others in replacements.items()}
