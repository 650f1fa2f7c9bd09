"""Sweeps in the store: their settings and plan, what they are told to do, what they have cost."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from longwave.platform.errors import ConfigError, did_you_mean
from longwave.platform.records.run import ENDED
from longwave.platform.records.stored import Done, Spent, StoredSweep, Trained
from longwave.platform.records.trial import Phase
from longwave.platform.storage import entries
from longwave.platform.storage.among import among
from longwave.platform.storage.base import utc_now
from longwave.platform.storage.database import insert_new
from longwave.platform.storage.driving import AttemptRow, DriverRow
from longwave.platform.storage.living import in_training
from longwave.platform.storage.queries import Queries, pieces
from longwave.platform.storage.schema import AskRow, CurveRow, SweepRow, TrialRow

MAY_CHANGE = {"budget", "priority", "plugins", "keep_weights"}
"""Settings of a sweep that decide no result."""


def _reached() -> sa.ColumnElement[int]:
    """Return the epochs that an open trial has, in a query of trials."""
    last = sa.select(sa.func.max(CurveRow.epoch)).where(CurveRow.trial == TrialRow.id)
    return sa.func.coalesce(last.correlate(TrialRow).scalar_subquery(), 0)


class Sweeps(Queries):
    """Rows of sweeps."""

    def add_sweep(self, name: str, content: Mapping[str, Any], plan: Mapping[str, Any] | None = None) -> None:
        """Write a sweep's settings and plan. The same sweep again changes nothing but what ``MAY_CHANGE``.

        Raises:
            ConfigError: A sweep of this name has other settings.
        """
        with self.transaction() as connection:
            row = {"name": name, "content": content, "plan": plan, "created": utc_now()}
            insert_new(connection, SweepRow, [row])
        stored = self.sweep(name).content
        if stored != content:
            differs = {k for k in {*stored, *content} if stored.get(k) != content.get(k)} - MAY_CHANGE
            if changed := ", ".join(sorted(differs)):
                raise ConfigError(
                    f"A sweep named {name!r} with another {changed} is in the store. Give the new one another name."
                )
            with self.transaction() as connection:
                connection.execute(sa.update(SweepRow).where(SweepRow.name == name).values(content=dict(content)))

    def sweep(self, name: str) -> StoredSweep:
        """Return the sweep ``name``.

        Raises:
            ConfigError: There is no such sweep; the message names the nearest ones.
        """
        query = sa.select(SweepRow.name, SweepRow.content, SweepRow.plan, SweepRow.state)
        with self.reading() as connection:
            found = connection.execute(query.where(SweepRow.name == name)).one_or_none()
        if found is None:
            raise ConfigError(did_you_mean("sweep", name, self.sweeps(), "Start one with: longwave sweep run FILE"))
        return StoredSweep(*found)

    def sweeps(self) -> list[str]:
        """Return the names of all sweeps, sorted."""
        with self.reading() as connection:
            return list(connection.scalars(sa.select(SweepRow.name).order_by(SweepRow.name)))

    def tell(self, sweep: str, state: str) -> None:
        """Write what the drivers of a sweep are to do: ``pause``, ``stop``, or go on where it is empty.

        Raises:
            ConfigError: There is no such sweep.
        """
        self.sweep(sweep)
        with self.transaction() as connection:
            connection.execute(sa.update(SweepRow).where(SweepRow.name == sweep).values(state=state))

    def retry(self, sweep: str) -> int:
        """Make the trials of a sweep that failed open again, and return how many they are.

        How they ended stays with their attempts. A trial that failed under a winner's row is asked for as before.
        """
        failed = sa.select(AskRow.trial).join(TrialRow, TrialRow.id == AskRow.trial)
        with self.transaction() as connection:
            trials = connection.scalars(failed.where(AskRow.sweep == sweep, TrialRow.status == "failed")).all()
            entries.reopen(connection, trials)
        return len(trials)

    def counts(self, sweep: str) -> dict[tuple[int | None, str], int]:
        """Return how many trials of a sweep there are in each cell and status, ``running`` among them."""
        is_open = TrialRow.status.not_in(ENDED)
        with self.reading() as connection:
            now = sa.and_(is_open, TrialRow.id.in_(in_training(connection)))
            status = sa.case((now, "running"), else_=TrialRow.status)
            query = sa.select(AskRow.cell, status, sa.func.count()).join(TrialRow, TrialRow.id == AskRow.trial)
            found = connection.execute(query.where(AskRow.sweep == sweep).group_by(AskRow.cell, status))
            return {(cell, how): trials for cell, how, trials in found}

    def done(self, sweep: str) -> dict[tuple[int, Phase], Done]:
        """Return what there is of the trials of a sweep in each cell and phase; without a number, a cell is the first.

        The last epoch of an open trial says how many there are.
        """
        has_ended, cell = TrialRow.status.in_(ENDED), sa.func.coalesce(AskRow.cell, 0)
        parts = [sa.case((has_ended, 1), else_=0), sa.case((has_ended, TrialRow.epochs), else_=0)]
        sums = [sa.func.sum(part) for part in (*parts, sa.case((has_ended, 0), else_=_reached()))]
        query = sa.select(cell, TrialRow.phase, *sums).join(TrialRow, TrialRow.id == AskRow.trial)
        with self.reading() as connection:
            found = connection.execute(query.where(AskRow.sweep == sweep).group_by(cell, TrialRow.phase))
            return {(number, phase): Done(*map(int, counts)) for number, phase, *counts in found}

    def trained_since(self, sweep: str, seconds: float) -> int:
        """Return how many epochs the trials of a sweep were trained in the last ``seconds``.

        The attempts of a trial say from which epoch on it was trained.
        """
        since = utc_now() - timedelta(seconds=seconds)
        begun = sa.select(AttemptRow.trial, sa.func.min(AttemptRow.epoch).label("epoch"))
        begun_then = begun.where(AttemptRow.started >= since).group_by(AttemptRow.trial).subquery()
        there = sa.case((TrialRow.status.in_(ENDED), TrialRow.epochs), else_=_reached())
        new = sa.func.sum(there - begun_then.c.epoch)
        query = sa.select(new).join(begun_then, begun_then.c.trial == TrialRow.id)
        of_sweep = TrialRow.id.in_(sa.select(AskRow.trial).where(AskRow.sweep == sweep))
        with self.reading() as connection:
            return int(connection.scalar(query.where(of_sweep)) or 0)

    def trained(self, trials: Collection[str]) -> list[Trained]:
        """Return how far those of ``trials`` are that somebody trains now."""
        a, c = AttemptRow, CurveRow
        last = sa.func.max(c.epoch).label("last")
        heard = sa.func.max(c.at).label("heard")
        query = (
            sa.select(a.trial, a.owner, a.started, a.epoch, last, heard)
            .join(c, c.trial == a.trial, isouter=True)
            .where(a.ended.is_(None))
            .group_by(a.trial, a.owner, a.started, a.epoch)
        )
        with self.reading() as connection:
            parts = [connection.execute(query.where(among(a.trial, p))).all() for p in pieces(sorted(trials))]
        return [
            Trained(trial, owner, since.timestamp(), first, last or first, heard)
            for part in parts
            for trial, owner, since, first, last, heard in part
        ]

    def spent(self, sweep: str) -> Spent:
        """Return what a sweep has taken so far, over all its drivers."""
        d = DriverRow
        query = sa.select(d.beat - d.started, d.used, d.expected).where(d.sweep == sweep)
        with self.reading() as connection:
            found = [Spent(ran, used or {}, expected or {}) for ran, used, expected in connection.execute(query)]
        return sum(found, Spent())
