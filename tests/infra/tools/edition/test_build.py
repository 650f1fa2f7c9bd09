"""``make edition``: what is finished is kept as bundles, what is interrupted goes on, nothing is trained twice."""

from __future__ import annotations

import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from edition import bundles
from edition.__main__ import main
from edition.bundles import continued_by, import_missing, keep_finished, keep_unfinished
from edition.drawn_rows import draw_rows
from edition.folders import EditionFolders, trust_bundle
from edition.pages import last_searches
from edition.sweeps import list_missing, list_sweeps
from rich.console import Console
from small_sweeps import small
from tree import PROGRAMS_PATH

from longwave.platform.boards.trust import shipped
from longwave.platform.editions.folder import find_results
from longwave.platform.editions.publish import read as read_edition
from longwave.platform.exchange import bundle
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.plan.range_edges import find_edges
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.trials import first_trials
from longwave.platform.sweeps.run import driver

SWEEP = """# Expected: 0.5 hours of two cores, 0.4 for gru.
name = "tiny-{name}"
task = "{task}"
{more}
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
COMMAND = """
import sys; from pathlib import Path; from edition.__main__ import main; from edition.folders import EditionFolders
main(sys.argv[9:], EditionFolders(*map(Path, sys.argv[1:8]), number=int(sys.argv[8])))
"""


@pytest.fixture
def folders(tmp_path: Path) -> EditionFolders:
    """Return folders with two sweeps on two tasks, of which nothing is trained."""
    names = ("sweeps", "board", "home", "trust.txt", "README.md", "edition.json.xz", "submissions")
    made = EditionFolders(*(tmp_path / name for name in names))
    made.sweeps.mkdir()
    made.readme.write_text("Ours:\n<!-- edition 1 -->\n<!-- /edition 1 -->\nheat-map-1.svg\n")
    made.trust.write_text(f"# hashes\n{'e' * 64} {'f' * 64}  # another\n", encoding="utf-8")
    adding = 'variant = "N=20"\nbatch = 10\nsteps = 20'
    for name, task, more, epochs in (("a", "adding", adding, 400), ("b", "digits", "", 8)):
        text = SWEEP.format(name=name, task=task, more=more, epochs=epochs)
        (made.sweeps / f"{name}.toml").write_text(text)
    return made


def started(folders: EditionFolders, *words: str) -> subprocess.Popen[str]:
    locations = map(str, vars(folders).values())
    command = [sys.executable, "-c", COMMAND, *locations, *words]
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": PROGRAMS_PATH}, stdout=subprocess.PIPE, text=True)


def made(folders: EditionFolders, *words: str) -> str:
    """Build the edition and return what was printed."""
    process = started(folders, *words)
    output, _ = process.communicate()
    assert process.returncode == 0, output
    return output


def interrupted(folders: EditionFolders, table: str, lines: int) -> None:
    """Begin to build the edition, and stop once a table of the store has so many lines."""
    process = started(folders)
    while count(folders, table) < lines:
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert process.returncode == 128 + signal.SIGTERM and not folders.edition.exists()


def count(folders: EditionFolders, table: str) -> int:
    """Return how many lines a table of the store has, or those of it that meet a condition; 0 without a store."""
    try:
        with sqlite3.connect(f"file:{folders.home / 'longwave.db'}?mode=ro", uri=True) as store:
            return int(store.execute(f"select count(*) from {table}").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def trained(folders: EditionFolders) -> set[str]:
    """Return the trials that the store's sweeps began."""
    with sqlite3.connect(f"file:{folders.home / 'longwave.db'}?mode=ro", uri=True) as store:
        return {trial for (trial,) in store.execute("select trial from attempts")}


def rows(folders: EditionFolders) -> list[dict[str, Any]]:
    return list(json.loads((folders.edition / "board.json").read_text())["rows"])


@pytest.mark.slow  # trains two sweeps on Ray and publishes twice, from processes of their own: minutes
def test_an_interrupted_edition_goes_on_and_a_fresh_checkout_trains_nothing_twice(
    folders: EditionFolders, tmp_path: Path
) -> None:
    interrupted(folders, "curves", 8)
    assert not folders.unfinished, "no search is over"
    interrupted(folders, "trials WHERE phase = 'retrain'", 1)
    [unfinished] = folders.unfinished
    assert unfinished.name == "tiny-a-lem.json.xz", "one file a sweep, to be replaced"
    bundled = {e.config.id for e in bundle.read(unfinished).content.trials}
    assert len(bundled) >= 4, "a search that is over"
    folders = replace(folders, home=tmp_path / "another machine")

    output = made(folders)
    assert "models to train: 4 of 4, expected 1.0 h" in output
    assert all(f"tiny-{board}-{model}: took" in output for board in "ab" for model in ("lem", "gru"))
    results = {file.name: file.read_bytes() for file in folders.results}
    assert [name.rpartition("-")[0] for name in results] == ["tiny-a-gru", "tiny-a-lem", "tiny-b-gru", "tiny-b-lem"]
    assert count(folders, "trials") == 24, "each trial once, whatever was interrupted"
    assert not bundled & trained(folders) and not folders.unfinished
    assert {row["task"] for row in read_edition(folders.edition).rows} == {"adding", "digits"}
    assert find_results(folders.edition) == folders.results
    assert {*(bundle.read(file).name for file in folders.results), "e" * 64} == shipped(folders.trust).keys()

    other = replace(folders, home=tmp_path / "elsewhere")
    before = rows(folders)
    folders.surprises.write_text("what people wrote\n")
    output = made(other)
    assert "models to train: 0 of 4" in output and "trials imported" in output and count(other, "attempts") == 0, (
        "nothing was trained"
    )
    assert rows(folders) == before and {file.name: file.read_bytes() for file in folders.results} == results
    assert (folders.edition / "REPORT.md").read_text().endswith("## Surprises\n\nwhat people wrote\n")
    shown = folders.readme.read_text()
    assert shown.startswith("Ours:\n<!-- edition 1 -->\n") and shown.endswith("<!-- /edition 1 -->\nheat-map-1.svg\n")
    assert "of 2 boards" in shown and "<svg" in folders.heat_map.read_text()
    assert not [row for row in before if row["kind"] == "retrained" and row["untrusted"]]


@pytest.mark.integration
def test_what_lies_in_a_finished_bundle_is_not_kept_as_unfinished_once_more(
    folders: EditionFolders, here: Workers
) -> None:
    folders.home.mkdir()
    with Store(folders.store) as store:
        driver.start_sweep(small(epochs=1, trials=1), store, here, None, Console(file=io.StringIO()))
    keep_unfinished(folders, "tiny")
    assert [file.name for file in folders.unfinished] == ["tiny.json.xz"] and not folders.results
    keep_finished(folders, "tiny")
    [finished] = folders.results
    assert bundle.read(finished).name in shipped(folders.trust) and not folders.unfinished
    keep_unfinished(folders, "tiny")
    keep_finished(folders, "tiny")
    assert folders.results == [finished] and not folders.unfinished


def test_an_unfinished_sweep_is_imported_after_all_finished_ones_and_with_those_that_it_continues(
    folders: EditionFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("tiny-a-0123456789ab", "tiny-ab-0123456789ab", "tiny-b-0123456789ab")
    finished = [folders.edition / "results" / f"{name}.json.xz" for name in names]
    unfinished = [folders.unfinished_at(name) for name in ("tiny-a-widened", "tiny-c")]
    for path in finished + unfinished:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(path.name)
    folders.home.mkdir()
    imported = list[list[str]]()
    monkeypatch.setattr(bundles, "longwave", lambda folders, *words: imported.append([p.name for p in words[1:]]))
    monkeypatch.setattr(bundles.bundle, "read", lambda path: SimpleNamespace(name=path.name))
    import_missing(folders)
    import_missing(folders)
    a, ab, b = (path.name for path in finished)
    assert imported == [[a, ab, b], [a, "tiny-a-widened.json.xz"], ["tiny-c.json.xz"]]
    assert continued_by(folders, unfinished[1]) == []


@pytest.mark.integration
def test_what_is_unfinished_and_too_large_is_not_written_and_says_so(
    folders: EditionFolders, here: Workers, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folders.home.mkdir()
    with Store(folders.store) as store:
        driver.start_sweep(small(epochs=1, trials=1), store, here, None, Console(file=io.StringIO()))
    monkeypatch.setattr(bundles, "LARGEST_FILE", 100)
    keep_unfinished(folders, "tiny")
    assert not folders.unfinished and "bytes, the limit is 100: not saved" in capsys.readouterr().out


def test_a_bundle_is_listed_once_and_others_stay(folders: EditionFolders) -> None:
    for name in ("a" * 64, "b" * 64, "a" * 64):
        trust_bundle(folders.trust, name, "c" * 64, "edition 1, adding")
    assert shipped(folders.trust).keys() == {letter * 64 for letter in "eab"}
    assert folders.trust.read_text().splitlines()[2:] == [f"{c * 64} {'c' * 64}  # edition 1, adding" for c in "ab"]
    assert folders.trust.read_text().splitlines()[0] == "# hashes"


@pytest.mark.integration
def test_what_is_done_is_kept_while_the_sweep_goes_on_and_pausing_ends_it_in_order(
    folders: EditionFolders, capfd: pytest.CaptureFixture[str]
) -> None:
    second, file = replace(folders, number=2, board=folders.board / "other"), folders.sweeps / "b.toml"
    text = file.read_text().replace("retrain = 2", "retrain = 400").replace("epochs = 8", "epochs = 80")
    file.write_text(text)  # goes on until it is paused
    process = started(second, "b", "--models", "gru", "--workers", "1")
    while count(second, "trials WHERE phase = 'retrain'") < 2:
        assert process.poll() is None
        time.sleep(0.1)
    made(second, "--keep")
    [unfinished] = second.unfinished
    assert unfinished.parent.name == "unfinished-2" and unfinished.name == "tiny-b-gru.json.xz"
    assert bundle.read(unfinished).content.trials
    assert process.poll() is None
    made(second, "--pause")
    process.communicate()
    assert "tiny-b-gru is interrupted. Continue with: make edition EDITION=2" in capfd.readouterr().err


def test_an_edition_has_sweeps_a_store_and_a_folder_of_its_own() -> None:
    first, second = EditionFolders(), EditionFolders.of_edition(2)
    assert first == EditionFolders.of_edition(1)
    for name in ("sweeps", "home", "edition", "surprises", "shipped"):
        assert getattr(first, name) != getattr(second, name)
        assert str(getattr(second, name)) == str(getattr(first, name)).replace("1", "2")
    assert (first.command, second.command) == ("make edition", "make edition EDITION=2")
    assert first.unfinished_at("a") != second.unfinished_at("a")


def test_sweeps_run_in_the_order_of_their_names_a_second_search_behind_its_first(folders: EditionFolders) -> None:
    (folders.sweeps / "a-widened.toml").write_text("")
    assert [file.stem for file in folders.sweep_files()] == ["a", "a-widened", "b"]
    assert [file.stem for file in folders.sweep_files(["b"])] == ["b"]
    assert [file.stem for file in folders.sweep_files(["a"])] == ["a"], "a whole name is not a part of others"
    assert [file.stem for file in folders.sweep_files(["a-", "b"])] == ["a-widened", "b"]


def test_a_board_or_model_that_the_edition_has_not_is_refused_before_anything_runs(
    folders: EditionFolders, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["a", "b.toml"], folders)
    assert "no sweep file of edition 1 has 'b.toml' in its name; see " in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["a", "--models", "gru,LEM"], folders)
    assert "none of these boards has a model 'LEM'; see " in capsys.readouterr().err
    main(["a", "--pause"], folders)
    assert capsys.readouterr().out.startswith("None of these sweeps of edition 1 is unfinished in ")
    assert not list(folders.home.iterdir())


@pytest.mark.integration
def test_edges_are_told_of_the_widest_search_alone(store: Store, here: Workers) -> None:
    def run(seed: int, **more: Any) -> set[float]:
        file = small(models=["gru"], trials=1, retrain=1, epochs=1, seed=seed, **more)
        driver.start_sweep(file, store, here, None, Console(file=io.StringIO()))
        return {edge.high for name, sweep in last_searches(store) for edge in find_edges(sweep, store, name)[0]}

    drawn_at = (small(models=["gru"], trials=1, seed=seed) for seed in range(1000))
    seed = next(f.seed for f in drawn_at if first_trials(resolve(f))[0][0].params["lr"] > 0.0999)
    assert run(seed, name="first") == {0.1}
    ranges = {"gru": {"lr": {"low": 1e-5, "high": 1.0, "log": True}}}
    assert run(seed, name="second", wider={"trials": 1, "space": ranges}) <= {1.0}


def test_hours_are_those_that_a_board_names_and_an_equal_share_of_the_rest(folders: EditionFolders) -> None:
    sweeps = list_sweeps(folders.sweep_files())
    assert [(s.name, round(s.hours, 6)) for s in sweeps] == [
        (f"tiny-{board}-{model}", hours) for board in "ab" for model, hours in (("lem", 0.1), ("gru", 0.4))
    ]
    assert [s.name for s in list_sweeps(folders.sweep_files(["b"]), ["gru"])] == ["tiny-b-gru"]


@pytest.mark.integration
@pytest.mark.parametrize(
    ("name", "models", "missing"),
    [
        ("tiny-a", ["lem", "gru"], []),
        ("tiny-a-parts", ["gru"], ["lem"]),
        ("tiny-a-lem", ["lem"], ["gru"]),
        ("tiny-ab", ["lem", "gru"], ["lem", "gru"]),
    ],
)
def test_models_are_missing_that_no_bundle_of_their_board_has(
    folders: EditionFolders, here: Workers, name: str, models: list[str], missing: list[str]
) -> None:
    folders.home.mkdir()
    with Store(folders.store) as store:
        file = small(name=name, models=models, epochs=1, trials=1, retrain=1)
        driver.start_sweep(file, store, here, None, Console(file=io.StringIO()))
    keep_unfinished(folders, name)
    every = list_sweeps(folders.sweep_files(["a"]))
    assert list_missing(folders, every) == every, "what is unfinished is not in the results"
    keep_finished(folders, name)
    assert [sweep.model for sweep in list_missing(folders, every)] == missing


def test_rows_are_drawn_by_the_seed_alone_each_once_among_those_that_can_be_compared() -> None:
    usual = {"kind": "retrained", "n": 10, "superseded": ""}
    known = [{**usual, "key": f"{k:02}"} for k in range(20)]
    out = [{**usual, "key": "z", **changed} for changed in ({"kind": "trivial"}, {"n": 1}, {"superseded": "an older"})]
    drawn = draw_rows(known + out, 8, 7)
    assert drawn == draw_rows([*out, *reversed(known)], 8, 7) != draw_rows(known, 8, 8)
    assert len({row["key"] for row in drawn}) == 8 and all(row in known for row in drawn)
    assert draw_rows(known + out, 100, 7) == draw_rows(known, 20, 7) and draw_rows(out, 8, 7) == []
