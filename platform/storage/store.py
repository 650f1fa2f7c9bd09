"""The results store: the truth. Sweeps and trials are written and read here, further questions are in ``queries``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session, aliased

from longwave.platform.records.about import About
from longwave.platform.records.report import Company, Rung
from longwave.platform.records.run import ENDED, Point, Run
from longwave.platform.records.stored import Asked, Known, StoredSweep, Trial
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage import entries, rows
from longwave.platform.storage.among import among
from longwave.platform.storage.base import utc_now
from longwave.platform.storage.database import insert_new, put
from longwave.platform.storage.driving import CohortRow
from longwave.platform.storage.living import in_training
from longwave.platform.storage.queries import pieces
from longwave.platform.storage.schema import AskRow, CurveRow, FlagRow, ImportRow, KnownRow, SweepRow, TrialRow
from longwave.platform.storage.seals import fill
from longwave.platform.storage.sweeps import Sweeps


class Store(Sweeps):
    """Rows of sweeps, trials, curves, environments and published numbers. See ``Database`` for how it is opened."""

    def ask(
        self,
        sweep: str | None,
        trials: Sequence[TrialConfig],
        about: Sequence[About],
        cells: Sequence[int | None] | None = None,
    ) -> None:
        """Write trials, in order, as asked for by a sweep, behind those it has. Known ones keep their records.

        Args:
            sweep: Its name; None for trials that no sweep asks for.
            trials: What to train.
            about: What explains each of them to a reader.
            cells: Number of the entry of the sweep's plan that asks for each; none where models tell them apart.
        """
        with self.transaction() as connection:
            insert_new(connection, TrialRow, rows.planned(zip(trials, about, strict=True)))
            if sweep:
                last = sa.select(sa.func.coalesce(sa.func.max(AskRow.position) + 1, 0)).where(AskRow.sweep == sweep)
                start = connection.scalar(last) or 0
                asks = rows.asks(sweep, [c.id for c in trials], cells, start)
                insert_new(connection, AskRow, asks)
            insert_new(connection, CohortRow, rows.competing(trials))
            fill(connection, [c.id for c in trials])

    def asked(self, sweep: str) -> list[Asked]:
        """Return the trials a sweep asked for in short, in order: without their configurations."""
        t = TrialRow
        columns: tuple[Any, ...] = (t.id, t.model, t.phase, t.status, t.pack, t.valid, AskRow.cell, t.epochs)
        query = sa.select(*columns).join(AskRow, AskRow.trial == t.id).where(AskRow.sweep == sweep)
        with self.reading() as connection:
            found = [Asked(*line) for line in connection.execute(query.order_by(AskRow.position))]
            now = set(connection.scalars(in_training(connection)))
        return [replace(a, status="running") if a.open and a.id in now else a for a in found]

    def assign_new(self, packs: Mapping[str, Sequence[TrialConfig]]) -> dict[str, str]:
        """Write which pack each trial belongs to, but of those that belong to one already; return what is so then."""
        of = {config.id: pack for pack, configs in packs.items() for config in configs}
        there: dict[str, str] = {}
        query = sa.select(TrialRow.id, TrialRow.pack).order_by(TrialRow.id).with_for_update()
        with self.transaction() as connection:
            # PostgreSQL: who divides them at the same moment is waited for, in an order that all keep
            for part in pieces(sorted(of)):
                there |= {line.id: line.pack for line in connection.execute(query.where(among(TrialRow.id, part)))}
            _assign(connection, {trial: pack for trial, pack in of.items() if there[trial] is None})
        return {trial: there[trial] or pack for trial, pack in of.items()}

    def assign(self, packs: Mapping[str, Sequence[TrialConfig]]) -> None:
        """Write which pack each trial belongs to."""
        with self.transaction() as connection:
            _assign(connection, {config.id: pack for pack, configs in packs.items() for config in configs})

    def packs(self, trials: Sequence[str]) -> dict[str, str]:
        """Return the pack of each of ``trials`` that belongs to one."""
        query = sa.select(TrialRow.id, TrialRow.pack).where(TrialRow.pack.is_not(None))
        with self.reading() as connection:
            parts = [connection.execute(query.where(among(TrialRow.id, part))) for part in pieces(sorted(trials))]
            return {trial: str(pack) for part in parts for trial, pack in part}

    def shared(self, sweep: str) -> set[str]:
        """Return the trials of a sweep that another one asked for, too."""
        other = aliased(AskRow)
        query = sa.select(AskRow.trial).join(other, sa.and_(other.trial == AskRow.trial, other.sweep != AskRow.sweep))
        with self.reading() as connection:
            return set(connection.scalars(query.where(AskRow.sweep == sweep)))

    def packed(self, packs: Iterable[str]) -> dict[str, int]:
        """Return how many trials of each pack have not ended. No index helps here: all trials are read for it."""
        query = sa.select(TrialRow.pack, sa.func.count()).where(TrialRow.status.not_in(ENDED)).group_by(TrialRow.pack)
        found = dict.fromkeys(packs, 0)
        if not found:
            return {}
        with self.reading() as connection:
            for part in pieces(list(found)):
                found |= {str(pack): n for pack, n in connection.execute(query.where(among(TrialRow.pack, part)))}
        return found

    def cohorts(self, trials: Sequence[str]) -> dict[str, str]:
        """Return the cohort of each of ``trials`` that competes in one."""
        query = sa.select(CohortRow.trial, CohortRow.cohort).where(CohortRow.epoch == 0)
        with self.reading() as connection:
            parts = [connection.execute(query.where(among(CohortRow.trial, part))) for part in pieces(sorted(trials))]
            return {trial: cohort for part in parts for trial, cohort in part}

    def write(self, points: Sequence[Point], runs: Sequence[Run], rerun: str = "") -> None:
        """Write epochs and ends of trials that no driver trains, in one transaction; what has ended stays as it is.

        Args:
            points: Epochs.
            runs: Ends.
            rerun: Of a re-run that is kept, how it stood to its row.
        """
        with self.transaction() as connection:
            still = entries.open_of(connection, {p.trial for p in points})
            entries.note(connection, [p for p in points if p.trial in still], ())
            entries.end(connection, runs, rerun)

    def company(self, cohort: str) -> Company:
        """Return what is known of the trials that compete in a cohort."""
        query = sa.select(CohortRow.__table__).where(CohortRow.cohort == cohort).order_by(CohortRow.epoch)
        with self.reading() as connection:
            found = connection.execute(query.order_by(CohortRow.trial)).all()
            members = tuple(row.trial for row in found if row.epoch == 0)
            ends = sa.select(TrialRow.id, TrialRow.epochs).where(TrialRow.status.in_(ENDED))
            parts = [connection.execute(ends.where(TrialRow.id.in_(part))) for part in pieces(members)]
            gone = {line.id: line.epochs for part in parts for line in part}
        rungs = tuple(Rung(cohort, r.epoch, r.trial, r.valid, r.stays) for r in found if r.epoch)
        return Company(cohort, members, gone, rungs)

    def take(
        self,
        bundles: Sequence[str],
        trials: Sequence[Trial],
        points: Sequence[Point],
        sweeps: Sequence[tuple[StoredSweep, Sequence[str], Sequence[int | None]]],
        known: Sequence[Known] = (),
    ) -> None:
        """Take up trials that ended elsewhere, all of it or nothing; what is there already stays as it is.

        Args:
            bundles: Names of what they came in.
            trials: With their ends, patches and flags.
            points: Their epochs.
            sweeps: What asked for them, each with its trials in order and their cells.
            known: What pages need of their models and tasks; what is known of any stays as it is.
        """
        with self.transaction() as connection:
            insert_new(connection, ImportRow, [{"name": bundle, "at": utc_now()} for bundle in bundles])
            for table, values in rows.beside(t.run for t in trials if t.run)[:2]:
                insert_new(connection, table, values)
            connection.execute(sa.insert(TrialRow), [rows.whole(t) for t in trials])
            for table, values in rows.beside(t.run for t in trials if t.run)[2:]:
                insert_new(connection, table, values)
            insert_new(connection, FlagRow, rows.flags(trials))
            insert_new(connection, CurveRow, [vars(point) for point in points])
            fill(connection, [t.config.id for t in trials])
            for sweep, asked, cells in sweeps:
                insert_new(connection, SweepRow, [{**asdict(sweep), "created": utc_now()}])
                insert_new(connection, AskRow, rows.asks(sweep.name, asked, cells))
            insert_new(connection, KnownRow, [{**asdict(entry), "written": utc_now()} for entry in known])

    def learn(self, known: Sequence[Known]) -> None:
        """Write what pages need of models and tasks, in place of what was known of them."""
        with self.transaction() as connection:
            put(connection, KnownRow, [{**asdict(entry), "written": utc_now()} for entry in known])

    def catalogue(self) -> list[Known]:
        """Return what is known of models and tasks."""
        with self.errors(), Session(self.engine) as session:
            query = sa.select(KnownRow).order_by(KnownRow.kind, KnownRow.name, KnownRow.variant)
            return [rows.known(row) for row in session.scalars(query)]

    def analyse(self) -> None:
        """Let the database count what its planner goes by; worth it after a large import."""
        with self.transaction() as connection:
            connection.execute(sa.text("ANALYZE"))


def _assign(connection: sa.Connection, packs: Mapping[str, str]) -> None:
    """Write the pack of each trial: both as one parameter, which a hundred thousand are read from at once."""
    told: sa.ColumnElement[Any] = sa.literal(json.dumps(packs))
    each = sa.func.json_each
    if connection.dialect.name == "postgresql":
        told, each = sa.cast(told, sa.JSON), sa.func.json_each_text
    of = each(told).table_valued("key", "value")
    connection.execute(sa.update(TrialRow).where(TrialRow.id == of.c.key).values(pack=of.c.value))
