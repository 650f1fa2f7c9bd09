"""The cells of sweeps that planned the rows of a board, and the tally of each cell's search."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import sqlalchemy as sa

from longwave.platform.boards.trust import shipped
from longwave.platform.records.group import Tally
from longwave.platform.storage.choices import is_trusted, select_untrusted_sweeps
from longwave.platform.storage.in_clause import in_clause
from longwave.platform.storage.schema import ImportRow, SweepTrialRow, TrialRow

CellName = tuple[str, int | None]
"""A cell of a sweep: the sweep's name, and the cell's number in its plan."""
CellNames = tuple[CellName, ...]


def read_cells(
    connection: sa.Connection,
    where: sa.ColumnElement[bool],
    trust: Collection[str],
    untrusted: Mapping[CellName, Collection[str]],
) -> dict[str, CellNames]:
    """Return the cells that planned a retraining of each group, by its row: if any is trusted, only those of trusted
    ones, so that no imported sweep says how another row was searched or which one replaces it. An imported sweep, with
    an @ in its name, may also plan trials that were trained here: for these it is not trusted, nor is a sweep whose
    bundle nobody trusts, nor a cell in ``untrusted``; see ``read_untrusted_cells``.
    """
    s = SweepTrialRow
    counts = sa.and_(
        is_trusted(trust),
        sa.or_(TrialRow.origin.is_not(None), sa.not_(s.sweep.contains("@"))),
        s.sweep.not_in(select_untrusted_sweeps(trust)),
    )
    query = sa.select(TrialRow.row, s.sweep, s.cell, counts).join(s, s.trial == TrialRow.id).where(where)
    all_cells: dict[str, set[CellName]] = {}
    trusted_cells: dict[str, set[CellName]] = {}
    for row, sweep, cell, trusted in connection.execute(query):  # DISTINCT would make SQLite scan all by row
        for by_row in (all_cells, trusted_cells) if trusted and (sweep, cell) not in untrusted else (all_cells,):
            by_row.setdefault(row, set()).add((sweep, cell))
    return {row: tuple(sorted(cells, key=str)) for row, cells in (all_cells | trusted_cells).items()}


def read_untrusted_cells(connection: sa.Connection, trust: Collection[str]) -> dict[CellName, set[str]]:
    """Return the cells that planned trials of bundles that nobody trusts, with the names of these bundles: of a sweep
    made here, those whose search or race such a trial is part of, and of an imported sweep also those with such a
    retraining; ``trust`` as for ``is_trusted``.
    """
    s, t, trusted = SweepTrialRow, TrialRow, {*shipped(), *trust}
    bundles = [name for name in connection.scalars(sa.select(ImportRow.name)) if name not in trusted]
    cells: dict[CellName, set[str]] = {}
    columns: tuple[Any, ...] = (s.sweep, s.cell, t.origin)
    if bundles:
        query = sa.select(*columns).join(t, s.trial == t.id).distinct()
        counts = sa.or_(s.sweep.contains("@"), t.phase != "retrain")
        for sweep, cell, bundle in connection.execute(query.where(in_clause(t.origin, bundles), counts)):
            cells.setdefault((sweep, cell), set()).add(bundle)
    return cells


def in_cells(cells: CellNames) -> sa.ColumnElement[bool]:
    """Return the condition that one of ``cells`` planned a trial."""
    s = SweepTrialRow
    each = (sa.and_(s.sweep == sweep, s.cell.is_(None) if cell is None else s.cell == cell) for sweep, cell in cells)
    return sa.or_(sa.false(), *each)


def read_tallies(
    connection: sa.Connection, task: str | None, several: set[CellNames]
) -> dict[tuple[CellNames, str, str], Tally]:
    """Return the tally of each task and model's search by cell, and over each set of cells in ``several``.

    A trial in several cells of a set counts once. Seconds include those of races.
    """
    t = TrialRow
    searched = t.phase == "search"
    counted = [searched, *(sa.and_(searched, t.status == status) for status in ("diverged", "ok", "stopped"))]
    trials, diverged, whole, stopped = (sa.func.sum(sa.case((each, 1), else_=0)) for each in counted)
    sums: tuple[Any, ...] = (t.task, t.model, trials, diverged, sa.func.sum(t.seconds), whole, stopped)
    where = sa.and_(t.phase.in_(("search", "race")), sa.true() if task is None else t.task == task)
    cell = (SweepTrialRow.sweep, SweepTrialRow.cell)
    one = sa.select(*cell, *sums).join(SweepTrialRow, SweepTrialRow.trial == t.id).where(where)
    tallies: dict[tuple[CellNames, str, str], Tally] = {}
    for sweep, number, name, model, *tally in connection.execute(one.group_by(*cell, t.task, t.model)).all():
        tallies[((sweep, number),), name, model] = Tally(*tally)
    for cells in several:
        planned = sa.select(SweepTrialRow.trial).where(in_cells(cells))
        for name, model, *tally in connection.execute(
            sa.select(*sums).where(where, t.id.in_(planned)).group_by(t.task, t.model)
        ):
            tallies[cells, name, model] = Tally(*tally)
    return tallies
