"""The edition in the repository: whoever imports it has its boards, and what lies beside it is of it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pytest
from edition.folders import EditionFolders
from tree import ROOT

from longwave.platform.boards.trust import shipped
from longwave.platform.editions.edition import Edition
from longwave.platform.editions.folder import FOLDER, find_results
from longwave.platform.editions.shipped import read_shipped, rows_of
from longwave.platform.exchange import bundle
from longwave.platform.exchange.audit import audit
from longwave.platform.exchange.bundle import File
from longwave.platform.exchange.parts import join

pytestmark = pytest.mark.integration

FOLDERS = EditionFolders()
MOST = 20_000_000
"""Bytes of the edition, as its first issue asked."""
OF_A_SWEEP = 1_000_000
"""Bytes of a bundle of a finished sweep."""
UNFINISHED = 1_000_000
"""Bytes of a sweep that is being trained."""
EDITIONS = [
    EditionFolders.of_edition(int(path.name.removeprefix("edition"))) for path in FOLDERS.sweeps.parent.glob("edition*")
]
"""All editions in the repository."""


@pytest.fixture(scope="module")
def files() -> list[File]:
    """Its bundles; read once."""
    return bundle.read_together(find_results(FOLDERS.edition))


@pytest.mark.parametrize("folders", EDITIONS, ids=lambda folders: folders.edition.name)
def test_whoever_imports_an_edition_has_the_same_boards_to_the_bit(
    folders: EditionFolders, import_edition: Callable[[int], Edition]
) -> None:
    manifest = json.loads((folders.edition / "manifest.json").read_text())
    assert import_edition(folders.number).sha256 == manifest["sha256"]


def test_what_is_drawn_from_the_bundles_is_not_committed() -> None:
    names = subprocess.run(["git", "ls-files", "."], cwd=FOLDERS.edition, capture_output=True, text=True, check=True)
    assert {name.split("/")[0] for name in names.stdout.split()} == {"manifest.json", "REPORT.md", FOLDER}


@pytest.mark.slow  # makes the data of all tasks and draws all searches anew: minutes
def test_the_edition_passes_every_check_as_if_nobody_trusted_it(files: list[File]) -> None:
    assert [f.message for f in audit(join(files), joined=files) if f.severity == "reject"] == []


def test_what_ships_as_trusted_are_the_bundles_in_the_repository(files: list[File]) -> None:
    others = [bundle.read(path) for folders in EDITIONS if folders != FOLDERS for path in folders.results]
    assert {file.name for file in (*files, *others)} == shipped().keys(), "write all by: make edition"
    for folders in EDITIONS:
        assert find_results(folders.edition) == folders.results, f"publish by: {folders.command} WORDS=--publish"


def test_each_trial_lies_in_one_bundle_that_its_hash_names_and_files_are_small(files: list[File]) -> None:
    paths = [path for folders in EDITIONS for path in folders.results]
    known = dict(zip(FOLDERS.results, files, strict=True))
    trials = []
    for path in paths:
        file = known.get(path) or bundle.read(path)
        assert path.name.endswith(f"-{file.name[:12]}{bundle.ENDING}") and path.stat().st_size <= OF_A_SWEEP
        trials += [entry.config.id for entry in file.content.trials]
    assert len(set(trials)) == len(trials)
    for folders in EDITIONS:
        assert all(path.stat().st_size <= UNFINISHED for path in folders.unfinished)
        assert sum(path.stat().st_size for path in folders.edition.rglob("*") if path.is_file()) <= MOST


@pytest.mark.parametrize("folders", EDITIONS, ids=lambda folders: folders.edition.name)
def test_no_bundle_that_was_committed_was_written_anew(folders: EditionFolders) -> None:
    folder = (folders.edition / "results").relative_to(ROOT).as_posix()
    command = ["git", "log", "--diff-filter=MD", "--no-renames", "--format=", "--name-only", "--", folder]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.split() == []


@pytest.mark.parametrize("folders", EDITIONS, ids=lambda folders: folders.edition.name)
def test_the_report_beside_an_edition_is_of_it_and_holds_what_people_wrote(
    folders: EditionFolders, import_edition: Callable[[int], Edition]
) -> None:
    made, report = import_edition(folders.number), (folders.edition / "REPORT.md").read_text(encoding="utf-8")
    assert f"Edition `{made.id}`" in report
    assert folders.surprises.read_text(encoding="utf-8").strip() in report
    keys = {row["key"] for row in made.rows}
    linked = {part.split(")")[0] for part in report.split("index.html#row=")[1:]}
    retrained = {row["key"] for row in made.rows if row["kind"] == "retrained"}
    assert linked <= keys and retrained <= linked


def test_the_editions_in_the_package_are_the_published_ones(import_edition: Callable[[int], Edition]) -> None:
    editions = read_shipped()
    assert [*editions] == sorted((folders.number for folders in EDITIONS), reverse=True)
    for number, edition in editions.items():
        assert edition.sha256 == import_edition(number).sha256
        assert {"LEM", "majority"} <= {row.label for row in rows_of(edition) if row.task == "parity"}
