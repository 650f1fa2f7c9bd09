"""``longwave import`` makes a store only where it imports something."""

from __future__ import annotations

import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
from database_rows import read_rows
from tree import ROOT

from longwave.platform.cli.main import main
from longwave.platform.exchange.bundle import read, write
from longwave.platform.storage.store import Store

KEPT = ROOT / "tests/platform/exchange/kept/0.2.0.json.xz"
OLDER = ROOT / "tests/platform/storage/kept/0.2.0.sqlite.xz"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder for a store."""
    (tmp_path / "results").mkdir()
    return tmp_path / "results"


def test_a_dry_run_makes_no_store(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", str(KEPT), "--dry-run", "--store", f"sqlite:///{folder}/new.db"]) == 0
    assert "Nothing was imported." in capsys.readouterr().out
    assert list(folder.iterdir()) == []


def test_a_dry_run_leaves_an_empty_server_empty(
    postgres: Callable[[], str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", str(KEPT), "--dry-run", "--store", (url := postgres())]) == 0
    assert "Nothing was imported." in capsys.readouterr().out
    assert read_rows(url) == {}


def test_a_dry_run_does_not_upgrade_an_older_store(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, older = folder / "old.db", lzma.decompress(OLDER.read_bytes())
    file.write_bytes(older)
    assert main(["import", str(KEPT), "--dry-run", "--store", f"sqlite:///{file}"]) == 2
    assert "has an older format. Upgrade it with: longwave doctor" in capsys.readouterr().err
    assert [*folder.iterdir()] == [file] and file.read_bytes() == older


def test_a_rejected_bundle_makes_no_store(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(read(KEPT).model_copy(update={"name": "0" * 64}), folder.parent / "renamed")
    assert main(["import", str(folder.parent / "renamed"), "--store", f"sqlite:///{folder}/new.db"]) == 2
    assert "is rejected; nothing was imported." in capsys.readouterr().err
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("place", ["{folder}", "~/results"])
def test_a_bundle_makes_the_store_that_it_is_imported_into(
    place: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(folder.parent))
    url = f"sqlite:///{place.format(folder=folder)}/new.db"
    assert main(["import", str(KEPT), "--store", url]) == 0 == main(["import", str(KEPT), "--dry-run", "--store", url])
    assert "8 trials imported, 0 already known" in capsys.readouterr().out
    with Store(f"sqlite:///{folder}/new.db", create=False) as store:
        assert store.count()["trials"] == 8


def test_a_store_in_a_missing_folder_is_refused_before_any_bundle_is_read(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bundle").write_bytes(b"no bundle")
    assert main(["import", f"{folder}/bundle", "--store", f"sqlite:///{folder}/none/new.db"]) == 2
    assert capsys.readouterr().err == (
        f"longwave: There is no folder {folder}/none. Create it, or name another store.\n"
    )


def test_more_replays_than_trials_are_refused_before_any_check(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", str(KEPT), "--replay", "1000000", "--store", f"sqlite:///{folder}/new.db"]) == 2
    line = "longwave: --replay must be at most 8, the trials that can be trained again, got 1000000.\n"
    assert (*capsys.readouterr(),) == ("", line) and list(folder.iterdir()) == []
