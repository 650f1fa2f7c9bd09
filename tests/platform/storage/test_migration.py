"""A store of schema 0003 keeps all it holds, under the identities that grow, on SQLite and on PostgreSQL alike."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from old_store import old_rows, old_store, old_store_at, reflected
from sqlalchemy.orm import Session

from longwave.platform.errors import StoreError
from longwave.platform.literature.published import published_rows
from longwave.platform.records.about import About
from longwave.platform.records.identity import digest
from longwave.platform.records.legacy import carried, content, seed_key
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage.database import Database
from longwave.platform.storage.engine import HEAD
from longwave.platform.storage.schema import Base, CurveRow, SweepRow

Rows = dict[str, list[dict[str, Any]]]
PATCH = {"patch": "--- a\n+++ b\n"}
BUNDLE = "0f456fd71237054b8984ef90b1ce82a0de3d7e5a3432c0375ce973c72e278b22"


def grown(path: Path) -> Path:
    """Return an old store to which this adds what its makers did not do: a patch, a mirror, a flagged import."""
    old_store(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        [plain] = connection.execute("SELECT facts FROM environments WHERE id = '5f1e4df4b8b40413'").fetchone()
        changed = {**json.loads(plain), "diff": digest(PATCH)}
        flagged = {"bundle": "f" * 64, "checked": "flags"}
        for facts in (PATCH, changed, flagged):
            connection.execute("INSERT INTO environments VALUES (?, ?)", (digest(facts), json.dumps(facts)))
        [a, b] = connection.execute(
            "SELECT id FROM trials WHERE phase = 'retrain' AND environment IS NOT NULL ORDER BY id LIMIT 2"
        )
        connection.execute("UPDATE trials SET environment = ? WHERE id = ?", (digest(changed), *a))
        connection.execute("UPDATE trials SET environment = ? WHERE id = ?", (digest(flagged), *b))
        connection.execute("INSERT INTO mirrored VALUES (?, 'http://server', 'run', 6, 1)", a)
        about = json.loads(connection.execute("SELECT about FROM trials WHERE id = ?", a).fetchone()[0])
        short = {k: about[k] for k in ("task", "model", "metric", "unit", "goal")} | {"published": "N=20"}
        connection.execute("UPDATE trials SET about = ? WHERE id = ?", (json.dumps(short), *a))
    return path


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def upgraded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Rows, Rows]:
    """The rows of an old store, and those it has after it was opened, on either database."""
    folder = tmp_path_factory.mktemp("upgraded")
    path = grown(folder / "old.db")
    url = f"sqlite:///{folder}/new.db" if request.param == "sqlite" else request.getfixturevalue("postgres")()
    old_store_at(url, path)
    with Database(url) as database, database.reading() as connection:
        tables = reflected(connection)
        new = {n: [dict(r) for r in connection.execute(sa.select(t)).mappings()] for n, t in tables.items()}
    return old_rows(path), new


def by_id(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in rows}


def expected(old: Rows) -> dict[str, TrialConfig]:
    """Return what each old trial should have become: each sweep's plan carried over as a whole, in its order."""
    found: dict[str, TrialConfig] = {}
    configs = {row["id"]: row["config"] for row in old["trials"]}
    asks = sorted(old["asks"], key=lambda ask: (ask["sweep"], ask["position"]))
    for sweep in {ask["sweep"] for ask in asks}:
        trials = [ask["trial"] for ask in asks if ask["sweep"] == sweep]
        found |= zip(trials, carried([configs[t] for t in trials]), strict=True)
    unasked = [key for key in configs if key not in found]
    return found | dict(zip(unasked, carried([configs[key] for key in unasked]), strict=True))


def test_every_trial_is_what_its_plan_became_under_an_identity_that_grows(upgraded: tuple[Rows, Rows]) -> None:
    old, new = upgraded
    trials, names, want = by_id(new["trials"]), aliases(new, "trial"), expected(old)
    assert len(old["trials"]) == len(trials) == 55 and names.keys() == by_id(old["trials"]).keys()
    for row in old["trials"]:
        found = trials[names[row["id"]]]
        config = TrialConfig.from_dict(found["config"])
        assert (config, found["config"]) == (want[row["id"]], want[row["id"]].to_dict())
        assert (found["id"], found["row"]) == (config.id, config.row)
        assert content(want[row["id"]]) | {"halving": None} == row["config"] | {"halving": None}
        kept = set(row) - {"id", "row", "config", "about", "environment"}
        assert {k: utc(found[k]) for k in kept} == {k: row[k] for k in kept}


def test_every_old_name_of_a_trial_or_a_row_leads_to_the_new_one(upgraded: tuple[Rows, Rows]) -> None:
    old, new = upgraded
    rows = aliases(new, "row")
    assert rows.keys() == {row["row"] for row in old["trials"]}
    for row in new["trials"]:
        config = TrialConfig.from_dict(row["config"])
        assert rows[seed_key(config)] == config.row
    assert len(new["aliases"]) == len(rows) + 55


def test_the_members_of_a_cohort_stay_together_under_its_new_name(upgraded: tuple[Rows, Rows]) -> None:
    old, new = upgraded
    cohorts: dict[str, set[str]] = {}
    names, trials = aliases(new, "trial"), by_id(new["trials"])
    for row in old["trials"]:
        if row["config"]["halving"]:
            name = trials[names[row["id"]]]["config"]["halving"]["cohort"]
            cohorts.setdefault(row["config"]["halving"]["cohort"], set()).add(name)
    assert len(cohorts) == 2 and all(len(found) == 1 for found in cohorts.values())
    assert not {name for found in cohorts.values() for name in found} & cohorts.keys()


@pytest.mark.parametrize("table", ["asks", "curves", "mirrored"])
def test_what_names_a_trial_follows_it_and_is_kept_to_the_bit(upgraded: tuple[Rows, Rows], table: str) -> None:
    old, new = upgraded
    names = aliases(new, "trial")
    new_columns: dict[str, object] = {"asks": {"cell": None}, "mirrored": {"attempt": 0}}.get(table, {})
    want = [{**row, "trial": names[row["trial"]], **new_columns} for row in old[table]]
    assert want and sorted(map(repr, new[table])) == sorted(map(repr, want))


def test_origin_checks_and_reruns_leave_the_facts_for_places_of_their_own(upgraded: tuple[Rows, Rows]) -> None:
    old, new = upgraded
    names, trials, facts = aliases(new, "trial"), by_id(new["trials"]), by_id(new["environments"])
    before = by_id(old["environments"])
    for row in old["trials"]:
        was = before[row["environment"]]["facts"] if row["environment"] else {}
        found = trials[names[row["id"]]]
        assert (found["origin"], found["rerun"]) == (was.get("bundle"), was.get("rerun", ""))
        rest = {k: v for k, v in was.items() if k not in ("bundle", "checked", "rerun")}
        assert (facts[found["environment"]]["facts"] if found["environment"] else {}) == rest
    assert {row["rerun"] for row in new["trials"]} == {"", "outside"}
    assert {row["name"] for row in new["imports"]} == {BUNDLE, "f" * 64}
    assert {row["trial"] for row in new["flags"]} == {row["id"] for row in new["trials"] if row["origin"] == "f" * 64}
    [imported] = [row for row in old["sweeps"] if "@" in row["name"]]
    assert {utc(row["at"]) for row in new["imports"] if row["name"] == BUNDLE} == {imported["created"]}


def test_equal_environments_become_one_and_patches_a_table(upgraded: tuple[Rows, Rows]) -> None:
    old, new = upgraded
    assert (len(old["environments"]), len(new["environments"])) == (6, 2)
    assert all(row["id"] == digest(row["facts"]) for row in new["environments"])
    assert {row["facts"].get("diff") for row in new["environments"]} == {None, digest(PATCH)}
    assert new["patches"] == [{"id": digest(PATCH), "text": PATCH["patch"]}]


def test_what_explains_a_row_has_the_form_of_today(upgraded: tuple[Rows, Rows]) -> None:
    old, new = upgraded
    names, trials = aliases(new, "trial"), by_id(new["trials"])
    for row in old["trials"]:
        about = trials[names[row["id"]]]["about"]
        assert About.from_dict(about).to_dict() == about
        same = {k: v for k, v in row["about"].items() if k != "published"}  # no longer said by the row
        assert same.items() <= about.items() and about["version"] == 1 and "published" not in about


def test_sweeps_keep_their_settings_and_have_no_plan_yet(upgraded: tuple[Rows, Rows]) -> None:
    old, new = upgraded
    want = [{**row, "plan": None, "state": ""} for row in old["sweeps"]]
    assert sorted(want, key=repr) == sorted(({**r, "created": utc(r["created"])} for r in new["sweeps"]), key=repr)
    assert by_id(new["published"]) == by_id(published_rows())


def test_the_migration_gives_the_tables_that_the_code_declares(any_store_url: str, tmp_path: Path) -> None:
    old_store_at(any_store_url, old_store(tmp_path / "old.db"))
    with Database(any_store_url) as database:
        with database.reading() as connection:
            # Alembic misreads an empty text as SQLite's default.
            asked = {"compare_type": True, "compare_server_default": connection.dialect.name == "postgresql"}
            context = MigrationContext.configure(connection, opts=asked)
            assert compare_metadata(context, Base.metadata) == []
            if connection.dialect.name == "sqlite":
                assert connection.exec_driver_sql("PRAGMA foreign_key_check").all() == []
                assert connection.exec_driver_sql("PRAGMA integrity_check").all() == [("ok",)]
        with pytest.raises(StoreError, match=r"(?i)foreign key"), database.transaction() as connection:
            connection.execute(sa.insert(CurveRow).values(trial="none", epoch=1, loss=0, valid=0, seconds=0, at=0))
        with Session(database.engine) as session:
            assert session.scalar(sa.select(sa.func.count()).select_from(SweepRow)) == 9


DAMAGE: dict[str, tuple[str, Callable[[str], str]]] = {
    "no JSON": ("config", lambda text: text[:-5]),
    "a list": ("config", lambda text: "[]"),
    "an unknown field": ("config", lambda text: text.replace('"hidden"', '"width"')),
    "no model": ("config", lambda text: text.replace('"model"', '"modle"')),
    "a cohort without a name": ("config", lambda text: text.replace('"halving": null', '"halving": {"eta": 3}')),
    "not a number": ("config", lambda text: text.replace('"hidden": 8', '"hidden": NaN')),
    "no goal": ("about", lambda text: text.replace('"goal"', '"gaol"')),
    "no scores": ("about", lambda text: text.replace('{"mean"', '[{"mean"').replace("}}", "}]}")),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_trial_stops_the_upgrade_in_one_line_that_names_it(tmp_path: Path, damage: str) -> None:
    file, (column, change) = old_store(tmp_path / "old.db"), DAMAGE[damage]
    with closing(sqlite3.connect(file)) as connection, connection:
        key, text = connection.execute(f"SELECT id, {column} FROM trials ORDER BY id LIMIT 1 OFFSET 9").fetchone()
        connection.execute(f"UPDATE trials SET {column} = ? WHERE id = ?", (change(text), key))
        assert change(text) != text
    before = dump(file)
    with pytest.raises(StoreError, match=f"is as it was. .* at .*before-{HEAD}.db. Trial {key} cannot be") as caught:
        Database(f"sqlite:///{file}")
    assert "\n" not in str(caught.value)
    assert dump(file) == before == dump(tmp_path / f"old.before-{HEAD}.db")


def test_two_trials_that_would_become_one_stop_the_upgrade(tmp_path: Path) -> None:
    file = old_store(tmp_path / "old.db")
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE trials SET config = (SELECT config FROM trials ORDER BY id LIMIT 1)")
    before = dump(file)
    with pytest.raises(StoreError, match="is as it was.*UNIQUE constraint failed"):
        Database(f"sqlite:///{file}")
    assert dump(file) == before


def test_a_store_of_the_first_schema_is_upgraded_with_its_runs(any_store_url: str, tmp_path: Path) -> None:
    rows = old_rows(old_store(tmp_path / "old.db"))
    old_store_at(any_store_url, tmp_path / "old.db", "0001")
    with Database(any_store_url) as database, database.reading() as connection:
        assert len(connection.execute(sa.select(CurveRow.__table__)).all()) == len(rows["curves"])
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []


def aliases(new: Rows, kind: str) -> dict[str, str]:
    return {row["old"]: row["new"] for row in new["aliases"] if row["kind"] == kind}


def utc(value: Any) -> Any:
    return value if not isinstance(value, datetime) else value.replace(tzinfo=value.tzinfo or UTC)


def dump(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as connection:
        return list(connection.iterdump())
