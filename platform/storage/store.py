"""The results store: the truth. Read and written here; boards are read by ``groups``, ``exchange`` writes imports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from longwave.platform.errors import ConfigError, did_you_mean
from longwave.platform.records.identity import digest
from longwave.platform.records.run import ENDED, Point, Run
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage.database import Database, insert_new
from longwave.platform.storage.groups import Group, RunSummary, read_groups, read_search
from longwave.platform.storage.schema import (
    AskRow,
    CurveRow,
    EnvironmentRow,
    MirroredRow,
    PublishedRow,
    SweepRow,
    TrialRow,
    utc_now,
)


@dataclass(frozen=True)
class Trial:
    """A row of the plan.

    Attributes:
        config: What was asked.
        about: What explains the row to a reader: metric, unit, goal, titles, departures from the published recipe.
        status: ``planned``, ``running``, or how it ended.
        pack: Key of the pack it belongs to.
        run: How it ended; None before that.
        ended: When.
    """

    config: TrialConfig
    about: dict[str, Any]
    status: str
    pack: str | None
    run: Run | None
    ended: datetime | None


class Store(Database):
    """Rows of sweeps, trials, curves, environments and published numbers. See ``Database`` for how it is opened."""

    def add_sweep(self, name: str, content: dict[str, Any]) -> None:
        """Write a sweep's settings. The same sweep again changes nothing.

        Raises:
            ConfigError: A sweep of this name has other settings.
        """
        with self.transaction() as connection:
            insert_new(connection, SweepRow, [{"name": name, "content": content, "created": utc_now()}])
        stored = self.sweep(name)
        if stored != content:
            changed = ", ".join(sorted(k for k in {*stored, *content} if stored.get(k) != content.get(k)))
            raise ConfigError(
                f"A sweep named {name!r} with another {changed} is in the store. Give the new one another name."
            )

    def sweep(self, name: str) -> dict[str, Any]:
        """Return the settings of the sweep ``name``.

        Raises:
            ConfigError: There is no such sweep; the message names the nearest ones.
        """
        with self.transaction() as connection:
            found = connection.execute(sa.select(SweepRow.name, SweepRow.content))
            stored: dict[str, dict[str, Any]] = {key: content for key, content in found}  # noqa: C416
        if name not in stored:
            raise ConfigError(did_you_mean("sweep", name, stored, "Start one with: longwave sweep run FILE"))
        return stored[name]

    def ask(self, sweep: str | None, trials: Sequence[TrialConfig], about: Sequence[dict[str, Any]]) -> None:
        """Write trials, in order, as asked for by a sweep. Known ones keep their records.

        Args:
            sweep: Its name; None for trials that no sweep asks for.
            trials: What to train.
            about: What explains each of them to a reader.
        """
        columns = ("task", "model", "phase", "row", "id")
        defaults = {"status": "planned", "reason": "", "epochs": 0, "seconds": 0.0, "members": 1}
        rows = [
            {**{name: getattr(c, name) for name in columns}, "config": c.to_dict(), "about": a, **defaults}
            for c, a in zip(trials, about, strict=True)
        ]
        with self.transaction() as connection:
            insert_new(connection, TrialRow, rows)
            asks = [{"sweep": sweep, "trial": c.id, "position": k} for k, c in enumerate(trials)]
            insert_new(connection, AskRow, asks if sweep else [])

    def trials(self, sweep: str) -> list[Trial]:
        """Return the trials a sweep asked for, in order."""
        return self.select(TrialRow.id.in_(sa.select(AskRow.trial).where(AskRow.sweep == sweep)), sweep)

    def retrainings(self, task: str | None = None) -> list[Trial]:
        """Return all retrainings of ``task``, or of all tasks, ended or not."""
        where = TrialRow.phase == "retrain"
        return self.select(where if task is None else sa.and_(where, TrialRow.task == task))

    def select(self, where: sa.ColumnElement[bool], sweep: str | None = None) -> list[Trial]:
        """Return trials by a condition on their columns; by position in ``sweep``, else by id."""
        query = sa.select(TrialRow, EnvironmentRow.facts).outerjoin(EnvironmentRow).where(where)
        if sweep is None:
            query = query.order_by(TrialRow.id)
        else:
            on = sa.and_(AskRow.trial == TrialRow.id, AskRow.sweep == sweep)
            query = query.join(AskRow, on).order_by(AskRow.position)
        with self.errors(), Session(self.engine) as session:
            return [_trial(row, facts) for row, facts in session.execute(query)]

    def assign(self, packs: Mapping[str, Sequence[TrialConfig]]) -> None:
        """Write which pack each trial belongs to."""
        with self.transaction() as connection:
            for pack, configs in packs.items():
                ids = [c.id for c in configs]
                connection.execute(sa.update(TrialRow).where(TrialRow.id.in_(ids)).values(pack=pack))

    def mark(self, trials: Iterable[str], status: str) -> None:
        """Set trials that have not ended to ``planned`` or ``running``."""
        with self.transaction() as connection:
            open_rows = sa.and_(TrialRow.id.in_(list(trials)), TrialRow.status.not_in(ENDED))
            connection.execute(sa.update(TrialRow).where(open_rows).values(status=status))

    def write(self, points: Sequence[Point], runs: Sequence[Run]) -> None:
        """Write epochs and ends in one transaction. What is there already stays as it is."""
        now = utc_now()
        with self.transaction() as connection:
            insert_new(connection, CurveRow, [asdict(p) for p in points])
            places = {digest(facts): facts for run in runs for facts in _facts_and_patch(run) if facts}
            insert_new(connection, EnvironmentRow, [{"id": k, "facts": v} for k, v in places.items()])
            for run in runs:
                values = {k: v for k, v in asdict(run).items() if k not in ("trial", "environment")}
                facts, _ = _facts_and_patch(run)
                place = digest(facts) if facts else None
                open_row = sa.and_(TrialRow.id == run.trial, TrialRow.status.not_in(ENDED))
                connection.execute(sa.update(TrialRow).where(open_row).values(**values, environment=place, ended=now))

    def curves(self, trials: Sequence[str]) -> list[Point]:
        """Return all epochs of ``trials``, by trial and epoch."""
        query = sa.select(CurveRow.__table__).where(CurveRow.trial.in_(list(trials)))
        with self.transaction() as connection:
            return [
                Point(**row) for row in connection.execute(query.order_by(CurveRow.trial, CurveRow.epoch)).mappings()
            ]

    def groups(self, task: str | None = None) -> list[Group]:
        """Return what the board of ``task`` is made of, or the boards of all tasks."""
        with self.transaction() as connection:
            return read_groups(connection, task)

    def published(self, task: str | None = None) -> list[dict[str, Any]]:
        """Return the published numbers of ``task``, or all."""
        query = sa.select(PublishedRow.__table__).order_by(PublishedRow.id)
        query = query if task is None else query.where(PublishedRow.task == task)
        with self.transaction() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    def searched(self, sweeps: Sequence[str], task: str, model: str) -> list[RunSummary]:
        """Return the search trials of a model on a task that any of ``sweeps`` asked for, by id."""
        with self.transaction() as connection:
            return read_search(connection, sweeps, task, model)

    def tasks(self) -> list[str]:
        """Return the tasks that have retrainings, sorted."""
        query = sa.select(TrialRow.task).where(TrialRow.phase == "retrain").distinct().order_by(TrialRow.task)
        with self.transaction() as connection:
            return list(connection.scalars(query))

    def asking(self, rows: Iterable[str]) -> list[str]:
        """Return the sweeps that asked for retrainings of any of ``rows``, sorted."""
        query = sa.select(AskRow.sweep).join(TrialRow, TrialRow.id == AskRow.trial).distinct().order_by(AskRow.sweep)
        with self.transaction() as connection:
            return list(connection.scalars(query.where(TrialRow.phase == "retrain", TrialRow.row.in_(list(rows)))))

    def facts(self, environments: Iterable[str]) -> dict[str, dict[str, str]]:
        """Return what environments and patches say, by their digests, in the order of these."""
        query = sa.select(EnvironmentRow.id, EnvironmentRow.facts).where(EnvironmentRow.id.in_(list(environments)))
        with self.transaction() as connection:
            return {line.id: line.facts for line in connection.execute(query.order_by(EnvironmentRow.id))}

    def unmirrored(self, server: str, most: int = 200) -> list[tuple[Trial, list[Point], str | None]]:
        """Return trials with news that ``server`` was not sent: each with its new epochs and its run there."""
        newer = sa.and_(CurveRow.trial == TrialRow.id, CurveRow.epoch > sa.func.coalesce(MirroredRow.epoch, 0))
        query = (
            sa.select(TrialRow, MirroredRow.run, MirroredRow.epoch)
            .outerjoin(MirroredRow, sa.and_(MirroredRow.trial == TrialRow.id, MirroredRow.server == server))
            .where(sa.func.coalesce(MirroredRow.closed, sa.false()).is_(False))
            .where(sa.or_(TrialRow.status.in_(ENDED), sa.exists().where(newer)))
            .order_by(TrialRow.id)
            .limit(most)
        )
        with self.errors(), Session(self.engine) as session:
            found = [(_trial(row, None), run, epoch or 0) for row, run, epoch in session.execute(query)]
        curves: dict[str, list[Point]] = {}
        for point in self.curves([trial.config.id for trial, _, _ in found]):
            curves.setdefault(point.trial, []).append(point)
        return [(t, [p for p in curves.get(t.config.id, []) if p.epoch > epoch], run) for t, run, epoch in found]

    def note_mirrored(self, trial: str, server: str, run: str, epoch: int, closed: bool) -> None:
        """Write that ``server`` has a trial's epochs up to ``epoch``, and its end if ``closed``."""
        values = {"run": run, "epoch": epoch, "closed": closed}
        key = sa.and_(MirroredRow.trial == trial, MirroredRow.server == server)
        with self.transaction() as connection:
            insert_new(connection, MirroredRow, [{"trial": trial, "server": server, **values}])
            connection.execute(sa.update(MirroredRow).where(key).values(**values))


def _facts_and_patch(run: Run) -> tuple[dict[str, str], dict[str, str]]:
    """Return the facts about where a run was, and the patch it reports, kept apart under the digest in ``diff``."""
    facts = dict(run.environment)
    return facts, {"patch": facts.pop("patch")} if "patch" in facts else {}


def _trial(row: TrialRow, facts: dict[str, str] | None) -> Trial:
    run = None
    if row.status in ENDED:
        run = Run(
            trial=row.id,
            status=row.status,
            reason=row.reason,
            epochs=row.epochs,
            best_epoch=row.best_epoch,
            valid=row.valid,
            test=row.test,
            seconds=row.seconds,
            members=row.members,
            parameters=row.parameters,
            environment=facts or {},
            joules=row.joules,
        )
    return Trial(TrialConfig.from_dict(row.config), row.about, row.status, row.pack, run, row.ended)
