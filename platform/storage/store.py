"""The results store: the truth. Sweeps and trials are written and read here, further questions are in ``queries``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from longwave.platform.errors import ConfigError, did_you_mean
from longwave.platform.records.about import About
from longwave.platform.records.run import ENDED, Point, Run
from longwave.platform.records.stored import Asked, Known, StoredSweep, Trial
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage import rows
from longwave.platform.storage.database import insert_new
from longwave.platform.storage.queries import Queries, pieces
from longwave.platform.storage.schema import AskRow, CurveRow, ImportRow, KnownRow, SweepRow, TrialRow, utc_now


class Store(Queries):
    """Rows of sweeps, trials, curves, environments and published numbers. See ``Database`` for how it is opened."""

    def add_sweep(self, name: str, content: Mapping[str, Any], plan: Mapping[str, Any] | None = None) -> None:
        """Write a sweep's settings and plan. The same sweep again changes nothing.

        Raises:
            ConfigError: A sweep of this name has other settings.
        """
        with self.transaction() as connection:
            row = {"name": name, "content": content, "plan": plan, "created": utc_now()}
            insert_new(connection, SweepRow, [row])
        stored = self.sweep(name).content
        if stored != content:
            changed = ", ".join(sorted(k for k in {*stored, *content} if stored.get(k) != content.get(k)))
            raise ConfigError(
                f"A sweep named {name!r} with another {changed} is in the store. Give the new one another name."
            )

    def sweep(self, name: str) -> StoredSweep:
        """Return the sweep ``name``.

        Raises:
            ConfigError: There is no such sweep; the message names the nearest ones.
        """
        query = sa.select(SweepRow.name, SweepRow.content, SweepRow.plan)
        with self.reading() as connection:
            found = connection.execute(query.where(SweepRow.name == name)).one_or_none()
        if found is None:
            raise ConfigError(did_you_mean("sweep", name, self.sweeps(), "Start one with: longwave sweep run FILE"))
        return StoredSweep(*found)

    def sweeps(self) -> list[str]:
        """Return the names of all sweeps, sorted."""
        with self.reading() as connection:
            return list(connection.scalars(sa.select(SweepRow.name).order_by(SweepRow.name)))

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
            insert_new(connection, TrialRow, [rows.planned(c, a) for c, a in zip(trials, about, strict=True)])
            if sweep:
                last = sa.select(sa.func.coalesce(sa.func.max(AskRow.position) + 1, 0)).where(AskRow.sweep == sweep)
                start = connection.scalar(last) or 0
                asks = rows.asks(sweep, [c.id for c in trials], cells, start)
                insert_new(connection, AskRow, asks)

    def asked(self, sweep: str) -> list[Asked]:
        """Return the trials a sweep asked for in short, in order: without their configurations."""
        t = TrialRow
        columns: tuple[Any, ...] = (t.id, t.model, t.phase, t.status, t.pack, t.valid, AskRow.cell)
        query = (
            sa.select(*columns)
            .join(AskRow, AskRow.trial == t.id)
            .where(AskRow.sweep == sweep)
            .order_by(AskRow.position)
        )
        with self.reading() as connection:
            return [Asked(*line) for line in connection.execute(query.order_by(AskRow.position))]

    def assign(self, packs: Mapping[str, Sequence[TrialConfig]]) -> None:
        """Write which pack each trial belongs to."""
        with self.transaction() as connection:
            for pack, configs in packs.items():
                for part in pieces([c.id for c in configs]):
                    connection.execute(sa.update(TrialRow).where(TrialRow.id.in_(part)).values(pack=pack))

    def mark(self, trials: Iterable[str], status: str) -> None:
        """Set trials that have not ended to ``planned`` or ``running``."""
        with self.transaction() as connection:
            for part in pieces(list(trials)):
                open_rows = sa.and_(TrialRow.id.in_(part), TrialRow.status.not_in(ENDED))
                connection.execute(sa.update(TrialRow).where(open_rows).values(status=status))

    def write(self, points: Sequence[Point], runs: Sequence[Run], rerun: str = "") -> None:
        """Write epochs and ends in one transaction. What is there already stays as it is.

        Args:
            points: Epochs.
            runs: Ends.
            rerun: Of a re-run that is kept, how it stood to its row.
        """
        now = utc_now()
        with self.transaction() as connection:
            insert_new(connection, CurveRow, [asdict(p) for p in points])
            for table, values in rows.beside(runs):
                insert_new(connection, table, values)
            for run in runs:
                open_row = sa.and_(TrialRow.id == run.trial, TrialRow.status.not_in(ENDED))
                end = {**rows.ended(run), "rerun": rerun, "ended": now}
                connection.execute(sa.update(TrialRow).where(open_row).values(end))

    def take(
        self,
        bundle: str,
        checked: bool,
        trials: Sequence[Trial],
        points: Sequence[Point],
        sweeps: Sequence[tuple[StoredSweep, Sequence[str], Sequence[int | None]]],
        known: Sequence[Known] = (),
    ) -> None:
        """Take up trials that ended elsewhere, all of it or nothing; what is there already stays as it is.

        Args:
            bundle: Name of what they came in.
            checked: Whether every check of it passed.
            trials: With their ends and patches.
            points: Their epochs.
            sweeps: What asked for them, each with its trials in order and their cells.
            known: What pages need of their models and tasks; what is known of any stays as it is.
        """
        with self.transaction() as connection:
            insert_new(connection, ImportRow, [{"name": bundle, "checked": checked, "at": utc_now()}])
            for table, values in rows.beside(t.run for t in trials if t.run)[:2]:
                insert_new(connection, table, values)
            connection.execute(sa.insert(TrialRow), [rows.whole(t) for t in trials])
            for table, values in rows.beside(t.run for t in trials if t.run)[2:]:
                insert_new(connection, table, values)
            insert_new(connection, CurveRow, [asdict(point) for point in points])
            for sweep, asked, cells in sweeps:
                insert_new(connection, SweepRow, [{**asdict(sweep), "created": utc_now()}])
                insert_new(connection, AskRow, rows.asks(sweep.name, asked, cells))
            insert_new(connection, KnownRow, [{**asdict(entry), "written": utc_now()} for entry in known])

    def learn(self, known: Sequence[Known]) -> None:
        """Write what pages need of models and tasks, in place of what was known of them."""
        with self.transaction() as connection:
            for entry in known:
                key = (KnownRow.kind == entry.kind, KnownRow.name == entry.name, KnownRow.variant == entry.variant)
                connection.execute(sa.delete(KnownRow).where(*key))
                connection.execute(sa.insert(KnownRow), [{**asdict(entry), "written": utc_now()}])

    def catalogue(self) -> list[Known]:
        """Return what is known of models and tasks."""
        with self.errors(), Session(self.engine) as session:
            query = sa.select(KnownRow).order_by(KnownRow.kind, KnownRow.name, KnownRow.variant)
            return [rows.known(row) for row in session.scalars(query)]

    def analyse(self) -> None:
        """Let the database count what its planner goes by; worth it after a large import."""
        with self.transaction() as connection:
            connection.execute(sa.text("ANALYZE"))
