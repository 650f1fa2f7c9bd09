"""The files of a published edition against its board.json: what was edited is named, its manifest made anew or not."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from editions import sign
from rich.console import Console

from longwave.platform.cli.main import main
from longwave.platform.editions.derived import edited
from longwave.platform.editions.publish import publish, received
from longwave.platform.editions.results import unlike
from longwave.platform.storage.store import Store
from longwave.platform.sweeps import driver
from longwave.platform.sweeps.config import check_sweep
from longwave.platform.sweeps.workers import Workers

SWEEP = {
    "name": "tiny", "task": "adding", "variant": "N=20", "models": ["lem", "gru"], "trials": 2, "retrain": 5,
    "hidden": 8, "batch": 10, "steps": 5, "epochs": 4,
}  # fmt: skip


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with one row each of LEM and GRU, of five retrainings."""
    folder = tmp_path_factory.mktemp("swept")
    with Store(f"sqlite:///{folder}/store.db") as store:
        workers = Workers(1, folder, here=True)
        driver.start(check_sweep(SWEEP, "tiny.toml"), store, workers, None, Console(file=io.StringIO()))
    return f"sqlite:///{folder}/store.db"


@pytest.fixture(scope="module")
def editions(swept: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first and the second edition of that store."""
    place = tmp_path_factory.mktemp("editions")
    with Store(swept) as store:
        publish(place / "zero", store, "Ours", "c")
        publish(place / "one", store, "Ours", "c", place / "zero")
    return place


@pytest.fixture
def folder(editions: Path, tmp_path: Path) -> Path:
    """A copy of the second, to be changed at will, with the first beside it."""
    for name in ("zero", "one"):
        shutil.copytree(editions / name, tmp_path / name, copy_function=shutil.copyfile)
    return tmp_path / "one"


def said(folder: Path, commit: str = "d") -> list[tuple[str, str]]:
    """Return severity and message of what is said of a signed edition whose rows are right."""
    sign(folder)
    made, file = received(folder)
    assert list(unlike(made, file)) == []
    return [(found.severity, found.message) for found in edited(folder, made, file, commit)]


def text(name: str, old: str, new: str) -> Callable[[Path], None]:
    """Return what replaces a text in a file."""

    def change(folder: Path) -> None:
        told = (folder / name).read_text(encoding="utf-8")
        assert old in told
        (folder / name).write_text(told.replace(old, new, 1), encoding="utf-8")

    return change


def table(name: str, column: str, value: object) -> Callable[[Path], None]:
    """Return what writes a value into the first line of a table."""

    def change(folder: Path) -> None:
        told = pd.read_parquet(folder / name)
        told[column] = [value, *told[column].tolist()[1:]] if column in told else value
        told.to_parquet(folder / name, index=False)

    return change


def a_row_more(folder: Path) -> None:
    told = pd.read_parquet(folder / "rows.parquet")
    pd.concat([told, told.head(1)]).to_parquet(folder / "rows.parquet", index=False)


def no_table(folder: Path) -> None:
    (folder / "trials.parquet").write_bytes(b"PAR1")


EDITED: tuple[tuple[Callable[[Path], None], str], ...] = (
    (text("index.html", '"rank_low":1', '"rank_low":2'), "rank_low than its board.json"),
    (text("index.html", '"median":"0.', '"median":"0.00'), "index.html shows another rows."),
    (text("index.html", '"counts":{"boards":1', '"counts":{"boards":9'), "index.html shows another counts.boards"),
    (text("index.html", 'id="data">', 'id="data">[] '), "cannot be read"),
    (text("board-1-curves.svg", '<path d="M0,', '<path d="M0,1'), "board-1-curves.svg shows other curves than its"),
    (text("board-1-medians.svg", ">GRU<", ">GRO<"), "board-1-medians.svg shows other models or numbers than board"),
    (text("index.html", "Best median of", "Surely the best of"), "index.html shows another boards.0.answer"),
    (table("rows.parquet", "median", 1e-4), "rows.parquet has another median than board.json: it was edited."),
    (table("rows.parquet", "verification", "best"), "rows.parquet has another verification than board.json"),
    (table("rows.parquet", "prize", 1), "rows.parquet has a column 'prize' of its own: it was edited."),
    (table("trials.parquet", "test", 1e-4), "trials.parquet has another test than board.json: it was edited."),
    (a_row_more, "rows.parquet has 4 rows, board.json gives 3."),
    (no_table, "trials.parquet cannot be read"),
    (text("CHANGES.md", "# Ours", "# We won"), "CHANGES.md is not what its board.json gives: it was edited."),
    (text("changes.json", '"previous": "', '"previous": "0'), "index.html shows another previous than its board.json"),
    (text("board.json", '"boards": 1', '"boards": 9'), "board.json tells another counts.boards than its rows give"),
)


def test_an_honest_edition_passes_without_a_word(folder: Path) -> None:
    assert said(folder) == []


@pytest.mark.parametrize(("change", "message"), EDITED, ids=[case[1][:60] for case in EDITED])
def test_an_edited_file_is_named_though_the_manifest_was_hashed_anew(
    change: Callable[[Path], None], message: str, folder: Path
) -> None:
    change(folder)
    found = said(folder)
    assert found and found[0][0] == "reject" and any(message in line for _, line in found), found
    assert all("\n" not in line for _, line in found)


def test_a_figure_whose_lines_alone_differ_is_noted_for_another_library_may_have_drawn_it(folder: Path) -> None:
    text("board-1-medians.svg", 'stroke-width="2"', 'stroke-width="3"')(folder)
    [(severity, message)] = said(folder)
    assert (severity, message.partition(" is drawn")[0]) == ("note", "board-1-medians.svg")


def test_a_page_of_other_code_is_noted_and_one_of_this_code_is_flagged(folder: Path) -> None:
    text("index.html", "</h1>", "</h1><p>Ours is best.</p>")(folder)
    [(severity, message)] = said(folder)
    assert severity == "note" and "unlike the one made here; it was written by commit c, here is d" in message
    [(severity, message)] = said(folder, "c")
    assert severity == "flag" and message.endswith("it was written by this code.")
    text("index.html", '"rank_low":1', '"rank_low":2')(folder)
    assert said(folder)[0][0] == "reject", "its values are compared whatever code wrote it"


def test_the_command_rejects_an_edition_whose_table_was_edited(
    folder: Path, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    table("rows.parquet", "median", 1e-4)(folder)
    sign(folder)
    assert main(["import", str(folder), "--store", store.url]) == 2
    assert "reject: edition: rows.parquet has another median than board.json" in capsys.readouterr().err
    assert store.tasks() == []
