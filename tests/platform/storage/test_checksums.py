"""A trial carries a checksum over all that was recorded of it: whatever is changed behind the store's back is found."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from boards import retrained, trials
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import recorded_store

from longwave.platform.about import about
from longwave.platform.records.checksum import PLAN, trial_checksum
from longwave.platform.records.run import Run
from longwave.platform.storage import checksums
from longwave.platform.storage.base import Base
from longwave.platform.storage.checksums import find_mismatches, write_checksums
from longwave.platform.storage.integrity import describe_damage, find_damage
from longwave.platform.storage.schema import FlagRow, TrialRow
from longwave.platform.storage.store import Store

OpenStore = Callable[[str], Store]
values = st.one_of(st.floats(), st.integers(), st.text(), st.booleans(), st.dictionaries(st.text(), st.integers()))
lines = st.dictionaries(st.text("abcdef", min_size=1), values, min_size=1)
tables = st.dictionaries(st.sampled_from(["curves", "measures"]), st.lists(lines, min_size=1))


def form(content: object) -> str:
    return json.dumps(content, sort_keys=True)


@pytest.mark.integration
@settings(max_examples=40)
@given(lines, tables, st.data())
def test_a_checksum_hangs_on_every_value_and_name_and_on_no_order(
    trial: dict[str, Any], rows_by_table: dict[str, list[dict[str, Any]]], data: st.DataObject
) -> None:
    made = trial_checksum(trial, rows_by_table)
    shuffled = {name: data.draw(st.permutations(rows)) for name, rows in reversed(rows_by_table.items())}
    assert trial_checksum(dict(reversed(trial.items())), shuffled) == made and made.startswith("2:") and len(made) == 80
    name, value = data.draw(st.sampled_from(sorted(trial))), data.draw(values)
    changed = {**trial, name: value}
    assert (trial_checksum(changed, rows_by_table) == made) == (form(changed) == form(trial))
    renamed = {f"{name}x": trial[name], **{k: v for k, v in trial.items() if k != name}}
    assert trial_checksum(renamed, rows_by_table) != made
    for table, rows in rows_by_table.items():
        k = data.draw(st.integers(0, len(rows) - 1))
        assert trial_checksum(trial, {**rows_by_table, table: rows[:k] + rows[k + 1 :]}) != made
        assert trial_checksum(trial, {**rows_by_table, table: [*rows, rows[k]]}) != made


@given(lines)
def test_the_digits_of_a_plan_hang_on_its_columns_alone_and_come_first(end: dict[str, Any]) -> None:
    plan = dict.fromkeys(PLAN, "x")
    assert trial_checksum({**plan, **end}, {}).startswith(trial_checksum(plan)) and len(trial_checksum(plan)) == 34
    for name in PLAN:
        assert trial_checksum({**plan, name: "y"}) != trial_checksum(plan)


def test_a_moment_counts_and_not_the_time_zone_that_a_database_tells_it_in() -> None:
    moment = datetime(2026, 1, 2, 3, tzinfo=UTC)
    elsewhere = moment.astimezone(timezone(timedelta(hours=5)))
    assert trial_checksum({"ended": moment}, {}) == trial_checksum({"ended": elsewhere}, {})
    assert trial_checksum({"ended": moment + timedelta(microseconds=1)}, {}) != trial_checksum({"ended": moment}, {})


def test_all_trials_have_a_checksum_and_are_found_sound_on_both_databases(
    any_store_url: str, open_store: OpenStore
) -> None:
    store = open_store(any_store_url)
    trials = recorded_store(store)
    with store.reading() as connection:
        checksums = dict(connection.execute(sa.select(TrialRow.id, TrialRow.checksum)).all())
        assert find_mismatches(connection) == {}
    assert [len(checksums[c.id]) for c in trials] == [80] * 10 + [34] * 2
    assert describe_damage(store.engine) == ""


TABLES = ("trials", "curves", "measures", "flags")
COLUMNS = [
    (name, column.name)
    for name in TABLES
    for column in Base.metadata.tables[name].c
    if (name, column.name) != ("trials", "id")
]


@pytest.fixture(scope="module")
def flagged_file(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A store, and one of its trials, which has rows in all tables."""
    file = tmp_path_factory.mktemp("made") / "store.db"
    with Store(f"sqlite:///{file}") as store:
        trial = recorded_store(store, 4)[0].id
        with store.transaction() as connection:
            connection.execute(sa.insert(FlagRow).values(trial=trial, text="odd"))
            write_checksums(connection, [trial])
    return file, trial


@pytest.fixture
def flagged(flagged_file: tuple[Path, str], tmp_path: Path, open_store: OpenStore) -> tuple[Store, str]:
    """A copy of it."""
    return open_store(f"sqlite:///{shutil.copy(flagged_file[0], tmp_path)}"), flagged_file[1]


@pytest.mark.parametrize(("table", "column"), COLUMNS, ids=".".join)
def test_a_changed_value_in_any_column_of_a_trial_is_noticed(
    flagged: tuple[Store, str], table: str, column: str, tmp_path: Path
) -> None:
    store, trial = flagged
    of = "id" if table == "trials" else "trial"
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection, connection:
        row, old = connection.execute(f"SELECT rowid, {column} FROM {table} WHERE {of} = ?", (trial,)).fetchone()
        new: object = f"{old or ''}x" if isinstance(old, str | None) else old + 90
        if column == "ended":
            new = old.replace("20", "21", 1)
        elif column in ("best_epoch", "joules", "parameters", "test", "valid"):
            new = (old or 0) + 1
        elif column in ("config", "about"):
            new = json.dumps({**json.loads(old), "epochs": 7})
        connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (new, row))
    with store.reading() as reading:
        assert find_mismatches(reading)[trial] == (table != "trials" or column not in PLAN)
    assert f"trial {trial} is damaged" in describe_damage(store.engine)


ADDED = {
    "a number": ((sa.Double, "0"), 0.5),
    "a text": ((sa.Text, ""), "x"),
    "a truth": ((sa.Boolean, "0"), True),
    "what may be unknown": ((sa.Integer, None), 0),
}


@pytest.mark.parametrize("what", ADDED)
@pytest.mark.parametrize("table", TABLES)
def test_a_column_added_later_changes_no_checksum_until_it_is_used_and_is_covered_then(
    flagged: tuple[Store, str], table: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (store, trial), ((kind, default), value) = flagged, ADDED[what]
    grown = Base.metadata.tables[table].to_metadata(sa.MetaData())
    grown.append_column(sa.Column("extra", kind, nullable=default is None, server_default=default))
    if table == "trials":
        monkeypatch.setattr(checksums, "TRIALS", grown)
    else:
        tables = tuple(grown if t.name == table else t for t in checksums.TRIAL_TABLES)
        monkeypatch.setattr(checksums, "TRIAL_TABLES", tables)
    with store.transaction() as connection:
        described = sa.schema.CreateColumn(grown.c.extra).compile(dialect=connection.dialect)
        connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN {described}")
        assert find_mismatches(connection) == {}
        mine = grown.c.id if table == "trials" else grown.c.trial
        connection.execute(sa.update(grown).where(mine == trial).values(extra=value))
        assert find_mismatches(connection) == {trial: True}
        write_checksums(connection, [trial])
        assert find_mismatches(connection) == {}


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE curves SET valid = valid + 1e-9 WHERE epoch = 3",
        "DELETE FROM curves WHERE epoch = 8",
        "UPDATE measures SET value = value * 2",
        "UPDATE trials SET checksum = ''",
        "UPDATE trials SET checksum = replace(checksum, '2:', '1:')",
        "UPDATE trials SET config = 'no json'",
        "UPDATE trials SET status = 'planned'",
    ],
)
def test_a_change_of_every_trial_is_found_in_each(store: Store, change: str, tmp_path: Path) -> None:
    trials = recorded_store(store)
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection, connection:
        connection.execute(change)
    with store.reading() as reading:
        assert {c.id for c in trials[:-2]} <= set(find_mismatches(reading))
    assert "; and " in describe_damage(store.engine) and len(find_damage(store.engine)) >= 10


def test_a_damaged_trial_stays_damaged_when_it_is_planned_again_ends_or_is_tried_again(
    store: Store, tmp_path: Path
) -> None:
    configs = recorded_store(store)
    (first, unfinished, failed), whole = (c.id for c in (configs[0], *configs[-2:])), configs[1].id
    store.write([], [Run(failed, "failed", "the disk is full")])
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection, connection:
        connection.execute("UPDATE trials SET valid = valid + 1 WHERE id = ?", (first,))
        plans = "UPDATE trials SET config = replace(config, '0.1', '0.2') WHERE id IN (?, ?)"
        connection.execute(plans, (unfinished, failed))
    store.add_sweep("two", {})
    store.add_trials("two", configs, [about(c) for c in configs], [0] * len(configs))
    store.write([], [Run(i, "ok", valid=0.5) for i in (first, whole, unfinished)])
    assert store.reopen_failed("one") == 1
    with store.reading() as connection:
        assert find_mismatches(connection) == {first: True, unfinished: False, failed: False}


def test_an_imported_trial_that_another_bundle_describes_otherwise_has_a_checksum_of_what_replaced_it(
    any_store_url: str, open_store: OpenStore
) -> None:
    store, [first, *_] = open_store(any_store_url), trials(retrained("lem", [1.0, 2.0]))
    store.import_trials(["a"], [(replace(first, origin="a"), ())], [])
    other = replace(first, origin="b", about=replace(first.about, recipe="another table"))
    store.import_trials(["b"], [(other, ())], [], replaced=[first.config.id])
    assert store.trials_by_id([first.config.id])[0].about.recipe == "another table"
    with store.reading() as connection:
        assert find_mismatches(connection) == {}


def test_a_planned_trial_an_environment_a_published_number_and_a_sweep_are_checked(
    store: Store, tmp_path: Path
) -> None:
    trial = recorded_store(store)[-1]
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection, connection:
        connection.execute("UPDATE trials SET config = replace(config, '0.1', '0.2') WHERE id = ?", (trial.id,))
        connection.execute("UPDATE environments SET facts = replace(facts, '2.15', '2.16')")
        connection.execute("UPDATE published SET value = value + 1 WHERE id IN (SELECT max(id) FROM published)")
        connection.execute("UPDATE sweeps SET content = '[]'")
    damage = find_damage(store.engine)
    for what in (f"trial {trial.id} is", "the environment", "the published number", "the sweep 'one' is damaged"):
        assert any(what in line for line in damage), damage
    assert len(damage) == 5
