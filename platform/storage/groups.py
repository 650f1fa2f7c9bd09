"""What a board is made of: each configuration's retrainings and the tally of its search, read in five queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import sqlalchemy as sa

from longwave.platform.records.run import Run
from longwave.platform.storage.schema import AskRow, EnvironmentRow, TrialRow
from longwave.platform.storage.verification import HERE, OWN, verification


@dataclass(frozen=True)
class RunSummary:
    """A trial as far as a board needs it, ended or not; metrics in the task's unit, the others as recorded."""

    id: str
    status: str
    test: float | None = None
    valid: float | None = None
    seconds: float = 0.0
    parameters: int | None = None
    joules: float | None = None


@dataclass(frozen=True)
class Tally:
    """Search trials behind a choice: how many there are, how many of them diverged, seconds in all."""

    trials: int = 0
    diverged: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Group:
    """All retrainings of one configuration.

    Attributes:
        row: Identity of the configuration.
        settings: Content of its trials without phase, seed and halving.
        about: What explains it to a reader.
        runs: Its retrainings, ended or not, by id.
        search: Search trials of its model and task in the sweeps that asked for a retraining.
        sweeps: Names of those sweeps, sorted.
        environments: Distinct facts on where it ran.
        verification: How far its numbers are verified here; see ``verification``.
    """

    row: str
    settings: Mapping[str, Any]
    about: Mapping[str, Any]
    runs: Sequence[RunSummary]
    search: Tally = field(default_factory=Tally)
    sweeps: Sequence[str] = ()
    environments: Sequence[Mapping[str, str]] = ()
    verification: str = HERE

    @property
    def joules(self) -> float | None:
        """Energy of a retraining; see ``mean_joules``."""
        return mean_joules(self.runs)


@dataclass(frozen=True)
class Pool:
    """Which rows a board ranks against each other.

    Attributes:
        models: Registry keys; none means all.
        min_seeds: Retrainings that ended ok below which a row is left out.
    """

    models: Sequence[str] = ()
    min_seeds: int = 0

    def __str__(self) -> str:
        """Return what was left out, as a caption says it; empty where nothing was."""
        named = [f"models {', '.join(self.models)}"] if self.models else []
        counted = [f"rows with at least {self.min_seeds} retrainings"] if self.min_seeds else []
        return f"Ranked among {' and '.join(named + counted)} alone." if named or counted else ""

    def holds(self, model: str) -> bool:
        """Return whether a model belongs to it."""
        return not self.models or model in self.models


EVERYBODY = Pool()
"""The pool that leaves nobody out."""


OF_ONE_TRIAL = ("phase", "seed", "halving")
"""Keys of a trial's content that are no part of its configuration."""


def mean_joules(runs: Iterable[RunSummary | Run]) -> float | None:
    """Return the mean energy of those runs of which it is known; None where of none."""
    known = [run.joules for run in runs if run.joules is not None]
    return sum(known) / len(known) if known else None


def read_groups(connection: sa.Connection, task: str | None = None) -> list[Group]:
    """Return the groups of ``task``, or of all tasks, by task and configuration."""
    where = TrialRow.phase == "retrain"
    where = where if task is None else sa.and_(where, TrialRow.task == task)
    sweeps = _sweeps(connection, where)
    tallies = _tallies(connection, task, {names for names in sweeps.values() if len(names) > 1})
    ran, came = _environments(connection, where)
    groups = []
    for (row, model, runs, places), content in zip(_runs(connection, where), _contents(connection, where), strict=True):
        settings, asked = content.config, sweeps.get(row, ())
        groups.append(
            Group(
                row=row,
                settings={k: v for k, v in settings.items() if k not in OF_ONE_TRIAL},
                about=content.about,
                runs=runs,
                search=tallies.get((asked, settings["task"], model), Tally()),
                sweeps=asked,
                environments=list({id(facts): facts for facts in map(ran.__getitem__, places)}.values()),
                verification=verification(came[place] for place in places if place in came),
            )
        )
    return groups


def read_search(connection: sa.Connection, sweeps: Sequence[str], task: str, model: str) -> list[RunSummary]:
    """Return the search trials of a model on a task that any of ``sweeps`` asked for, by id."""
    t = TrialRow
    asked = sa.select(AskRow.trial).where(AskRow.sweep.in_(sweeps))
    query = sa.select(t.id, t.status, t.test, t.valid, t.seconds, t.parameters).where(
        t.phase == "search", t.task == task, t.model == model, t.id.in_(asked)
    )
    return [RunSummary(*line) for line in connection.execute(query.order_by(t.id))]


def _runs(
    connection: sa.Connection, where: sa.ColumnElement[bool]
) -> Iterator[tuple[str, str, list[RunSummary], list[str]]]:
    """Yield identity and model of each group, its retrainings, and the places of those, by task and identity."""
    t = TrialRow
    of_run: tuple[Any, ...] = (t.id, t.status, t.test, t.valid, t.seconds, t.parameters, t.joules)
    found = connection.execute(
        sa.select(t.row, t.model, t.environment, *of_run).where(where).order_by(t.task, t.row, t.id)
    ).all()
    for (row, model), lines in groupby(found, key=lambda line: (line[0], line[1])):
        kept = list(lines)
        places = [line[2] for line in kept if line[2] is not None]
        yield row, model, [RunSummary(*line[3:]) for line in kept], places


def _environments(
    connection: sa.Connection, where: sa.ColumnElement[bool]
) -> tuple[dict[str, Mapping[str, str]], dict[str, Mapping[str, str]]]:
    """Return what each environment says of where runs were, equal facts as one object, and of how they came here."""
    known = EnvironmentRow.id.in_(sa.select(TrialRow.environment).where(where))
    ran: dict[str, Mapping[str, str]] = {}
    came: dict[str, Mapping[str, str]] = {}
    distinct: dict[frozenset[tuple[str, str]], Mapping[str, str]] = {}
    for place, facts in connection.execute(sa.select(EnvironmentRow.id, EnvironmentRow.facts).where(known)):
        if own := {name: facts.pop(name) for name in OWN if name in facts}:
            came[place] = own
        ran[place] = distinct.setdefault(frozenset(facts.items()), facts)
    return ran, came


def _contents(connection: sa.Connection, where: sa.ColumnElement[bool]) -> Sequence[sa.Row[Any]]:
    """Return content and explanation of the first trial of each group, by task and identity."""
    t = TrialRow
    first = sa.select(sa.func.min(t.id)).where(where).group_by(t.task, t.row)
    return connection.execute(sa.select(t.config, t.about).where(t.id.in_(first)).order_by(t.task, t.row)).all()


def _sweeps(connection: sa.Connection, where: sa.ColumnElement[bool]) -> dict[str, tuple[str, ...]]:
    """Return the sweeps that asked for a retraining of each group, by its identity."""
    query = sa.select(TrialRow.row, AskRow.sweep).join(AskRow, AskRow.trial == TrialRow.id).where(where)
    found: dict[str, set[str]] = {}
    for row, sweep in connection.execute(query).all():  # DISTINCT would tempt SQLite to walk all trials by row
        found.setdefault(row, set()).add(sweep)
    return {row: tuple(sorted(names)) for row, names in found.items()}


def _tallies(
    connection: sa.Connection, task: str | None, several: set[tuple[str, ...]]
) -> dict[tuple[tuple[str, ...], str, str], Tally]:
    """Return the search trials of each task and model in one sweep, and those in any of ``several``, each once."""
    t = TrialRow
    sums = (t.task, t.model, sa.func.count(), sa.func.sum(sa.case((t.status == "diverged", 1), else_=0)))
    where = t.phase == "search" if task is None else sa.and_(t.phase == "search", t.task == task)
    seconds = sa.func.sum(t.seconds)
    one = sa.select(AskRow.sweep, *sums, seconds).join(AskRow, AskRow.trial == t.id).where(where)
    found: dict[tuple[tuple[str, ...], str, str], Tally] = {}
    for sweep, name, model, *tally in connection.execute(one.group_by(AskRow.sweep, t.task, t.model)).all():
        found[(sweep,), name, model] = Tally(*tally)
    for names in several:
        asked = sa.select(AskRow.trial).where(AskRow.sweep.in_(names))
        for name, model, *tally in connection.execute(
            sa.select(*sums, seconds).where(where, t.id.in_(asked)).group_by(t.task, t.model)
        ):
            found[names, name, model] = Tally(*tally)
    return found
