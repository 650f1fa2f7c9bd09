"""The results store: the truth. Sweeps and trials are written and read here, further questions are in ``queries``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from itertools import islice
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import aliased

from longwave.platform.records.about import About
from longwave.platform.records.report import Cohort, Rung
from longwave.platform.records.run import ENDED, EpochLine, Point, Run
from longwave.platform.records.stored import CatalogueEntry, PlannedTrial, StoredSweep, Trial
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage import rows, trial_writes
from longwave.platform.storage.base import utc_now
from longwave.platform.storage.checksums import write_checksums, write_row_checksums
from longwave.platform.storage.database import insert_new, upsert_rows
from longwave.platform.storage.in_clause import select_in
from longwave.platform.storage.lease_tables import CohortRow
from longwave.platform.storage.liveness import trials_in_training
from longwave.platform.storage.schema import (
    CatalogueRow,
    ImportRow,
    SweepRow,
    SweepTrialRow,
    TrialRow,
)
from longwave.platform.storage.sweeps import Sweeps

TOGETHER = 100
"""Trials that are imported at a time: their epochs fit in memory."""


class Store(Sweeps):
    """Rows of sweeps, trials, curves, environments and published numbers. See ``Database`` for how it is opened."""

    def add_trials(
        self,
        sweep: str | None,
        trials: Sequence[TrialConfig],
        about: Sequence[About],
        cells: Sequence[int | None] | None = None,
    ) -> None:
        """Write trials, in order, as planned by a sweep, behind those it has. Known ones keep their records.

        Args:
            sweep: Its name; None for trials of no sweep.
            trials: What to train.
            about: What explains each of them to a reader.
            cells: Number of each one's cell in the sweep's plan; None for trials without a plan.
        """
        s, ids = SweepTrialRow, [c.id for c in trials]
        with self.transaction() as connection:
            insert_new(connection, TrialRow, rows.planned_trials(zip(trials, about, strict=True)))
            if sweep:
                end = sa.select(sa.func.coalesce(sa.func.max(s.position) + 1, 0)).where(s.sweep == sweep)
                insert_new(connection, s, rows.trials_of_sweep(sweep, ids, cells, connection.scalar(end) or 0))
            insert_new(connection, CohortRow, rows.cohort_members(trials))
            write_checksums(connection, ids)

    def planned(self, sweep: str) -> list[PlannedTrial]:
        """Return the trials of a sweep in short, in order: without their configurations."""
        t, s = TrialRow, SweepTrialRow
        columns: tuple[Any, ...] = (t.id, t.model, t.phase, t.status, t.pack, t.valid, s.cell, t.epochs)
        query = sa.select(*columns).join(s, s.trial == t.id).where(s.sweep == sweep)
        with self.reading() as connection:
            planned = [PlannedTrial(*line) for line in connection.execute(query.order_by(s.position))]
            now = set(connection.scalars(trials_in_training(connection)))
        return [replace(a, status="running") if a.open and a.id in now else a for a in planned]

    def assign_new(self, packs: Mapping[str, Sequence[TrialConfig]]) -> dict[str, str]:
        """Write which pack each trial belongs to, but of those that belong to one already; return what is so then."""
        pack_of = {config.id: pack for pack, configs in packs.items() for config in configs}
        query = sa.select(TrialRow.id, TrialRow.pack).order_by(TrialRow.id).with_for_update()
        with self.transaction() as connection:
            # PostgreSQL: who divides them at the same moment is waited for, in an order that all keep
            before = {line.id: line.pack for line in select_in(connection, query, TrialRow.id, pack_of)}
            _assign_packs(connection, {trial: pack for trial, pack in pack_of.items() if before[trial] is None})
        return {trial: before[trial] or pack for trial, pack in pack_of.items()}

    def assign(self, packs: Mapping[str, Sequence[TrialConfig]]) -> None:
        """Write which pack each open trial belongs to."""
        with self.transaction() as connection:
            _assign_packs(connection, {config.id: pack for pack, configs in packs.items() for config in configs})

    def packs(self, trials: Sequence[str]) -> dict[str, str]:
        """Return the pack of each of ``trials`` that belongs to one."""
        query = sa.select(TrialRow.id, TrialRow.pack).where(TrialRow.pack.is_not(None))
        with self.reading() as connection:
            return {trial: str(pack) for trial, pack in select_in(connection, query, TrialRow.id, trials)}

    def shared_trials(self, sweep: str) -> set[str]:
        """Return the trials of a sweep that another one planned, too."""
        s, other = SweepTrialRow, aliased(SweepTrialRow)
        query = sa.select(s.trial).join(other, sa.and_(other.trial == s.trial, other.sweep != s.sweep))
        with self.reading() as connection:
            return set(connection.scalars(query.where(s.sweep == sweep)))

    def count_open(self, packs: Iterable[str]) -> dict[str, int]:
        """Return how many trials of each pack have not ended. No index helps here: all trials are read for it."""
        query = sa.select(TrialRow.pack, sa.func.count()).where(TrialRow.status.not_in(ENDED)).group_by(TrialRow.pack)
        counts = dict.fromkeys(packs, 0)
        if not counts:
            return {}
        with self.reading() as connection:
            return counts | {str(pack): n for pack, n in select_in(connection, query, TrialRow.pack, counts)}

    def cohorts(self, trials: Sequence[str]) -> dict[str, str]:
        """Return the cohort of each of ``trials`` that competes in one."""
        query = sa.select(CohortRow.trial, CohortRow.cohort).where(CohortRow.epoch == 0)
        with self.reading() as connection:
            return {line.trial: line.cohort for line in select_in(connection, query, CohortRow.trial, trials)}

    def write(self, points: Sequence[Point], runs: Sequence[Run], rerun: str = "") -> None:
        """Write epochs and ends of trials that no driver trains, in one transaction; what has ended stays as it is.

        Args:
            points: Epochs.
            runs: Ends.
            rerun: Of a re-run that is kept, how it stood to its row.
        """
        with self.transaction() as connection:
            still_open = trial_writes.open_trials(connection, {p.trial for p in points})
            trial_writes.write_epochs(connection, [p for p in points if p.trial in still_open])
            trial_writes.write_ends(connection, runs, rerun)

    def cohort(self, name: str) -> Cohort:
        """Return what is known of the trials that compete in a cohort."""
        query = sa.select(CohortRow.__table__).where(CohortRow.cohort == name)
        ends = sa.select(TrialRow.id, TrialRow.epochs).where(TrialRow.status.in_(ENDED))
        with self.reading() as connection:
            lines = connection.execute(query.order_by(CohortRow.epoch, CohortRow.trial)).all()
            members = tuple(line.trial for line in lines if line.epoch == 0)
            gone = {line.id: line.epochs for line in select_in(connection, ends, TrialRow.id, members)}
        rungs = tuple(Rung(name, r.epoch, r.trial, r.valid, r.stays) for r in lines if r.epoch)
        return Cohort(name, members, gone, rungs)

    def import_trials(
        self,
        bundles: Sequence[str],
        trials: Iterable[tuple[Trial, Sequence[EpochLine]]],
        sweeps: Iterable[tuple[StoredSweep, Sequence[str], Sequence[int | None]]],
        catalogue: Iterable[CatalogueEntry] = (),
    ) -> None:
        """Write trials that ended elsewhere, all of it or nothing; what is there already stays as it is.

        Each argument is gone through once all before it is written.

        Args:
            bundles: Names of what they came in.
            trials: With their ends, patches and flags, each with its epochs in order.
            sweeps: What planned them, each with its trials in order and their cells.
            catalogue: What pages need of their models and tasks; what is known of any stays as it is.
        """
        with self.transaction() as connection:
            insert_new(connection, ImportRow, [{"name": bundle, "at": utc_now()} for bundle in bundles])
            coming = iter(trials)
            while part := list(islice(coming, TOGETHER)):
                trial_writes.insert_ended(connection, part)
            for sweep, planned, cells in sweeps:
                insert_new(connection, SweepRow, [{**asdict(sweep), "created": utc_now()}])
                insert_new(connection, SweepTrialRow, rows.trials_of_sweep(sweep.name, planned, cells))
            insert_new(connection, CatalogueRow, [{**asdict(entry), "written": utc_now()} for entry in catalogue])
            for table in (SweepRow, CatalogueRow):
                write_row_checksums(connection, table)

    def write_catalogue(self, entries: Sequence[CatalogueEntry]) -> None:
        """Write what pages need of models and tasks, in place of what was known of them."""
        with self.transaction() as connection:
            rows = [{**asdict(entry), "written": utc_now(), "checksum": ""} for entry in entries]
            upsert_rows(connection, CatalogueRow, rows)
            write_row_checksums(connection, CatalogueRow)

    def catalogue(self) -> list[CatalogueEntry]:
        """Return what is known of models and tasks."""
        columns = [getattr(CatalogueRow, f.name) for f in fields(CatalogueEntry)]
        query = sa.select(*columns).order_by(CatalogueRow.kind, CatalogueRow.name, CatalogueRow.variant)
        with self.reading() as connection:
            return [CatalogueEntry(*line) for line in connection.execute(query)]

    def analyse(self) -> None:
        """Let the database count what its planner goes by; worth it after a large import."""
        with self.transaction() as connection:
            connection.execute(sa.text("ANALYZE"))


def _assign_packs(connection: sa.Connection, packs: Mapping[str, str]) -> None:
    """Write the pack of each open trial: both as one parameter, which a hundred thousand are read from at once."""
    text: sa.ColumnElement[Any] = sa.literal(json.dumps(packs))
    each = sa.func.json_each
    if connection.dialect.name == "postgresql":
        text, each = sa.cast(text, sa.JSON), sa.func.json_each_text
    pairs = each(text).table_valued("key", "value")
    which = sa.and_(TrialRow.id == pairs.c.key, TrialRow.status.not_in(ENDED))
    connection.execute(sa.update(TrialRow).where(which).values(pack=pairs.c.value))
