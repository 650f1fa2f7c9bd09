"""Rows whose search was extended: another sweep's search has all of its trials and more, and chose another winner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.orm import aliased

from longwave.platform.storage.schema import SweepTrialRow, TrialRow


class Search(NamedTuple):
    """The search trials of a model on a task in one cell of a sweep's plan; without a cell, in several together."""

    sweep: str
    cell: int | None
    task: str
    model: str


def read_successors(
    connection: sa.Connection, chosen: Mapping[str, Iterable[Search]], sizes: Mapping[Search, int]
) -> dict[str, list[str]]:
    """Return, for each row whose searches were all extended and then chose other rows, these rows, sorted.

    Args:
        connection: To the store.
        chosen: The searches that chose each row; rows without one are ignored.
        sizes: Number of trials of each search.
    """
    winners: dict[Search, set[str]] = {}
    for row, searches in chosen.items():
        for search in searches:
            winners.setdefault(search, set()).add(row)
    later = _later_searches(connection, {search: sizes.get(search, 0) for search in winners})
    successors = {}
    for row, searches in chosen.items():
        others = [{other for last in later.get(search, ()) for other in winners[last]} - {row} for search in searches]
        if others and all(others):
            successors[row] = sorted(set().union(*others))
    return successors


def _later_searches(connection: sa.Connection, sizes: Mapping[Search, int]) -> dict[Search, list[Search]]:
    """Return, for each search, those of other sweeps that have all of its trials and more."""
    sweeps: dict[tuple[str, str], set[str]] = {}
    for search in sizes:
        sweeps.setdefault((search.task, search.model), set()).add(search.sweep)
    overlapping = set[str]().union(*(names for names in sweeps.values() if len(names) > 1))
    later: dict[Search, list[Search]] = {}
    for (first, last), count in (_shared_trials(connection, overlapping) if overlapping else {}).items():
        if None not in (first.cell, last.cell) and count == sizes.get(first, 0) < sizes.get(last, 0):
            later.setdefault(first, []).append(last)
    return later


def _shared_trials(connection: sa.Connection, sweeps: set[str]) -> dict[tuple[Search, Search], int]:
    """Return how many trials two searches of different sweeps share, if any."""
    t, one, other = TrialRow, aliased(SweepTrialRow), aliased(SweepTrialRow)
    key: tuple[Any, ...] = (one.sweep, one.cell, other.sweep, other.cell, t.task, t.model)
    query: sa.Select[Any] = (
        sa.select(*key, sa.func.count())
        .join(other, sa.and_(other.trial == one.trial, other.sweep != one.sweep))
        .join(t, t.id == one.trial)
        .where(t.phase == "search", one.sweep.in_(sweeps), other.sweep.in_(sweeps))
        .group_by(*key)
    )
    return {
        (Search(sweep, cell, task, model), Search(other_sweep, other_cell, task, model)): count
        for sweep, cell, other_sweep, other_cell, task, model, count in connection.execute(query).all()
    }
