"""A store that is deleted, moved, replaced or dropped while it is in use is noticed, and what it held is kept."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from recorded import points_of, recorded_store

from longwave.files import own_folder
from longwave.platform.errors import StoreError
from longwave.platform.storage.leases import Leases
from longwave.platform.storage.store import Store

OpenStore = Callable[[str], Store]


def delete(file: Path) -> None:
    for path in file.parent.glob(f"{file.name}*"):
        path.unlink()


def delete_folder(file: Path) -> None:
    shutil.rmtree(file.parent)


def move_away(file: Path) -> None:
    file.rename(file.with_name("elsewhere"))


def replace(file: Path) -> None:
    delete(file)
    with Store(f"sqlite:///{file}"):
        pass


@pytest.mark.parametrize("lose", [delete, delete_folder, move_away, replace])
def test_all_that_a_lost_store_held_and_was_about_to_hold_is_saved_and_put_back_as_told(
    tmp_path: Path, lose: Callable[[Path], None]
) -> None:
    file = tmp_path / "of mine" / "store.db"
    file.parent.mkdir()
    with Store(f"sqlite:///{file}") as store:
        trials = recorded_store(store, 6)
        before = store.trials("one")
        lose(file)
        with pytest.raises(StoreError, match=r"^The store sqlite:///\S.*store.db was (deleted|replaced)") as caught:
            store.write(points_of(trials[-1], 5), [])
        with pytest.raises(StoreError, match=re.escape(str(caught.value))):
            store.tasks()
        assert "\n" not in str(caught.value)
    command = str(caught.value).rpartition(": ")[2]
    assert shlex.split(command)[-1] == str(file)
    if lose is replace:
        assert f"Move away what is at {file}" in str(caught.value)
        file.unlink()
    subprocess.run(command, shell=True, check=True)
    with Store(f"sqlite:///{file}", create=False) as again:
        assert again.trials("one") == before
        assert again.curves([trials[-1].id]) == points_of(trials[-1], 5)
    assert len(list(file.parent.glob("store.saved-*"))) == 0


def test_what_was_saved_before_is_never_written_over(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    for _ in range(2):
        with Store(f"sqlite:///{file}") as store:
            recorded_store(store, 4)
            delete(file)
            with pytest.raises(
                StoreError, match=r"Its contents were saved in \S+store.saved-[12].db. Put it back with: rm -f"
            ):
                store.tasks()
    assert sorted(path.name for path in tmp_path.glob("*saved-?.db")) == ["store.saved-1.db", "store.saved-2.db"]


def test_a_deleted_store_is_not_made_anew_behind_its_users_back(store: Store, tmp_path: Path) -> None:
    recorded_store(store, 4)
    delete(tmp_path / "store.db")
    store.engine.dispose()
    with pytest.raises(StoreError, match="was deleted or moved while it was in use. Nothing could be saved"):
        store.tasks()
    assert not (tmp_path / "store.db").exists()


@pytest.mark.parametrize("dropped", ["the database", "its tables", "its tables, and recreated"])
def test_a_dropped_postgresql_store_is_noticed_in_one_line(
    postgres: Callable[[], str], dropped: str, open_store: OpenStore
) -> None:
    url = postgres()
    store = open_store(url)
    trials = recorded_store(store, 4)
    admin = sa.create_engine(sa.make_url(url).set(database="postgres"), isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        name = sa.make_url(url).database
        if dropped == "the database":
            connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
        else:
            connection.exec_driver_sql(
                f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
            )
    admin.dispose()
    if dropped != "the database":
        inside = sa.create_engine(url)
        with inside.begin() as connection:
            connection.exec_driver_sql("DROP SCHEMA public CASCADE")
            connection.exec_driver_sql("CREATE SCHEMA public")
        inside.dispose()
    if dropped == "its tables, and recreated":
        open_store(url)
    with pytest.raises(StoreError, match="does not exist|was dropped or recreated while it was in use") as caught:
        store.with_retry(lambda: store.assign({"p": [trials[-1]]}))
    assert "\n" not in str(caught.value)


def test_a_store_that_is_emptied_while_it_is_in_use_says_what_to_do(store: Store, tmp_path: Path) -> None:
    recorded_store(store, 4)
    leases = Leases(store, "one").__enter__()
    store.engine.dispose()
    os.truncate(tmp_path / "store.db", 0)
    advice = "lost its tables .*: no such table: .*. Put back a copy of it, or name another one: --store URL"
    for use in (lambda: leases.beat(""), lambda: leases.take(["a"]), store.tasks):
        with pytest.raises(StoreError, match=advice) as caught:
            use()
        assert "\n" not in str(caught.value)


def test_stores_and_their_folders_are_their_owners_alone(tmp_path: Path) -> None:
    def mode(path: Path) -> int:
        return stat.S_IMODE(path.stat().st_mode)

    folder = own_folder(tmp_path / "a" / "b")
    with Store(f"sqlite:///{folder}/store.db") as store:
        recorded_store(store, 4)
        assert {path.name: mode(path) for path in folder.glob("store.db*")} == dict.fromkeys(
            ("store.db", "store.db-wal", "store.db-shm", "store.db.lock"), 0o600
        )
    assert mode(folder) == mode(folder.parent) == 0o700
    (folder / "store.db").chmod(0o640)
    with Store(f"sqlite:///{folder}/store.db"):
        assert mode(folder / "store.db") == 0o640
