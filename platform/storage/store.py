"""The results store: writes and reads sweeps and trials; further queries are in ``queries``."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from itertools import islice
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import aliased

from longwave.platform.boards.trust import shipped
from longwave.platform.records.about import About
from longwave.platform.records.report import Cohort, Rung
from longwave.platform.records.run import ENDED, EpochLine, Point, Run
from longwave.platform.records.stored import CatalogueEntry, PlannedTrial, StoredSweep, Trial
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage import rows, trial_writes
from longwave.platform.storage.base import utc_now
from longwave.platform.storage.checksums import write_checksums, write_row_checksums
from longwave.platform.storage.database import insert_new, insert_row, upsert_rows
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

CHUNK = 100
"""Trials written at a time, few enough for their rows and epochs to fit in memory."""


class Store(Sweeps):
    """Rows of sweeps, trials, curves, environments and published numbers. See ``Database`` for how it is opened."""

    def add_trials(
        self,
        sweep: str | None,
        trials: Sequence[TrialConfig],
        about: Sequence[About],
        cells: Sequence[int | None] | None = None,
    ) -> None:
        """Append trials, in order, to a sweep's plan. Trials that the store already has keep their records.

        Args:
            sweep: Its name; None for trials of no sweep.
            trials: What to train.
            about: The description of each, for readers.
            cells: Number of each one's cell in the sweep's plan; None for trials without a plan.
        """
        s, ids = SweepTrialRow, [c.id for c in trials]
        with self.transaction() as connection:
            stored = {line.id for line in select_in(connection, sa.select(TrialRow.id), TrialRow.id, ids)}
            remaining = zip(trials, about, strict=True)
            while chunk := list(islice(remaining, CHUNK)):
                insert_new(connection, TrialRow, rows.planned_trials(chunk))
            if sweep:
                end = sa.select(sa.func.coalesce(sa.func.max(s.position) + 1, 0)).where(s.sweep == sweep)
                insert_new(connection, s, rows.trials_of_sweep(sweep, ids, cells, connection.scalar(end) or 0))
            insert_new(connection, CohortRow, rows.cohort_members(trials))
            write_checksums(connection, [trial for trial in ids if trial not in stored])

    def planned(self, sweep: str) -> list[PlannedTrial]:
        """Return the trials of a sweep in order, without their configurations."""
        t, s = TrialRow, SweepTrialRow
        columns: tuple[Any, ...] = (t.id, t.model, t.phase, t.status, t.pack, t.valid, s.cell, t.epochs)
        query = sa.select(*columns).join(s, s.trial == t.id).where(s.sweep == sweep)
        with self.reading() as connection:
            planned = [PlannedTrial(*line) for line in connection.execute(query.order_by(s.position))]
            in_training = set(connection.scalars(trials_in_training(connection)))
        return [replace(p, status="running") if p.open and p.id in in_training else p for p in planned]

    def assign_new(self, packs: Mapping[str, Sequence[TrialConfig]]) -> dict[str, str]:
        """Assign trials to packs, except those that already have one; return the pack of each trial."""
        pack_of = {config.id: pack for pack, configs in packs.items() for config in configs}
        query = sa.select(TrialRow.id, TrialRow.pack).order_by(TrialRow.id).with_for_update()
        with self.transaction() as connection:
            # PostgreSQL: wait for drivers that assign them at the same time. All lock in one order, against deadlocks.
            stored_packs = {line.id: line.pack for line in select_in(connection, query, TrialRow.id, pack_of)}
            _assign_packs(connection, {trial: pack for trial, pack in pack_of.items() if stored_packs[trial] is None})
        return {trial: stored_packs[trial] or pack for trial, pack in pack_of.items()}

    def assign(self, packs: Mapping[str, Sequence[TrialConfig]]) -> None:
        """Assign open trials to packs."""
        with self.transaction() as connection:
            _assign_packs(connection, {config.id: pack for pack, configs in packs.items() for config in configs})

    def packs(self, trials: Sequence[str]) -> dict[str, str]:
        """Return the pack of each of ``trials`` that has one."""
        query = sa.select(TrialRow.id, TrialRow.pack).where(TrialRow.pack.is_not(None))
        with self.reading() as connection:
            return {trial: str(pack) for trial, pack in select_in(connection, query, TrialRow.id, trials)}

    def shared_trials(self, sweep: str) -> set[str]:
        """Return the trials of a sweep that another sweep also planned."""
        s, other = SweepTrialRow, aliased(SweepTrialRow)
        query = sa.select(s.trial).join(other, sa.and_(other.trial == s.trial, other.sweep != s.sweep))
        with self.reading() as connection:
            return set(connection.scalars(query.where(s.sweep == sweep)))

    def count_open(self, packs: Iterable[str]) -> dict[str, int]:
        """Return how many trials of each pack have not ended. No index covers this: all trials are scanned."""
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

    def write(self, points: Sequence[Point], runs: Sequence[Run]) -> None:
        """Write epochs and ends of trials that no driver trains, in one transaction; ended trials are not changed."""
        with self.transaction() as connection:
            still_open = trial_writes.open_trials(connection, {p.trial for p in points} | {run.trial for run in runs})
            trial_writes.write_epochs(connection, [p for p in points if p.trial in still_open])
            trial_writes.write_ends(connection, [run for run in runs if run.trial in still_open])

    def add_rerun(self, config: TrialConfig, about: About, points: Sequence[Point], run: Run, outcome: str) -> bool:
        """Write a re-run as a trial of no sweep, in one transaction; return False if the store has it already.

        Args:
            config: Its configuration.
            about: Its description.
            points: Its epochs.
            run: Its end.
            outcome: Whether it agreed with its row.
        """
        with self.transaction() as connection:
            [planned] = rows.planned_trials([(config, about)])
            if not insert_row(connection, TrialRow, planned):
                return False
            trial_writes.write_epochs(connection, points)
            trial_writes.write_ends(connection, [run], outcome)
        return True

    def cohort(self, name: str, sweep: str) -> Cohort:
        """Return a cohort of a sweep: its trials, their scores at rungs, and which of them have ended.

        Sweeps that draw the same trials, but stop them by other rules, give their cohorts the same name.
        """
        planned = sa.select(SweepTrialRow.trial).where(SweepTrialRow.sweep == sweep)
        query = sa.select(CohortRow.__table__).where(CohortRow.cohort == name, CohortRow.trial.in_(planned))
        ends = sa.select(TrialRow.id, TrialRow.epochs, TrialRow.status, TrialRow.valid)
        ends = ends.where(TrialRow.status.in_(ENDED))
        with self.reading() as connection:
            lines = connection.execute(query.order_by(CohortRow.epoch, CohortRow.trial)).all()
            members = tuple(line.trial for line in lines if line.epoch == 0)
            ended = list(select_in(connection, ends, TrialRow.id, members))
        rungs = tuple(Rung(name, r.epoch, r.trial, r.valid, r.stays) for r in lines if r.epoch)
        scores = {line.id: line.valid for line in ended if line.status == "ok" and line.valid is not None}
        return Cohort(name, members, {line.id: line.epochs for line in ended}, rungs, scores)

    def import_trials(
        self,
        bundles: Sequence[str],
        trials: Iterable[tuple[Trial, Sequence[EpochLine]]],
        sweeps: Iterable[tuple[StoredSweep, Sequence[str], Sequence[int | None]]],
        catalogue: Iterable[CatalogueEntry] = (),
        replaced: Collection[str] = (),
    ) -> None:
        """Write trials that ended elsewhere, in one transaction; existing rows are not changed but those of
        ``replaced``.

        The arguments are iterated once, in their order, each after the previous one has been written.

        Args:
            bundles: Names of the bundles that they come from.
            trials: With their ends, patches and flags, each with its epochs in order.
            sweeps: The sweeps that planned them, each with its trials in order and their cells.
            catalogue: Descriptions of their models and tasks. One of a task with a version of its data replaces one
                without.
            replaced: Those of the trials that the store has from elsewhere.
        """
        with self.transaction() as connection:
            insert_new(connection, ImportRow, [{"name": bundle, "at": utc_now()} for bundle in bundles])
            remaining = iter(trials)
            while chunk := list(islice(remaining, CHUNK)):
                trial_writes.insert_ended(connection, chunk, replaced)
            for sweep, planned, cells in sweeps:
                insert_new(connection, SweepRow, [{**asdict(sweep), "created": utc_now()}])
                if sweep.origin in shipped():  # believed from now on, whichever bundle brought it first
                    is_same = sa.and_(SweepRow.name == sweep.name, SweepRow.origin != sweep.origin)
                    connection.execute(sa.update(SweepRow).where(is_same).values(origin=sweep.origin, checksum=""))
                insert_new(connection, SweepTrialRow, rows.trials_of_sweep(sweep.name, planned, cells))
            entries, c = list(catalogue), CatalogueRow
            for entry in entries:
                if entry.data:
                    same = sa.and_(c.kind == entry.kind, c.name == entry.name, c.variant == entry.variant)
                    connection.execute(sa.delete(c).where(same, c.data == ""))
            insert_new(connection, c, [{**asdict(entry), "written": utc_now()} for entry in entries])
            for table in (SweepRow, CatalogueRow):
                write_row_checksums(connection, table)

    def write_catalogue(self, entries: Sequence[CatalogueEntry]) -> None:
        """Write descriptions of models and tasks, replacing existing ones."""
        with self.transaction() as connection:
            rows = [{**asdict(entry), "written": utc_now(), "checksum": ""} for entry in entries]
            upsert_rows(connection, CatalogueRow, rows)
            write_row_checksums(connection, CatalogueRow)

    def catalogue(self) -> list[CatalogueEntry]:
        """Return the descriptions of models and tasks."""
        columns = [getattr(CatalogueRow, f.name) for f in fields(CatalogueEntry)]
        query = sa.select(*columns).order_by(CatalogueRow.kind, CatalogueRow.name, CatalogueRow.variant)
        with self.reading() as connection:
            return [CatalogueEntry(*line) for line in connection.execute(query)]

    def analyse(self) -> None:
        """Update the statistics of the database's query planner; worth it after a large import."""
        with self.transaction() as connection:
            connection.execute(sa.text("ANALYZE"))


def _assign_packs(connection: sa.Connection, packs: Mapping[str, str]) -> None:
    """Write the pack of each open trial. All pairs are one JSON parameter, as there may be a hundred thousand."""
    text: sa.ColumnElement[Any] = sa.literal(json.dumps(packs))
    each = sa.func.json_each
    if connection.dialect.name == "postgresql":
        text, each = sa.cast(text, sa.JSON), sa.func.json_each_text
    pairs = each(text).table_valued("key", "value")
    which = sa.and_(TrialRow.id == pairs.c.key, TrialRow.status.not_in(ENDED))
    connection.execute(sa.update(TrialRow).where(which).values(pack=pairs.c.value))
