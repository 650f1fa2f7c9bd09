"""What becomes of a store of schema 0003 in 0004: its facts, its trials and their names. Frozen with that migration.

Trials are read in pieces and staged in a temporary table, so that neither memory nor the number of queries grows with
the store.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from longwave.platform.errors import StoreError
from longwave.platform.records.about import About
from longwave.platform.records.identity import digest
from longwave.platform.records.legacy import carried
from longwave.platform.records.trial import OF_ONE_TRIAL, TrialConfig

JSON = sa.JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), "postgresql")
PIECE = 2000
"""Trials that are in memory at a time, or as many as the largest cohort has."""
OWN = ("bundle", "checked", "rerun")
"""Facts of a trial that stood among those of its environment."""
DAMAGED = (StoreError, KeyError, TypeError, ValueError, AttributeError)
"""What is raised where a record has not the form it should have."""
CHILDREN = ("asks", "curves", "mirrored")
"""Tables that name trials by a foreign key."""

TRIALS = sa.table("trials", sa.column("id"), sa.column("config"), sa.column("about"))
ASKS = sa.table("asks", sa.column("sweep"), sa.column("trial"), sa.column("position"))
SWEEPS = sa.table("sweeps", sa.column("name"), sa.column("content"), sa.column("created", sa.DateTime(timezone=True)))
ENVIRONMENTS = sa.table("environments", sa.column("id"), sa.column("facts", JSON))
IMPORTS = sa.table(
    "imports", sa.column("name"), sa.column("checked", sa.Boolean()), sa.column("at", sa.DateTime(timezone=True))
)
PATCHES = sa.table("patches", sa.column("id"), sa.column("text"))
STAGED = sa.Table(
    "carried",
    sa.MetaData(),
    sa.Column("old", sa.String(16), primary_key=True),
    sa.Column("new", sa.String(16)),
    sa.Column("row", sa.String(16)),
    sa.Column("config", JSON),
    sa.Column("about", JSON),
    prefixes=["TEMPORARY"],
)
PLACES = sa.Table(
    "places",
    sa.MetaData(),
    sa.Column("old", sa.String(16), primary_key=True),
    sa.Column("new", sa.String(16)),
    sa.Column("origin", sa.String(64)),
    sa.Column("rerun", sa.String(10)),
    prefixes=["TEMPORARY"],
)


def carry_environments(connection: sa.Connection) -> None:
    """Give patches, origins and re-runs their own places; environments that are equal without them become one."""
    found = connection.execute(_texts(ENVIRONMENTS, "facts"))
    facts = {key: _read("Environment", key, text) for key, text in found}
    patches = {key: found["patch"] for key, found in facts.items() if found.keys() == {"patch"}}
    moved = {key: own for key, own in facts.items() if key not in patches and own.keys() & set(OWN)}
    kept = {key: {k: v for k, v in own.items() if k not in OWN} for key, own in moved.items()}
    new = {key: digest(rest) if rest else None for key, rest in kept.items()}
    checked: dict[str, bool] = {}
    for own in (own for own in moved.values() if "bundle" in own):
        checked[own["bundle"]] = checked.get(own["bundle"], True) and own.get("checked") == "yes"
    times = _times(connection, checked)
    _insert(connection, IMPORTS, [{"name": k, "checked": v, "at": times[k]} for k, v in checked.items()])
    _insert(connection, PATCHES, [{"id": key, "text": text} for key, text in patches.items()])
    added = {new[key]: rest for key, rest in kept.items() if rest and new[key] not in facts}
    _insert(connection, ENVIRONMENTS, [{"id": key, "facts": rest} for key, rest in added.items()])
    places = [
        {"old": key, "new": new[key], "origin": own.get("bundle"), "rerun": own.get("rerun", "")}
        for key, own in moved.items()
    ]
    PLACES.create(connection)
    _insert(connection, PLACES, places)
    op.execute(
        "UPDATE trials SET environment = p.new, origin = p.origin, rerun = p.rerun FROM places p "
        "WHERE p.old = trials.environment"
    )
    # Each row that goes is looked for among the trials: without an index, in all of them.
    op.create_index("ix_trials_environment", "trials", ["environment"])
    op.execute("DELETE FROM environments WHERE id IN (SELECT old FROM places UNION ALL SELECT id FROM patches)")
    op.drop_index("ix_trials_environment", "trials")
    PLACES.drop(connection)


def _times(connection: sa.Connection, bundles: Iterable[str]) -> dict[str, datetime]:
    """Return when bundles were taken up: when a sweep of theirs was written, whose name ends in a hash of both."""
    times = dict.fromkeys(bundles, datetime.now(UTC))
    for name, text, created in connection.execute(sa.select(SWEEPS.c.name, _text(SWEEPS.c.content), SWEEPS.c.created)):
        for bundle in times if "@" in name else ():
            if digest([bundle, _read("Sweep", name, text)])[:8] == name.rpartition("@")[2]:
                times[bundle] = created if created.tzinfo else created.replace(tzinfo=UTC)
    return times


def carry_trials(connection: sa.Connection) -> None:
    """Give every trial its new identity, and so all that names it.

    Raises:
        StoreError: The record of a trial is damaged.
    """
    STAGED.create(connection)
    _stage_trials(connection)
    _rename_trials(connection)
    STAGED.drop(connection)


def _stage_trials(connection: sa.Connection) -> None:
    """Write into the temporary table what becomes of each trial; of those of a cohort of halving, all at once."""
    cohorts: dict[str, list[str]] = {}
    last, first = "", _texts(TRIALS, "config", "about").order_by(TRIALS.c.id).limit(PIECE)
    while piece := connection.execute(first.where(TRIALS.c.id > last)).all():
        last = piece[-1].id
        alone = []
        for line in piece:
            halving = _read("Trial", line.id, line.config).get("halving")
            if isinstance(halving, dict) and isinstance(halving.get("cohort"), str):
                cohorts.setdefault(halving["cohort"], []).append(line.id)
            else:
                alone.append(line)
        _stage(connection, alone)
    for keys in _whole(_in_order(connection, cohorts)):
        slices = (keys[k : k + PIECE] for k in range(0, len(keys), PIECE))
        named = (_texts(TRIALS, "config", "about").where(TRIALS.c.id.in_(part)) for part in slices)
        found = {line.id: line for query in named for line in connection.execute(query)}
        _stage(connection, [found[key] for key in keys])


def _in_order(connection: sa.Connection, cohorts: Mapping[str, list[str]]) -> Iterator[list[str]]:
    """Yield the trials of each cohort in the order in which they were planned."""
    asked = connection.scalars(sa.select(ASKS.c.trial).order_by(ASKS.c.sweep, ASKS.c.position)) if cohorts else ()
    place: dict[str, int] = {}
    for k, trial in enumerate(asked):
        place.setdefault(trial, k)
    for keys in cohorts.values():
        yield sorted(keys, key=lambda key: (place.get(key, len(place)), key))


def _whole(cohorts: Iterable[list[str]]) -> Iterator[list[str]]:
    """Yield the trials of several cohorts at once, ``PIECE`` of them or a few more."""
    together: list[str] = []
    for keys in cohorts:
        together += keys
        if len(together) >= PIECE:
            yield together
            together = []
    if together:
        yield together


def _rename_trials(connection: sa.Connection) -> None:
    """Give the staged identities to trials and to all that names them; the old ones become aliases."""
    sqlite = connection.dialect.name == "sqlite"
    if sqlite:
        op.execute("PRAGMA defer_foreign_keys = ON")
    else:
        for table in CHILDREN:
            op.drop_constraint(f"fk_{table}_trial", table)
    op.execute("INSERT INTO aliases (old, new, kind) SELECT old, new, 'trial' FROM carried")
    op.execute(
        "INSERT INTO aliases (old, new, kind) "
        'SELECT DISTINCT t."row", c."row", \'row\' FROM trials t JOIN carried c ON c.old = t.id'
    )
    op.execute(
        'UPDATE trials SET id = c.new, "row" = c."row", config = c.config, about = c.about '
        "FROM carried c WHERE c.old = trials.id"
    )
    for table in CHILDREN:
        op.execute(f"UPDATE {table} SET trial = c.new FROM carried c WHERE c.old = {table}.trial")  # nosec B608  # CHILDREN
        if not sqlite:
            op.create_foreign_key(f"fk_{table}_trial", table, "trials", ["trial"], ["id"])


def _stage(connection: sa.Connection, lines: Sequence[sa.Row[Any]]) -> None:
    """Write what becomes of trials, of which the cohorts are whole, into the temporary table.

    Raises:
        StoreError: The record of one is damaged.
    """
    trials = _carried({line.id: _read("Trial", line.id, line.config) for line in lines})
    staged = []
    for line, trial in zip(lines, trials, strict=True):
        config = trial.to_dict()
        row = {name: value for name, value in config.items() if name not in OF_ONE_TRIAL}
        try:
            names = {"old": line.id, "new": digest(config), "row": digest(row)}
            staged.append({**names, "config": config, "about": _about(line.about)})
        except DAMAGED as error:
            raise _damaged("Trial", line.id, error) from None
    _insert(connection, STAGED, staged)


def _carried(found: Mapping[str, Mapping[str, Any]]) -> list[TrialConfig]:
    """Return what becomes of trials, by their ids, of which the cohorts are whole."""
    try:
        return carried(list(found.values()))
    except DAMAGED as error:
        for key, content in found.items() if len(found) > 1 else ():
            _carried({key: content})  # raises for the one that is to blame
        raise _damaged("Trial", next(iter(found)), error) from None


def _damaged(what: str, key: str, error: object) -> StoreError:
    return StoreError(f"{what} {key} cannot be carried over, its record is damaged: {error}")


@lru_cache(256)
def _about(text: str) -> dict[str, Any]:
    """Return what explains a row in the form of ``About``; the trials of a row, and more, have it in common."""
    about = json.loads(text)
    names = {name: [about[name]] for name in ("called",) if isinstance(about.get(name), str)}
    scores = {name: float(score) for name, score in about.get("trivial", {}).items()}
    return About.from_dict({"version": 1, **about, **names, "trivial": scores}).to_dict()


def _read(what: str, key: str, text: str) -> dict[str, Any]:
    """Return the JSON object that a column holds."""
    try:
        found = json.loads(text)
    except (TypeError, ValueError) as error:
        raise _damaged(what, key, error) from None
    if not isinstance(found, dict):
        raise _damaged(what, key, "it is no JSON object")
    return found


def _texts(table: sa.TableClause, *names: str) -> sa.Select[Any]:
    """Return a query for ids and for JSON as text: what a damaged one holds is not known to the database."""
    return sa.select(table.c.id, *(_text(table.c[name]).label(name) for name in names))


def _text(column: sa.ColumnElement[Any]) -> sa.ColumnElement[str]:
    return sa.cast(column, sa.Text)


def _insert(connection: sa.Connection, table: sa.TableClause, rows: list[dict[str, Any]]) -> None:
    if rows:
        connection.execute(sa.insert(table), rows)
