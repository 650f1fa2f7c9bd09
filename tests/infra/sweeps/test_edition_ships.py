"""The edition in the repository: whoever imports it has its boards, and what lies beside it is of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from living_place import LivingBoard

from longwave.platform.boards.trust import shipped
from longwave.platform.cli.main import main
from longwave.platform.editions.edition import Edition, edition
from longwave.platform.editions.publish import received
from longwave.platform.exchange import bundle
from longwave.platform.exchange.bundle import File
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store

pytestmark = pytest.mark.integration

BOARD = LivingBoard()
MOST = 20_000_000
"""Bytes of the edition, as its first issue asked."""


@pytest.fixture(scope="module")
def shipped_edition() -> tuple[Edition, File]:
    """The edition in the repository, and its results; read once."""
    return received(BOARD.edition)


@pytest.fixture(scope="module")
def finished() -> list[File]:
    """The bundles of all tables that are finished; read once."""
    return [bundle.read(file) for file in BOARD.partial]


def test_whoever_imports_the_edition_has_the_same_boards_to_the_bit(
    shipped_edition: tuple[Edition, File], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made, results = shipped_edition
    url = f"sqlite:///{tmp_path}/store.db"
    assert main(["import", str(BOARD.edition), "--store", url]) == 0
    said = capsys.readouterr().out
    assert f"{len(results.content.trials)} trials imported, 0 known before" in said
    with Store(url) as store:
        rows = read_board(store)
        again = edition(rows, store.retrainings(), made.title, made.created, made.commit)
    assert again.sha256 == made.sha256


def test_what_ships_as_trusted_is_what_lies_in_the_repository(
    shipped_edition: tuple[Edition, File], finished: list[File]
) -> None:
    made, results = shipped_edition
    held = {made.sha256, results.name, *(file.name for file in finished)}
    assert held == shipped(), "write all by: make edition"


def test_the_edition_is_small_and_made_of_all_finished_tables(
    shipped_edition: tuple[Edition, File], finished: list[File]
) -> None:
    _, results = shipped_edition
    assert sum(file.stat().st_size for file in BOARD.edition.iterdir()) <= MOST
    parts = {e.config.id for file in finished for e in file.content.trials}
    assert {e.config.id for e in results.content.trials} == parts


def test_the_report_beside_the_edition_is_of_it_and_holds_what_people_wrote(
    shipped_edition: tuple[Edition, File],
) -> None:
    made, _ = shipped_edition
    report = (BOARD.edition / "REPORT.md").read_text(encoding="utf-8")
    assert f"Edition `{made.id}`" in report
    assert (BOARD.board / "surprises.md").read_text(encoding="utf-8").strip() in report
    keys = {row["key"] for row in made.rows}
    linked = {part.split(")")[0] for part in report.split("index.html#row=")[1:]}
    assert linked <= keys and {row["key"] for row in made.rows if row["kind"] == "reproduced"} <= linked
