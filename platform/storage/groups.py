"""The groups of a board: each configuration's retrainings and the tally of its search, read in a few queries."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import chain, groupby
from typing import Any

import sqlalchemy as sa

from longwave.platform.boards.trust import left_out
from longwave.platform.records.about import About
from longwave.platform.records.group import Group, RunSummary, SearchedRange, SearchedTrial, Tally
from longwave.platform.records.search import distinct_ways, searched_by
from longwave.platform.records.stored import CatalogueEntry
from longwave.platform.records.trial import FIELDS, PROTOCOL, TrialConfig
from longwave.platform.storage.cells import CellNames, in_cells, read_cells, read_tallies, read_untrusted_cells
from longwave.platform.storage.choices import (
    is_trusted,
    list_instead_of,
    list_rejected,
    read_sweep_contents,
    read_uncounted,
)
from longwave.platform.storage.extended_searches import Search, read_successors
from longwave.platform.storage.integrity import check_board
from longwave.platform.storage.schema import (
    CatalogueRow,
    EnvironmentRow,
    FlagRow,
    PublishedRow,
    SweepTrialRow,
    TrialRow,
)
from longwave.platform.storage.search_ranges import describe_time_scales, list_ranges

OF_RUN = tuple(f.name for f in fields(RunSummary))


def read_groups(connection: sa.Connection, task: str | None = None, trust: Collection[str] = ()) -> list[Group]:
    """Return the groups of ``task``, or of all tasks, by task and configuration; ``trust`` as for ``is_trusted``.

    Raises:
        StoreError: A record is damaged.
    """
    where = TrialRow.phase == "retrain"
    where = where if task is None else sa.and_(where, TrialRow.task == task)
    describing = _select_describing(where, trust)
    check_board(connection, where, describing)
    untrusted_cells = read_untrusted_cells(connection, trust)
    cells_of = read_cells(connection, where, trust, untrusted_cells)
    tallies = read_tallies(connection, task, {cells for cells in cells_of.values() if len(cells) > 1})
    contents = read_sweep_contents(connection)
    instead_of = list_instead_of(contents)
    search_of_sweep = {name: searched_by(content) for name, content in contents.items()}
    facts, flagged, catalogue = (
        _read_environments(connection, where),
        _read_flagged(connection, where),
        _read_catalogue(connection),
    )
    drawn_scores, candidates = _read_drawn(connection, task), _read_candidates(connection, task)
    uncounted = read_uncounted(connection, [*instead_of], trust)
    groups: list[Group] = []
    abouts: dict[str, About] = {}
    ranges_of: dict[tuple[tuple[str, ...], str, str, str], list[SearchedRange]] = {}
    for (row, model, all_trials), content in zip(
        _read_trials(connection, where), _read_contents(connection, describing), strict=True
    ):
        config, cells = TrialConfig.from_dict(content.config), cells_of.get(row, ())
        trials = [trial for trial in all_trials if trial.id not in uncounted]
        if content.about not in abouts:  # many groups share one description
            abouts[content.about] = About.from_dict(json.loads(content.about))
        vars(config)["row"] = row  # cached: hashing the thousands of rows of a large board takes long
        search = tallies.get((cells, config.task, model), Tally())
        sweeps = tuple(sorted({sweep for sweep, _ in cells}))
        imported = [t for t in trials if t.origin is not None]
        entries = [catalogue.get(key) for key in (("model", model, ""), ("task", config.task, config.variant))]
        if (key := (sweeps, config.task, config.variant, model)) not in ranges_of:
            catalogue_facts = [entry.facts if entry else {} for entry in entries]
            ranges_of[key] = list_ranges(model, config.task, [contents[name] for name in sweeps], *catalogue_facts)
        ranges = [r for r in ranges_of[key] if r.name in config.params or r.name in FIELDS]
        places = [(cell, config.task, model) for cell in cells]
        drawn = dict(chain.from_iterable(drawn_scores.get(place, {}).items() for place in places))
        candidate_by_id = {c.id: c for place in places for c in candidates.get(place, ())}
        group = Group(
            config=config,
            about=abouts[content.about],
            runs=[RunSummary(*(getattr(t, name) for name in OF_RUN)) for t in trials],
            search=search,
            sweeps=sweeps,
            ways=(*distinct_ways([search_of_sweep[name] for name in sweeps]), *describe_time_scales(ranges))
            if search.trials
            else (),
            came={t.id: t.origin for t in imported},
            untrusted_searches={b for cell in cells if "@" not in cell[0] for b in untrusted_cells.get(cell, ())},
            checks=[t.id not in flagged for t in imported],
            reruns=[t.rerun for t in trials if t.rerun and t.origin is None],
            drawn=[*drawn.values()],
            candidates=[c for c in candidate_by_id.values() if c.phase == "race" or c.row == row],
            ranges=ranges if search.trials else (),
            task_title=entries[1].facts.get("title", "") if entries[1] else "",
            family=entries[0].family if entries[0] else "",
            superseded=why_superseded(config, catalogue),
        )
        aside = left_out(group, [t.id for t in trials], trust)
        used = dict.fromkeys(t.environment for t in trials if t.environment is not None and t.id not in aside)
        groups.append(replace(group, environments=[facts[name] for name in used]))
    rejected = list_rejected(groups, instead_of)
    groups = [replace(group, rejected_for=rejected.get(group.row, ())) for group in groups] if rejected else groups
    return _with_successors(connection, groups, cells_of, tallies)


def why_superseded(config: TrialConfig, catalogue: Mapping[tuple[str, str, str], CatalogueEntry]) -> str:
    """Return in which versions a configuration differs from what is trained now; empty if in none.

    Args:
        config: The configuration.
        catalogue: By kind, name and variant.
    """
    rules = catalogue.get(("rules", "training", ""))
    task = catalogue.get(("task", config.task, config.variant))
    model = catalogue.get(("model", config.model, ""))
    pairs = [
        ("training rules", config.protocol, rules.version if rules else PROTOCOL),
        (f"task {config.task}", config.task_version, task.version if task else config.task_version),
        (f"data of {config.task}", config.data, (task and task.data) or config.data),
        (f"model {config.model}", config.model_version, model.version if model else config.model_version),
    ]
    return "; ".join(f"{name}: version {old}, now {new}" for name, old, new in pairs if old != new)


def read_search(connection: sa.Connection, row: str) -> list[RunSummary]:
    """Return the search trials of a row's model and task in the cells that planned its retrainings, ordered by id."""
    t = TrialRow
    query = sa.select(t.id, t.status, t.test, t.valid, t.seconds, t.parameters).where(
        t.phase == "search", _in_cells_of(connection, row)
    )
    return [RunSummary(*line) for line in connection.execute(query.order_by(t.id))]


def _in_cells_of(connection: sa.Connection, row: str) -> sa.ColumnElement[bool]:
    """Return the condition that a trial is of a row's model and task, in a cell that planned its retrainings."""
    t = TrialRow
    is_retraining = sa.and_(t.phase == "retrain", t.row == row)
    first = connection.execute(sa.select(t.task, t.model).where(is_retraining).limit(1)).one_or_none()
    if first is None:
        return sa.false()
    cells = read_cells(connection, is_retraining, (), read_untrusted_cells(connection, ()))
    planned = sa.select(SweepTrialRow.trial).where(in_cells(cells.get(row, ())))
    return sa.and_(t.task == first.task, t.model == first.model, t.id.in_(planned))


def _read_drawn(
    connection: sa.Connection, task: str | None
) -> dict[tuple[tuple[str, int | None], str, str], dict[str, float | None]]:
    """Return the validation score of each search trial by cell, task and model, for models with published numbers."""
    t, s, p = TrialRow, SweepTrialRow, PublishedRow
    is_published = sa.exists().where(p.task == t.task, p.model == t.model)
    query = (
        sa.select(s.sweep, s.cell, t.task, t.model, t.id, t.status, t.valid)
        .join(s, s.trial == t.id)
        .where(t.phase == "search", is_published, sa.true() if task is None else t.task == task)
    )
    scores: dict[tuple[tuple[str, int | None], str, str], dict[str, float | None]] = {}
    for sweep, cell, task, model, trial, status, valid in connection.execute(query):
        scores.setdefault(((sweep, cell), task, model), {})[trial] = None if status == "diverged" else valid
    return scores


def _read_trials(
    connection: sa.Connection, where: sa.ColumnElement[bool]
) -> Iterator[tuple[str, str, list[sa.Row[Any]]]]:
    """Yield row, model and retrainings of each group, ordered by task and row."""
    t = TrialRow
    columns: list[Any] = [t.row, t.model, t.environment, t.origin, t.rerun, *(getattr(t, name) for name in OF_RUN)]
    lines = connection.execute(sa.select(*columns).where(where).order_by(t.task, t.row, t.id)).all()
    for (row, model), trials in groupby(lines, key=lambda line: (line.row, line.model)):
        yield row, model, list(trials)


def _read_environments(connection: sa.Connection, where: sa.ColumnElement[bool]) -> dict[str, Mapping[str, str]]:
    """Return the facts of each environment, by its id."""
    is_used = EnvironmentRow.id.in_(sa.select(TrialRow.environment).where(where))
    lines = connection.execute(sa.select(EnvironmentRow.id, EnvironmentRow.facts).where(is_used))
    return {line.id: line.facts for line in lines}


def _read_candidates(
    connection: sa.Connection, task: str | None
) -> dict[tuple[tuple[str, int | None], str, str], list[SearchedTrial]]:
    """Return the trials of races, and those of searches whose settings were retrained, by cell, task and model."""
    t, s = TrialRow, SweepTrialRow
    retrained = sa.select(t.row).where(t.phase == "retrain")
    where = sa.or_(t.phase == "race", sa.and_(t.phase == "search", t.row.in_(retrained)))
    query = (
        sa.select(s.sweep, s.cell, t.task, t.model, t.id, t.row, t.phase, t.status, t.valid)
        .join(s, s.trial == t.id)
        .where(where, sa.true() if task is None else t.task == task)
    )
    candidates: dict[tuple[tuple[str, int | None], str, str], list[SearchedTrial]] = {}
    for line in sorted(connection.execute(query), key=lambda line: line.id):  # ordered by SQLite, it would read all
        candidate = SearchedTrial(line.id, line.row, line.phase, line.status, line.valid)
        candidates.setdefault(((line.sweep, line.cell), line.task, line.model), []).append(candidate)
    return candidates


def _read_flagged(connection: sa.Connection, where: sa.ColumnElement[bool]) -> set[str]:
    """Return the trials in which a check of their bundle found something wrong."""
    return set(connection.scalars(sa.select(FlagRow.trial).join(TrialRow).where(where)))


def _read_catalogue(connection: sa.Connection) -> dict[tuple[str, str, str], CatalogueEntry]:
    """Return the entries of the catalogue by kind, name and variant."""
    c = CatalogueRow
    columns: tuple[Any, ...] = (c.kind, c.name, c.version, c.family, c.variant, c.data, c.facts)
    entries = [CatalogueEntry(*line) for line in connection.execute(sa.select(*columns))]
    return {(entry.kind, entry.name, entry.variant): entry for entry in entries}


def _select_describing(where: sa.ColumnElement[bool], trust: Collection[str]) -> sa.Select[str]:
    """Return the query of the trial that describes each group: its first trusted one if there is any, so that no
    imported trial describes a row that others support, else its first.
    """
    first = sa.func.substr(sa.func.min(sa.case((is_trusted(trust), "0"), else_="1") + TrialRow.id), 2)
    return sa.select(first).where(where).group_by(TrialRow.task, TrialRow.row)


def _read_contents(connection: sa.Connection, describing: sa.Select[str]) -> Sequence[sa.Row[Any]]:
    """Return configuration, and description as text, of the trials ``describing``, ordered by task and row."""
    t = TrialRow
    query = sa.select(t.config, sa.cast(t.about, sa.Text).label("about")).where(t.id.in_(describing))
    return connection.execute(query.order_by(t.task, t.row)).all()


def _with_successors(
    connection: sa.Connection,
    groups: Sequence[Group],
    cells_of: Mapping[str, CellNames],
    tallies: Mapping[tuple[CellNames, str, str], Tally],
) -> list[Group]:
    """Return the groups; those replaced after a longer search name the rows that it chose."""
    chosen = {
        group.row: [Search(*cell, group.config.task, group.config.model) for cell in cells_of.get(group.row, ())]
        for group in groups
    }
    sizes = {
        Search(*cells[0], task, model): tally.trials
        for (cells, task, model), tally in tallies.items()
        if len(cells) == 1
    }
    successors = read_successors(connection, chosen, sizes)
    return [replace(group, succeeded_by=rows) if (rows := successors.get(group.row)) else group for group in groups]
