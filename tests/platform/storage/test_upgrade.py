"""A store is created and upgraded whole or not at all; what is not ours, or too old, or too new, is left alone."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from database_rows import Rows, read_rows
from next_migration import NEXT, with_next_migration
from recorded import recorded_store
from sqlalchemy.orm import Session

from longwave.platform.errors import StoreError
from longwave.platform.storage import upgrade
from longwave.platform.storage.base import Base, utc_now
from longwave.platform.storage.database import Database
from longwave.platform.storage.schema import CurveRow, SweepRow
from longwave.platform.storage.store import Store
from longwave.platform.storage.versions import BASELINE, HEAD

VERSION_TABLE = "CREATE TABLE alembic_version (version_num TEXT)"
FOREIGN = [
    ("the table notes", ["CREATE TABLE notes (text TEXT)"]),
    ("the table experiments", ["CREATE TABLE experiments (id TEXT)", VERSION_TABLE]),
    ("no schema version", ["CREATE TABLE trials (trial_id INTEGER, number INTEGER, study_id INTEGER)"]),
    ("no schema version", ["CREATE TABLE trials (id TEXT)", VERSION_TABLE]),
    ("no schema version", [VERSION_TABLE]),
    (
        "the version v3.0.0.d",
        ["CREATE TABLE trials (id TEXT)", VERSION_TABLE, "INSERT INTO alembic_version VALUES ('v3.0.0.d')"],
    ),
    ("the version 0015, but no trials", [VERSION_TABLE, "INSERT INTO alembic_version VALUES ('0015')"]),
]


def execute(file: Path, statements: list[str]) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize(("what", "statements"), FOREIGN)
def test_a_database_of_something_else_is_refused_and_left_as_it_is(
    tmp_path: Path, what: str, statements: list[str]
) -> None:
    file = tmp_path / "other.db"
    execute(file, statements)
    before = file.read_bytes()
    with pytest.raises(
        StoreError, match=f"other.db is not a Longwave store: it has {what}. Name another with --store.$"
    ):
        Database(f"sqlite:///{file}")
    assert file.read_bytes() == before and list(tmp_path.glob("*")) == [file]


def test_a_foreign_postgresql_database_is_refused(postgres: Callable[[], str]) -> None:
    engine = sa.create_engine(url := postgres())
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE notes (text TEXT)")
    with pytest.raises(StoreError, match="is not a Longwave store: it has the table notes"):
        Database(url)
    assert sa.inspect(engine).get_table_names() == ["notes"]
    engine.dispose()


REFUSED = {
    "9999": "has schema 9999, newer than this Longwave knows. Upgrade longwave.$",
    NEXT: f"has schema {NEXT}, newer than this Longwave knows. Upgrade longwave.$",
    "0011": "has schema 0011, which no release created. Import its bundle or edition into a new store: longwave",
    "0001": "has schema 0001, which no release created. Import its bundle or edition into a new store: longwave",
}


@pytest.mark.parametrize("version", REFUSED)
def test_a_newer_store_and_one_of_before_the_first_release_are_refused_and_left_as_they_are(
    tmp_path: Path, version: str
) -> None:
    file = tmp_path / "other.db"
    Database(f"sqlite:///{file}").close()
    execute(file, [f"UPDATE alembic_version SET version_num = '{version}'"])
    before = file.read_bytes()
    for read_only in (False, True):
        with pytest.raises(StoreError, match=REFUSED[version]) as caught:
            Database(f"sqlite:///{file}", read_only=read_only)
        assert "\n" not in str(caught.value) and file.read_bytes() == before


def test_the_versions_are_those_of_the_oldest_and_the_newest_migration() -> None:
    scripts = ScriptDirectory(str(upgrade.MIGRATIONS))
    assert (scripts.get_base(), scripts.get_current_head()) == (BASELINE, HEAD)


def test_the_migrations_give_the_tables_that_the_code_declares(any_store_url: str) -> None:
    with Database(any_store_url) as database:
        with database.reading() as connection:
            # Alembic misreads an empty text as SQLite's default.
            options = {"compare_type": True, "compare_server_default": connection.dialect.name == "postgresql"}
            assert compare_metadata(MigrationContext.configure(connection, opts=options), Base.metadata) == []
        with pytest.raises(StoreError, match=r"(?i)foreign key"), database.transaction() as connection:
            connection.execute(sa.insert(CurveRow).values(trial="none", epoch=1, loss=0, valid=0, seconds=0, at=0))


def test_a_store_that_is_up_to_date_is_opened_without_alembic(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['alembic'] = None; from longwave.platform.storage.database import Database\n"
        f"Database('sqlite:///{tmp_path}/store.db').close()"
    )
    Database(f"sqlite:///{tmp_path}/store.db").close()
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


@pytest.fixture
def older(any_store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Rows]:
    """A store of this version, and its rows, where Longwave is of a later one from now on."""
    with Store(any_store_url) as store:
        recorded_store(store, 4)
    before = read_rows(any_store_url)
    with_next_migration(tmp_path / "migrations", change=monkeypatch.setattr)
    return any_store_url, before


def test_an_older_store_is_upgraded_and_keeps_its_rows_and_a_copy(older: tuple[str, Rows]) -> None:
    url, before = older
    with pytest.raises(StoreError, match=r"has an older format\. Upgrade it with: longwave doctor$"):
        Database(url, read_only=True)
    assert read_rows(url) == before
    with Store(url) as store, store.reading() as connection:
        assert store.count() == {"trials": 4, "epochs": 2 * 8 + 3}
        assert set(connection.execute(sa.text("SELECT tokens FROM trials")).scalars()) == {7}
    after = read_rows(url)
    assert after.pop("alembic_version") == [f"('{NEXT}',)"]
    assert {name: rows for name, rows in after.items() if name != "trials"} == {
        name: rows for name, rows in before.items() if name not in ("trials", "alembic_version")
    }
    assert [re.sub(r", 7\)$", ")", row) for row in after["trials"]] == before["trials"]
    if url.startswith("sqlite"):
        [copy] = Path(url.removeprefix("sqlite:///")).parent.glob(f"*.before-{NEXT}.db")
        assert read_rows(f"sqlite:///{copy}") == before
    else:
        assert read_rows(url, f"longwave_before_{NEXT}") == before


def test_an_upgraded_postgresql_store_keeps_its_json_and_from_then_on_also_the_order_of_keys(
    postgres: Callable[[], str],
) -> None:
    engine = sa.create_engine(url := postgres())
    config = Config()
    config.set_main_option("script_location", str(upgrade.MIGRATIONS))
    config.set_main_option("path_separator", "os")
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0015")
        add = "INSERT INTO sweeps (name, content, created) VALUES"
        connection.exec_driver_sql(f"""{add} ('old', '{{"b": 1.5, "a": [null]}}', now())""")
    engine.dispose()
    with Store(url) as store:
        assert store.sweep("old").content == {"b": 1.5, "a": [None]} and store.sweep("old").plan is None
        store.add_sweep("new", {"b": 1, "a": 1})
        assert list(store.sweep("new").content) == ["b", "a"]
        with store.reading() as connection:
            binary = "SELECT table_name || '.' || column_name FROM information_schema.columns WHERE data_type = 'jsonb'"
            assert connection.scalars(sa.text(f"{binary} AND table_schema = 'public'")).all() == []


def test_a_copy_from_before_the_upgrade_is_kept_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Database(f"sqlite:///{tmp_path}/store.db").close()
    copy = tmp_path / f"store.before-{NEXT}.db"
    copy.write_text("kept")
    with_next_migration(tmp_path / "migrations", change=monkeypatch.setattr)
    Database(f"sqlite:///{tmp_path}/store.db").close()
    assert copy.read_text() == "kept"


def test_a_failed_upgrade_leaves_the_store_as_it_was(
    older: tuple[str, Rows], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, before = older
    with_next_migration(tmp_path / "broken", "INSERT INTO absent VALUES (1)", monkeypatch.setattr)
    with pytest.raises(StoreError, match=f"cannot be upgraded to schema {NEXT}, and is unchanged.*absent") as caught:
        Database(url)
    assert "\n" not in str(caught.value) and read_rows(url) == before
    if url.startswith("sqlite"):
        assert "A copy of it is at " in str(caught.value)
    else:
        assert read_rows(url, f"longwave_before_{NEXT}") == {}


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
