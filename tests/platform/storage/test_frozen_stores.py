"""A store that nobody can write to is read where it is, and a write says where to take it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from recorded import points_of, recorded_store

from longwave.platform.cli.main import main
from longwave.platform.errors import StoreError
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.exclusive import exclusively
from longwave.platform.storage.integrity import find_damage_at
from longwave.platform.storage.store import Store

BeNobody = Callable[[], AbstractContextManager[None]]
ADVICE = "Copy it, with its -wal file if there is one, to a folder that you can write to."


@pytest.fixture
def trials(nobodys_folder: Path) -> list[TrialConfig]:
    """The trials of a store in the folder, which nobody can write to."""
    with Store(f"sqlite:///{nobodys_folder}/store.db") as store:
        trials = recorded_store(store, 4)
    for file in nobodys_folder.iterdir():
        file.chmod(0o444)
    nobodys_folder.chmod(0o555)
    return trials


@pytest.mark.parametrize("read_only", [True, False])
def test_a_store_in_a_folder_that_nobody_can_write_to_is_read_there(
    nobodys_folder: Path, be_nobody: BeNobody, trials: list[TrialConfig], read_only: bool
) -> None:
    files = {file.name for file in nobodys_folder.iterdir()}
    with be_nobody(), Store(f"sqlite:///{nobodys_folder}/store.db", False, read_only) as store:
        assert [stored.config for stored in store.trials("one")] == trials and len(read_board(store)) > 0
        with pytest.raises(StoreError, match=f"readonly database. {ADVICE}$"):
            store.write(points_of(trials[-1], 2), [])
    with be_nobody():
        assert find_damage_at(f"sqlite:///{nobodys_folder}/store.db") == []
    assert {file.name for file in nobodys_folder.iterdir()} == files


def test_commands_read_a_store_that_nobody_can_write_to(
    nobodys_folder: Path, be_nobody: BeNobody, trials: list[TrialConfig], capsys: pytest.CaptureFixture[str]
) -> None:
    board = ["board", "--store", f"sqlite:///{nobodys_folder}/store.db"]
    assert main(board) == 0  # also imports modules that this user may not read
    expected = capsys.readouterr().out
    with be_nobody():
        assert main(board) == 0
    assert capsys.readouterr().out == expected


def test_a_store_that_can_be_written_to_again_is_read_and_written_as_it_is_by_then(
    nobodys_folder: Path, be_nobody: BeNobody, trials: list[TrialConfig]
) -> None:
    trial = trials[-1]
    with be_nobody(), Store(f"sqlite:///{nobodys_folder}/store.db", create=False) as store:
        assert store.curves([trial.id]) == []
    nobodys_folder.chmod(0o777)
    for file in nobodys_folder.iterdir():
        file.chmod(0o666)
    with Store(store.url) as owner:
        owner.write(points_of(trial, 2), [])
    with be_nobody():
        assert store.curves([trial.id]) == points_of(trial, 2)
        store.write(points_of(trial, 3), [])
        assert store.curves([trial.id]) == points_of(trial, 3)
        store.close()


def test_a_log_that_nobody_can_read_without_writing_is_named_with_what_to_do(
    nobodys_folder: Path, be_nobody: BeNobody, tmp_path: Path
) -> None:
    with Store(f"sqlite:///{tmp_path}/store.db") as store:
        recorded_store(store, 4)
        for name in ("store.db", "store.db-wal"):
            shutil.copy(tmp_path / name, nobodys_folder / name)
            (nobodys_folder / name).chmod(0o444)
    nobodys_folder.chmod(0o555)
    with be_nobody(), pytest.raises(StoreError, match=f"unable to open database file. {ADVICE}$"):
        Store(f"sqlite:///{nobodys_folder}/store.db", read_only=True)


def test_a_lock_that_cannot_be_made_beside_a_store_is_one_line(
    nobodys_folder: Path, be_nobody: BeNobody, trials: list[TrialConfig]
) -> None:
    with (
        be_nobody(),
        Store(f"sqlite:///{nobodys_folder}/store.db", create=False) as store,
        pytest.raises(StoreError, match="cannot be used: .*Permission denied"),
        exclusively(store, "sending demo to W&B"),
    ):
        pass
