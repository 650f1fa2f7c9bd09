"""The edition in the repository: whoever imports it has its boards, and what lies beside it is of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from living_place import LivingBoard
from tree import ROOT

from longwave.platform.boards.trust import shipped
from longwave.platform.cli.main import main
from longwave.platform.editions.edition import Edition, edition
from longwave.platform.editions.folder import find_results
from longwave.platform.editions.publish import read
from longwave.platform.exchange import bundle
from longwave.platform.exchange.audit import audit
from longwave.platform.exchange.bundle import File
from longwave.platform.exchange.parts import join
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store

pytestmark = pytest.mark.integration

BOARD = LivingBoard()
MOST = 20_000_000
"""Bytes of the edition, as its first issue asked."""
OF_A_SWEEP = 1_000_000
"""Bytes of a bundle of a finished sweep."""
UNFINISHED = 2_000_000
"""Bytes of a sweep that is being trained."""


@pytest.fixture(scope="module")
def shipped_edition() -> Edition:
    """The edition in the repository; read once."""
    return read(BOARD.edition)


@pytest.fixture(scope="module")
def files() -> list[File]:
    """Its bundles; read once."""
    return bundle.read_together(find_results(BOARD.edition))


def test_whoever_imports_the_edition_has_the_same_boards_to_the_bit(
    shipped_edition: Edition, files: list[File], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made, url = shipped_edition, f"sqlite:///{tmp_path}/store.db"
    assert main(["import", str(BOARD.edition), "--store", url]) == 0
    said = capsys.readouterr().out
    assert f"{sum(len(file.content.trials) for file in files)} trials imported, 0 known before" in said
    with Store(url) as store:
        rows = read_board(store)
        again = edition(rows, store.retrainings(), made.title, made.created, made.commit)
    assert again.sha256 == made.sha256


@pytest.mark.slow  # makes the data of all tasks and draws all searches anew: minutes
def test_the_edition_passes_every_check_as_if_nobody_trusted_it(files: list[File]) -> None:
    assert [f.message for f in audit(join(files), joined=files) if f.severity == "reject"] == []


def test_what_ships_as_trusted_are_the_bundles_in_the_repository(files: list[File]) -> None:
    assert {file.name for file in files} == shipped().keys(), "write all by: make edition"
    assert find_results(BOARD.edition) == BOARD.results, "publish by: make edition WORDS=--publish"


def test_each_trial_lies_in_one_bundle_that_its_hash_names_and_files_are_small(files: list[File]) -> None:
    trials = [entry.config.id for file in files for entry in file.content.trials]
    assert len(set(trials)) == len(trials)
    for path, file in zip(BOARD.results, files, strict=True):
        assert path.name.endswith(f"-{file.name[:12]}{bundle.ENDING}") and path.stat().st_size <= OF_A_SWEEP
    assert all(path.stat().st_size <= UNFINISHED for path in BOARD.unfinished)
    assert sum(path.stat().st_size for path in BOARD.edition.rglob("*") if path.is_file()) <= MOST


def test_no_bundle_that_was_committed_was_written_anew() -> None:
    folder = (BOARD.edition / "results").relative_to(ROOT).as_posix()
    command = ["git", "log", "--diff-filter=MD", "--no-renames", "--format=", "--name-only", "--", folder]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.split() == []


def test_the_report_beside_the_edition_is_of_it_and_holds_what_people_wrote(shipped_edition: Edition) -> None:
    report = (BOARD.edition / "REPORT.md").read_text(encoding="utf-8")
    assert f"Edition `{shipped_edition.id}`" in report
    assert (BOARD.board / "surprises.md").read_text(encoding="utf-8").strip() in report
    keys = {row["key"] for row in shipped_edition.rows}
    linked = {part.split(")")[0] for part in report.split("index.html#row=")[1:]}
    reproduced = {row["key"] for row in shipped_edition.rows if row["kind"] == "reproduced"}
    assert linked <= keys and reproduced <= linked
