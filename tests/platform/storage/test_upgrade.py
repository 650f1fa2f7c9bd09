"""No store is bricked: whatever older code left half made is mended, whatever is not ours is left alone."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from old_store import disposed, migrate, old_rows, old_store, old_store_at, reflected
from sqlalchemy.orm import Session
from tree import ROOT

from longwave.platform.errors import StoreError
from longwave.platform.storage.base import utc_now
from longwave.platform.storage.database import Database
from longwave.platform.storage.engine import HEAD
from longwave.platform.storage.schema import Base, SweepRow


def statements(file: Path) -> list[str]:
    """Return what the migrations up to schema 0003 execute that changes a database."""
    found: list[str] = []
    with disposed(f"sqlite:///{file}") as engine:

        @sa.event.listens_for(engine, "before_cursor_execute")
        def note(_: Any, __: Any, statement: str, parameters: Any, *___: Any) -> None:
            if not statement.lstrip().startswith(("PRAGMA", "SELECT")):
                assert not parameters
                found.append(statement)

        with engine.begin() as connection:
            migrate(connection, "0003")
    return found


def killed_after(file: Path, done: list[str]) -> None:
    """Execute statements as the old code did, each committed at once, and stop there."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        for statement in done:
            connection.execute(statement)


def content(file: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of a store that has the declared shape; a row's columns in the order of their names."""
    with Database(f"sqlite:///{file}", create=False) as database, database.reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []
        return {
            name: sorted((tuple(repr(row[c]) for c in sorted(row)) for row in rows), key=str)
            for name, rows in (
                (n, connection.execute(sa.select(t)).mappings().all()) for n, t in reflected(connection).items()
            )
        }


@pytest.mark.integration
def test_a_store_whose_creation_was_cut_short_anywhere_is_made_anew(tmp_path: Path) -> None:
    steps = statements(tmp_path / "whole.db")
    assert len(steps) == 22
    Database(f"sqlite:///{tmp_path}/new.db").close()
    fresh = content(tmp_path / "new.db")
    for k in range(len(steps) + 1):
        file = tmp_path / f"{k}.db"
        killed_after(file, steps[:k])
        assert content(file) == fresh, f"after {k} statements"
        assert not list(tmp_path.glob(f"{k}.before*")), "There was nothing to copy."


@pytest.mark.integration
def test_a_store_whose_upgrade_was_cut_short_anywhere_keeps_all_its_runs(tmp_path: Path) -> None:
    old_store_at(f"sqlite:///{tmp_path}/first.db", old_store(tmp_path / "old.db"), "0001")
    first = (tmp_path / "first.db").read_bytes()
    (tmp_path / "whole.db").write_bytes(first)
    steps = statements(tmp_path / "whole.db")
    assert len(steps) == 8
    (tmp_path / "clean.db").write_bytes(first)
    clean = content(tmp_path / "clean.db")
    assert len(clean["trials"]) == 55 and len(clean["curves"]) == 259
    for k in range(len(steps) + 1):
        file = tmp_path / f"{k}.db"
        file.write_bytes(first)
        killed_after(file, steps[:k])
        assert content(file) == clean, f"after {k} statements"
        assert (tmp_path / f"{k}.before-{HEAD}.db").is_file()


def test_a_store_that_lost_its_version_keeps_its_runs(tmp_path: Path) -> None:
    clean, lost = (old_store(tmp_path / name) for name in ("clean.db", "lost.db"))
    killed_after(lost, ["DROP TABLE alembic_version"])
    assert content(lost) == content(clean)


MIGRATIONS = ScriptDirectory(ROOT / "platform/storage/migrations")
VERSIONS = sorted(script.revision for script in MIGRATIONS.walk_revisions())


@pytest.mark.parametrize("version", [version for version in VERSIONS if "0003" < version < HEAD])
def test_a_store_of_every_version_since_is_brought_up_to_date_and_keeps_its_runs(tmp_path: Path, version: str) -> None:
    clean, older = (old_store(tmp_path / name) for name in ("clean.db", "older.db"))
    with disposed(f"sqlite:///{older}") as engine, engine.begin() as connection:
        migrate(connection, version)
    assert content(older) == content(clean)


FOREIGN = {
    "the table notes": ["CREATE TABLE notes (text TEXT)"],
    "the table experiments": ["CREATE TABLE experiments (id TEXT)", "CREATE TABLE alembic_version (version_num TEXT)"],
    "its table trials has the column number": [
        "CREATE TABLE trials (trial_id INTEGER, number INTEGER, study_id INTEGER)"
    ],
    "the version v3.0.0.d": [
        "CREATE TABLE trials (id TEXT)",
        "CREATE TABLE alembic_version (version_num TEXT)",
        "INSERT INTO alembic_version VALUES ('v3.0.0.d')",
    ],
}


@pytest.mark.parametrize("what", FOREIGN)
def test_a_database_of_something_else_is_refused_and_left_as_it_is(tmp_path: Path, what: str) -> None:
    file = tmp_path / "other.db"
    with closing(sqlite3.connect(file)) as connection, connection:
        for statement in FOREIGN[what]:
            connection.execute(statement)
    before = file.read_bytes()
    with pytest.raises(StoreError, match=f"other.db is not a Longwave store: .*{what}. Name another with --store.$"):
        Database(f"sqlite:///{file}")
    assert file.read_bytes() == before and list(tmp_path.glob("*")) == [file]


def test_a_foreign_postgresql_database_is_refused(postgres: Callable[[], str]) -> None:
    url = postgres()
    with disposed(url) as engine:
        with engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE notes (text TEXT)")
        with pytest.raises(StoreError, match="is not a Longwave store: it has the table notes"):
            Database(url)
        assert sa.inspect(engine).get_table_names() == ["notes"]


@pytest.mark.parametrize("version", [f"{int(HEAD) + 1:04}", "9999"])
def test_a_newer_store_is_refused_whatever_its_columns(tmp_path: Path, version: str) -> None:
    file = tmp_path / "newer.db"
    Database(f"sqlite:///{file}").close()
    killed_after(file, [f"UPDATE alembic_version SET version_num = '{version}'"])
    before = file.read_bytes()
    with pytest.raises(StoreError, match=f"has schema {version}, newer than this Longwave knows. Upgrade longwave.$"):
        Database(f"sqlite:///{file}")
    assert file.read_bytes() == before


def test_the_version_that_is_looked_for_is_the_newest_migration() -> None:
    assert MIGRATIONS.get_current_head() == HEAD


def test_a_store_that_is_up_to_date_is_opened_without_alembic(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['alembic'] = None; from longwave.platform.storage.database import Database\n"
        f"Database('sqlite:///{tmp_path}/store.db').close()"
    )
    Database(f"sqlite:///{tmp_path}/store.db").close()
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_a_copy_from_before_the_upgrade_is_kept_once(tmp_path: Path) -> None:
    file, copy = old_store(tmp_path / "old.db"), tmp_path / f"old.before-{HEAD}.db"
    rows = old_rows(file)
    Database(f"sqlite:///{file}").close()
    assert old_rows(copy) == rows
    assert {path.name for path in tmp_path.iterdir() if "before" in path.name} == {copy.name}
    copy.write_text("kept")
    old_store(tmp_path / "again.db").replace(file)
    Database(f"sqlite:///{file}").close()
    assert copy.read_text() == "kept"


def test_postgresql_keeps_the_copy_in_a_schema_of_its_own(postgres: Callable[[], str], tmp_path: Path) -> None:
    url, rows = postgres(), old_rows(old_store(tmp_path / "old.db"))
    old_store_at(url, tmp_path / "old.db")
    with Database(url) as database, database.reading() as connection:
        for name, kept in rows.items():
            metadata = sa.MetaData(schema=f"longwave_before_{HEAD}")
            table = sa.Table(name, metadata, autoload_with=connection)
            found = [dict(row) for row in connection.execute(sa.select(table)).mappings()]
            assert sorted(map(stable, found)) == sorted(map(stable, kept))
        version = connection.exec_driver_sql(f"SELECT version_num FROM longwave_before_{HEAD}.alembic_version").scalar()
        assert version == "0003"


def test_a_failed_upgrade_leaves_postgresql_as_it_was(postgres: Callable[[], str], tmp_path: Path) -> None:
    url = postgres()
    old_store_at(url, old_store(tmp_path / "old.db"))
    with disposed(url) as engine:
        with engine.begin() as connection:
            connection.exec_driver_sql("UPDATE trials SET config = '[]' WHERE id = (SELECT min(id) FROM trials)")
        with pytest.raises(StoreError, match="is as it was. Trial .* cannot be carried over"):
            Database(url)
        inspector = sa.inspect(engine)
        assert f"longwave_before_{HEAD}" not in inspector.get_schema_names() and not inspector.has_table("aliases")
        assert {key["name"] for key in inspector.get_foreign_keys("curves")} == {"fk_curves_trial"}


def test_processes_that_open_a_new_store_at_once_make_one(any_store_url: str) -> None:
    with ThreadPoolExecutor(6) as pool:
        for database in pool.map(Database, [any_store_url] * 6):
            database.close()
    with Database(any_store_url, create=False) as database, database.reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM alembic_version").scalar() == 1


@pytest.fixture
def database(any_store_url: str) -> Iterator[Database]:
    with Database(any_store_url) as opened:
        yield opened


def test_a_transaction_holds_the_schema_too(database: Database) -> None:
    with pytest.raises(ZeroDivisionError), database.transaction() as connection:
        connection.exec_driver_sql("CREATE TABLE half_made (id INTEGER)")
        connection.exec_driver_sql("INSERT INTO half_made VALUES (1)")
        raise ZeroDivisionError
    assert not sa.inspect(database.engine).has_table("half_made")


def test_writers_that_read_first_wait_for_each_other(tmp_path: Path) -> None:
    with Database(f"sqlite:///{tmp_path}/store.db") as database:
        with database.transaction() as connection:
            connection.execute(sa.insert(SweepRow).values(name="n", content={"n": 0}, created=utc_now()))

        def add(_: int) -> None:
            with database.transaction() as connection:
                count = connection.scalar(sa.select(SweepRow.content)) or {}
                connection.execute(sa.update(SweepRow).values(content={"n": count["n"] + 1}))

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(add, range(100)))
        with Session(database.engine) as session:
            assert session.scalar(sa.select(SweepRow.content)) == {"n": 100}


def test_a_reader_sees_one_moment_beside_a_writer(tmp_path: Path) -> None:
    with Database(f"sqlite:///{tmp_path}/store.db") as database, database.reading() as before:
        names = sa.select(SweepRow.name)
        assert before.scalars(names).all() == []
        with database.transaction() as connection:
            connection.execute(sa.insert(SweepRow).values(name="new", content={}, created=utc_now()))
        assert before.scalars(names).all() == []
        with database.reading() as after:
            assert after.scalars(names).all() == ["new"]


def stable(row: dict[str, Any]) -> str:
    """Return a row as text that does not depend on the order of keys, or on the time zone in which moments are told."""
    return json.dumps(row, sort_keys=True, default=lambda moment: moment.timestamp())


def test_servers_lose_their_passwords_and_two_that_become_one_keep_a_row_a_trial(any_store_url: str) -> None:
    plain, first, second = "http://h/x", "http://u:one@h/y", "http://u:two@h/y"
    rows = [
        ("a", plain),
        ("a", first),
        ("a", second),
        ("b", first),
        ("c", second),
        ("d", "http://***@h/y"),
        ("d", first),
    ]
    with disposed(any_store_url) as engine, engine.begin() as connection:
        migrate(connection, "0007")
        mirrored = sa.Table("mirrored", sa.MetaData(), autoload_with=connection, resolve_fks=False)
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql("ALTER TABLE mirrored DROP CONSTRAINT fk_mirrored_trial")
        for trial, server in rows:
            row = {"trial": trial, "server": server, "run": f"{trial} of {server}", "epoch": 3, "closed": True}
            connection.execute(mirrored.insert(), row)
        migrate(connection, "0008")
        columns = sa.text("SELECT trial, server, run, epoch, attempt FROM mirrored ORDER BY trial, server")
        found = connection.execute(columns).all()
    assert sorted(tuple(row[:2]) for row in found) == [
        ("a", "http://***@h/y"),
        ("a", plain),
        *((t, "http://***@h/y") for t in "bcd"),
    ]
    assert {(row.epoch, row.attempt) for row in found} == {(3, 0)}
    runs = {row.trial: row.run for row in found if row.server != plain}
    assert runs["d"] == "d of http://***@h/y" and runs["b"] == f"b of {first}" and runs["c"] == f"c of {second}"
    assert runs["a"] in (f"a of {first}", f"a of {second}")
