"""What a board is made of: each configuration's retrainings and the tally of its search, read in a few queries."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import sqlalchemy as sa

from longwave.platform.records.about import About
from longwave.platform.records.group import Group, RunSummary, Tally
from longwave.platform.records.search import distinct, searched_by
from longwave.platform.records.stored import Known
from longwave.platform.records.trial import PROTOCOL, TrialConfig
from longwave.platform.storage.outsearched import Search, read_outsearched
from longwave.platform.storage.schema import AskRow, EnvironmentRow, FlagRow, KnownRow, SweepRow, TrialRow

CellNames = tuple[tuple[str, int | None], ...]
"""Cells of sweeps: names of the sweeps, each with the cell's number in its plan."""


def read_groups(connection: sa.Connection, task: str | None = None) -> list[Group]:
    """Return the groups of ``task``, or of all tasks, by task and configuration."""
    where = TrialRow.phase == "retrain"
    where = where if task is None else sa.and_(where, TrialRow.task == task)
    askers = _askers(connection, where)
    tallies = _tallies(connection, task, {cells for cells in askers.values() if len(cells) > 1})
    ways = _ways(connection, {sweep for cells in askers.values() for sweep, _ in cells})
    ran, flagged, known = _environments(connection, where), _flagged(connection, where), _catalogue(connection)
    groups: list[Group] = []
    abouts: dict[str, About] = {}
    for (row, model, runs, came), content in zip(_runs(connection, where), _contents(connection, where), strict=True):
        config, asked = TrialConfig.from_dict(content.config), askers.get(row, ())
        if (told := content.about) not in abouts:  # many groups say the same
            abouts[told] = About.from_dict(json.loads(told))
        vars(config)["row"] = row  # what it would be hashed to: a large board has thousands of rows
        search = tallies.get((asked, config.task, model), Tally())
        names = tuple(sorted({sweep for sweep, _ in asked}))
        places = [ran[place] for place, _, _ in came if place is not None]
        groups.append(
            Group(
                config=config,
                about=abouts[told],
                runs=runs,
                search=search,
                sweeps=names,
                ways=distinct([ways[name] for name in names]) if search.trials else (),
                environments=list({id(facts): facts for facts in places}.values()),
                came={run.id: origin for run, (_, origin, _) in zip(runs, came, strict=True) if origin is not None},
                checks=[
                    run.id not in flagged for run, (_, origin, _) in zip(runs, came, strict=True) if origin is not None
                ],
                reruns=[rerun for _, origin, rerun in came if rerun and origin is None],
                family=known[key].family if (key := ("model", model, "")) in known else "",
                superseded=superseded(config, known),
            )
        )
    return _with_outsearched(connection, groups, askers, tallies)


def superseded(config: TrialConfig, known: Mapping[tuple[str, str, str], Known]) -> str:
    """Return why a configuration is of another version than what is trained now; empty if it is not.

    Args:
        config: The configuration.
        known: The catalogue, by kind, name and variant.
    """
    rules = known.get(("rules", "training", ""))
    task = known.get(("task", config.task, config.variant))
    model = known.get(("model", config.model, ""))
    pairs = [
        ("training rules", config.protocol, rules.version if rules else PROTOCOL),
        (f"task {config.task}", config.task_version, task.version if task else config.task_version),
        (f"data of {config.task}", config.data, task.data if task else config.data),
        (f"model {config.model}", config.model_version, model.version if model else config.model_version),
    ]
    return "; ".join(f"{what}: version {then}, now {now}" for what, then, now in pairs if then != now)


def read_search(connection: sa.Connection, row: str) -> list[RunSummary]:
    """Return the search trials of the cells that asked for retrainings of a row, of its model and task, by id."""
    t = TrialRow
    again = sa.and_(t.phase == "retrain", t.row == row)
    of = connection.execute(sa.select(t.task, t.model).where(again).limit(1)).one_or_none()
    if of is None:
        return []
    asked = sa.select(AskRow.trial).where(_in_cells(_askers(connection, again).get(row, ())))
    query = sa.select(t.id, t.status, t.test, t.valid, t.seconds, t.parameters).where(
        t.phase == "search", t.task == of.task, t.model == of.model, t.id.in_(asked)
    )
    return [RunSummary(*line) for line in connection.execute(query.order_by(t.id))]


def _runs(
    connection: sa.Connection, where: sa.ColumnElement[bool]
) -> Iterator[tuple[str, str, list[RunSummary], list[tuple[str | None, str | None, str]]]]:
    """Yield each group, by task and identity: these, its retrainings, and where each was and how it came."""
    t = TrialRow
    of_run: tuple[Any, ...] = (t.id, t.status, t.test, t.valid, t.seconds, t.parameters, t.joules)
    found = connection.execute(
        sa.select(t.row, t.model, t.environment, t.origin, t.rerun, *of_run).where(where).order_by(t.task, t.row, t.id)
    ).all()
    for (row, model), lines in groupby(found, key=lambda line: (line[0], line[1])):
        kept = list(lines)
        yield row, model, [RunSummary(*line[5:]) for line in kept], [(line[2], line[3], line[4]) for line in kept]


def _environments(connection: sa.Connection, where: sa.ColumnElement[bool]) -> dict[str, Mapping[str, str]]:
    """Return what each environment says of where runs were."""
    known = EnvironmentRow.id.in_(sa.select(TrialRow.environment).where(where))
    found = connection.execute(sa.select(EnvironmentRow.id, EnvironmentRow.facts).where(known))
    return {line.id: line.facts for line in found}


def _ways(connection: sa.Connection, sweeps: set[str]) -> dict[str, str]:
    """Return how each of some sweeps searched."""
    found = connection.execute(sa.select(SweepRow.name, SweepRow.content))
    return {line.name: searched_by(line.content) for line in found if line.name in sweeps}


def _flagged(connection: sa.Connection, where: sa.ColumnElement[bool]) -> set[str]:
    """Return the trials that a check of their bundle spoke against."""
    return set(connection.scalars(sa.select(FlagRow.trial).join(TrialRow).where(where)))


def _catalogue(connection: sa.Connection) -> dict[tuple[str, str, str], Known]:
    """Return the versions and families of what is known of models and tasks, by kind, name and variant."""
    k = KnownRow
    columns: tuple[Any, ...] = (k.kind, k.name, k.version, k.family, k.variant, k.data)
    return {(line.kind, line.name, line.variant): Known(*line) for line in connection.execute(sa.select(*columns))}


def _contents(connection: sa.Connection, where: sa.ColumnElement[bool]) -> Sequence[sa.Row[Any]]:
    """Return content and explanation, as text, of the first trial of each group, by task and identity."""
    t = TrialRow
    first = sa.select(sa.func.min(t.id)).where(where).group_by(t.task, t.row)
    found = sa.select(t.config, sa.cast(t.about, sa.Text).label("about")).where(t.id.in_(first))
    return connection.execute(found.order_by(t.task, t.row)).all()


def _askers(connection: sa.Connection, where: sa.ColumnElement[bool]) -> dict[str, CellNames]:
    """Return the cells that asked for a retraining of each group, by its identity."""
    query = sa.select(TrialRow.row, AskRow.sweep, AskRow.cell).join(AskRow, AskRow.trial == TrialRow.id).where(where)
    found: dict[str, set[tuple[str, int | None]]] = {}
    for row, sweep, cell in connection.execute(query).all():  # DISTINCT would tempt SQLite to walk all trials by row
        found.setdefault(row, set()).add((sweep, cell))
    return {row: tuple(sorted(cells, key=str)) for row, cells in found.items()}


def _with_outsearched(
    connection: sa.Connection,
    groups: Sequence[Group],
    askers: Mapping[str, CellNames],
    tallies: Mapping[tuple[CellNames, str, str], Tally],
) -> list[Group]:
    """Return the groups, those whose search went on and chose another with the rows that it chose."""
    chosen = {
        group.row: [Search(*cell, group.config.task, group.config.model) for cell in askers.get(group.row, ())]
        for group in groups
    }
    sizes = {
        Search(*cells[0], task, model): tally.trials
        for (cells, task, model), tally in tallies.items()
        if len(cells) == 1
    }
    found = read_outsearched(connection, chosen, sizes)
    return [replace(group, outsearched=rows) if (rows := found.get(group.row)) else group for group in groups]


def _in_cells(cells: CellNames) -> sa.ColumnElement[bool]:
    """Return the condition that one of ``cells`` asked."""
    return sa.or_(
        sa.false(),
        *(sa.and_(AskRow.sweep == s, AskRow.cell.is_(None) if c is None else AskRow.cell == c) for s, c in cells),
    )


def _tallies(
    connection: sa.Connection, task: str | None, several: set[CellNames]
) -> dict[tuple[CellNames, str, str], Tally]:
    """Return the search trials of each task and model in one cell, and those in any of ``several``, each once."""
    t = TrialRow
    sums = (t.task, t.model, sa.func.count(), sa.func.sum(sa.case((t.status == "diverged", 1), else_=0)))
    where = t.phase == "search" if task is None else sa.and_(t.phase == "search", t.task == task)
    seconds, cell = sa.func.sum(t.seconds), (AskRow.sweep, AskRow.cell)
    one = sa.select(*cell, *sums, seconds).join(AskRow, AskRow.trial == t.id).where(where)
    found: dict[tuple[CellNames, str, str], Tally] = {}
    for sweep, number, name, model, *tally in connection.execute(one.group_by(*cell, t.task, t.model)).all():
        found[((sweep, number),), name, model] = Tally(*tally)
    for cells in several:
        asked = sa.select(AskRow.trial).where(_in_cells(cells))
        for name, model, *tally in connection.execute(
            sa.select(*sums, seconds).where(where, t.id.in_(asked)).group_by(t.task, t.model)
        ):
            found[cells, name, model] = Tally(*tally)
    return found
