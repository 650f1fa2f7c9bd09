"""``make edition``: what is finished is kept as bundles, what is interrupted goes on, nothing is trained twice."""

from __future__ import annotations

import io
import json
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import living_board
import pytest
from boards import retrained
from drawn_rows import draw_rows
from living_board import ahead, edges, expected, keep_finished, keep_unfinished, second_search, widen
from living_place import LivingBoard, trust_bundle
from rich.console import Console
from small_sweeps import small
from tree import ROOT

from longwave.platform.boards.board import rows as board_rows
from longwave.platform.boards.trust import shipped
from longwave.platform.editions.folder import find_results
from longwave.platform.editions.publish import read as read_edition
from longwave.platform.exchange import bundle
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import read_sweep
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.trials import first_trials
from longwave.platform.sweeps.run import driver

SWEEP = """# Expected: 0.1 hours of two cores.
name = "tiny-{name}"
task = "{task}"
{beside}
models = ["lem", "gru"]
trials = 4
retrain = 2
seed = 0
hidden = 8
epochs = {epochs}

[halving]
eta = 2
first = 4

[space.gru]
lr = {{ low = 0.0100, high = 0.0101 }}
"""
WIDER = """
[wider]
trials = 2

[wider.space.gru]
lr = { low = 0.001, high = 0.1 }
"""
COMMAND = """
import sys; from pathlib import Path; from living_board import main; from living_place import LivingBoard
main(sys.argv[6:], LivingBoard(*map(Path, sys.argv[1:6])))
"""


@pytest.fixture
def board(tmp_path: Path) -> LivingBoard:
    """Return a board of two sweeps on two tasks, of which nothing is trained."""
    made = LivingBoard(*(tmp_path / name for name in ("sweeps", "board", "home", "trust.txt", "README.md")))
    made.sweeps.mkdir()
    made.readme.write_text("Ours:\n<!-- edition -->\n<!-- /edition -->\nThat is all.\n")
    made.trust.write_text(f"# hashes\n{'e' * 64} {'f' * 64}  # another\n", encoding="utf-8")
    adding = 'variant = "N=20"\nbatch = 10\nsteps = 20'
    for name, task, beside, epochs in (("a", "adding", adding, 400), ("b", "digits", "", 8)):
        text = SWEEP.format(name=name, task=task, beside=beside, epochs=epochs)
        (made.sweeps / f"{name}.toml").write_text(text)
    return made


def started(board: LivingBoard, *words: str) -> subprocess.Popen[str]:
    places = map(str, (board.sweeps, board.board, board.home, board.trust, board.readme))
    command = [sys.executable, "-c", COMMAND, *places, *words]
    return subprocess.Popen(command, cwd=ROOT / "tests/support", stdout=subprocess.PIPE, text=True)


def made(board: LivingBoard, *words: str) -> str:
    """Build the edition and return what was printed."""
    process = started(board, *words)
    told, _ = process.communicate()
    assert process.returncode == 0, told
    return told


def interrupted(board: LivingBoard, table: str, lines: int) -> None:
    """Begin to build the edition, and stop once a table of the store has so many lines."""
    process = started(board)
    while count(board, table) < lines:
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert process.returncode == 128 + signal.SIGTERM and not board.edition.exists()


def count(board: LivingBoard, table: str) -> int:
    """Return how many lines a table of the store has, or those of it that meet a condition; 0 without a store."""
    try:
        with sqlite3.connect(f"file:{board.home / 'longwave.db'}?mode=ro", uri=True) as store:
            return int(store.execute(f"select count(*) from {table}").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def trained(board: LivingBoard) -> set[str]:
    """Return the trials that the store's sweeps began."""
    with sqlite3.connect(f"file:{board.home / 'longwave.db'}?mode=ro", uri=True) as store:
        return {trial for (trial,) in store.execute("select trial from attempts")}


def rows(board: LivingBoard) -> list[dict[str, Any]]:
    return list(json.loads((board.edition / "board.json").read_text())["rows"])


def searched_again(board: LivingBoard) -> None:
    """Run a second search behind a sweep that is over, and see that it alone is trained."""
    (board.sweeps / "b-widened.toml").write_text(second_search(board.sweeps / "b.toml", WIDER))
    told = made(board, "b-widened")
    assert "b-widened: took" in told and len(trained(board)) == count(board, "attempts"), "nothing is trained twice"
    assert 28 <= count(board, "trials") <= 32, "two models' second searches, and retrainings of those who won in it"
    wide = [row for row in rows(board) if any(name.startswith("tiny-b-widened") for name in row["sweeps"])]
    assert len(wide) == 2 and all("then 2 trials over wider ranges for lr" in str(row["ways"]) for row in wide)


@pytest.mark.slow  # trains two sweeps on Ray and publishes twice, from processes of their own: minutes
def test_an_interrupted_edition_goes_on_and_a_fresh_checkout_trains_nothing_twice(
    board: LivingBoard, tmp_path: Path
) -> None:
    interrupted(board, "curves", 8)
    assert not board.unfinished, "no search is over"
    interrupted(board, "trials WHERE phase = 'retrain'", 1)
    [unfinished] = board.unfinished
    assert unfinished.name == "tiny-a.json.xz", "one file a sweep, to be replaced"
    kept = {e.config.id for e in bundle.read(unfinished).content.trials}
    assert len(kept) >= 4, "a search that is over"
    board = replace(board, home=tmp_path / "another machine")

    told = made(board)
    assert "2 sweeps, expected 0.2 h" in told and "a: took" in told and "b: took" in told
    results = {file.name: file.read_bytes() for file in board.results}
    assert [name.rpartition("-")[0] for name in results] == ["tiny-a", "tiny-b"]
    assert count(board, "trials") == 24, "each trial once, whatever was interrupted"
    assert not kept & trained(board) and not board.unfinished
    assert {row["task"] for row in read_edition(board.edition).rows} == {"adding", "digits"}
    assert find_results(board.edition) == board.results
    assert {*(bundle.read(file).name for file in board.results), "e" * 64} == shipped(board.trust).keys()

    other = replace(board, home=tmp_path / "elsewhere")
    before = rows(board)
    (board.board / "surprises.md").write_text("what people wrote\n")
    told = made(other)
    assert "trials imported" in told and count(other, "attempts") == 0, "nothing was trained"
    assert rows(board) == before and {file.name: file.read_bytes() for file in board.results} == results
    assert (board.edition / "REPORT.md").read_text().endswith("## What surprised\n\nwhat people wrote\n")
    shown = board.readme.read_text()
    assert shown.startswith("Ours:\n<!-- edition -->\n| median") and shown.endswith("<!-- /edition -->\nThat is all.\n")
    for name in ("LEM", "GRU"):
        [line] = [line for line in shown.splitlines() if line.startswith(f"| {name} |")]
        assert len(line.split("|")) == 5, "a board a column"
    assert not [row for row in before if row["kind"] == "reproduced" and row["untrusted"]]

    made(board, "--widen")
    assert {file.stem for file in board.files()} <= {"a", "a-widened", "b", "b-widened"}
    searched_again(board)
    assert results.items() < {file.name: file.read_bytes() for file in board.results}.items(), "none is written anew"


@pytest.mark.integration
def test_what_lies_in_a_finished_bundle_is_not_kept_as_unfinished_once_more(board: LivingBoard, here: Workers) -> None:
    board.home.mkdir()
    with Store(board.store) as store:
        driver.start_sweep(small(epochs=1, trials=1), store, here, None, Console(file=io.StringIO()))
    keep_unfinished(board, "tiny")
    assert [file.name for file in board.unfinished] == ["tiny.json.xz"] and not board.results
    keep_finished(board, "tiny")
    [finished] = board.results
    assert bundle.read(finished).name in shipped(board.trust) and not board.unfinished
    keep_unfinished(board, "tiny")
    keep_finished(board, "tiny")
    assert board.results == [finished] and not board.unfinished


@pytest.mark.integration
def test_what_is_unfinished_and_too_large_is_not_written_and_says_so(
    board: LivingBoard, here: Workers, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    board.home.mkdir()
    with Store(board.store) as store:
        driver.start_sweep(small(epochs=1, trials=1), store, here, None, Console(file=io.StringIO()))
    monkeypatch.setattr(living_board, "MOST", 100)
    keep_unfinished(board, "tiny")
    assert not board.unfinished and "bytes, 100 at most: it stays in .edition" in capsys.readouterr().out


def test_a_bundle_is_listed_once_and_others_stay(board: LivingBoard) -> None:
    for name in ("a" * 64, "b" * 64, "a" * 64):
        trust_bundle(board.trust, name, "c" * 64, "edition 1, adding")
    assert shipped(board.trust).keys() == {letter * 64 for letter in "eab"}
    assert board.trust.read_text().splitlines()[2:] == [f"{c * 64} {'c' * 64}  # edition 1, adding" for c in "ab"]
    assert board.trust.read_text().splitlines()[0] == "# hashes"


def test_sweeps_run_in_the_order_of_their_names_a_second_search_behind_its_first(board: LivingBoard) -> None:
    (board.sweeps / "a-widened.toml").write_text("")
    assert [file.stem for file in board.files()] == ["a", "a-widened", "b"]
    assert [file.stem for file in board.files(["b"])] == ["b"]


def test_a_second_search_is_the_first_file_with_a_name_of_its_own_and_wider_ranges(board: LivingBoard) -> None:
    file = board.sweeps / "a.toml"
    wide = file.with_stem("a-widened")
    wide.write_text(second_search(file, WIDER))
    before, found = read_sweep(file), read_sweep(wide)
    assert (found.name, found.wider and found.wider.trials, expected(wide)) == ("tiny-a-widened", 2, 0.05)
    assert found.model_copy(update={"name": before.name, "wider": None}) == before
    assert wide.read_text().startswith("# a.toml with a second search")


def test_what_a_second_search_waits_for_is_said(board: LivingBoard, capsys: pytest.CaptureFixture[str]) -> None:
    widen(board, board.sweeps / "a.toml")
    assert capsys.readouterr().out.startswith("a is not over in this store.")
    widen(board, board.sweeps / "a-widened.toml")
    assert not capsys.readouterr().out and not (board.sweeps / "a-widened.toml").exists()


@pytest.mark.integration
def test_edges_are_told_of_the_widest_search_alone(store: Store, here: Workers) -> None:
    def run(seed: int, **more: Any) -> set[float]:
        file = small(models=["gru"], trials=1, retrain=1, epochs=1, seed=seed, **more)
        driver.start_sweep(file, store, here, None, Console(file=io.StringIO()))
        return {edge.high for edge in edges(store)}

    drawn_at = (small(models=["gru"], trials=1, seed=seed) for seed in range(1000))
    seed = next(f.seed for f in drawn_at if first_trials(resolve(f))[0][0].params["lr"] > 0.0999)
    assert run(seed, name="first") == {0.1}
    ranges = {"gru": {"lr": {"low": 1e-5, "high": 1.0, "log": True}}}
    assert run(seed, name="second", wider={"trials": 1, "space": ranges}) <= {1.0}


def test_ahead_are_the_sweeps_that_no_row_comes_from_here_or_from_a_bundle(board: LivingBoard) -> None:
    found = board_rows([retrained("gru", [1.0], sweeps=("tiny-a@01ab", "other")), retrained("lem", [1.0])], [])
    assert ahead(board, found) == {"b": expected(board.sweeps / "b.toml")}
    assert ahead(board, board_rows([retrained("gru", [1.0], sweeps=("tiny-a", "tiny-b"))], [])) == {}


@pytest.mark.integration
def test_nothing_is_widened_that_is_not_over(board: LivingBoard) -> None:
    for file in board.files():
        widen(board, file)
    assert [file.stem for file in board.files()] == ["a", "b"]


def test_rows_are_drawn_by_the_seed_alone_each_once_among_those_that_can_be_compared() -> None:
    usual = {"kind": "reproduced", "n": 10, "superseded": ""}
    known = [{**usual, "key": f"{k:02}"} for k in range(20)]
    out = [{**usual, "key": "z", **changed} for changed in ({"kind": "trivial"}, {"n": 1}, {"superseded": "an older"})]
    found = draw_rows(known + out, 8, 7)
    assert found == draw_rows([*out, *reversed(known)], 8, 7) != draw_rows(known, 8, 8)
    assert len({row["key"] for row in found}) == 8 and all(row in known for row in found)
    assert draw_rows(known + out, 100, 7) == draw_rows(known, 20, 7) and draw_rows(out, 8, 7) == []
