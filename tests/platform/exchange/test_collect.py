"""What is over of a sweep can be told while the rest of it is trained."""

from __future__ import annotations

import io
import re
import tempfile
from collections import defaultdict
from pathlib import Path

import pytest
from bundles import drop, forge
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from small_sweeps import SMALL, small

from longwave.platform.about import about
from longwave.platform.cli.main import main
from longwave.platform.errors import ConfigError
from longwave.platform.exchange import intake
from longwave.platform.exchange.audit import audit
from longwave.platform.exchange.bundle import BundledTrial, File, read, seal
from longwave.platform.exchange.collect import collect
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store
from longwave.platform.sweeps import reproduce
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.trials import all_trials
from longwave.platform.sweeps.run import driver

SWEEP = small(trials=2, epochs=1, hidden=None, grid={"hidden": [4, 6]})


@pytest.fixture(scope="module")
def genuine(tmp_path_factory: pytest.TempPathFactory) -> File:
    """All trials of a sweep of two models at two sizes."""
    folder = tmp_path_factory.mktemp("cells")
    with Store(f"sqlite:///{folder}/store.db") as store:
        driver.start_sweep(SWEEP, store, Workers(1, folder, here=True), None, Console(file=io.StringIO()))
        file = seal(collect(store))
        assert seal(collect(store, over=True)) == file, "all of it is over"
    return file


def without(genuine: File, lost: set[str]) -> File:
    """Return the bundle as if some of its trials had not ended."""
    return forge(genuine, lambda all_: drop(all_, *[e for e in all_["trials"] if e["run"]["trial"] in lost]))


def over(genuine: File, lost: set[str]) -> set[str]:
    """Return what is over by definition: a search that is whole, and retrainings with it if they are whole, too.

    Of models without any retraining there is no row to be told.
    """
    cells: dict[tuple[str, int], list[BundledTrial]] = defaultdict(list)
    for entry in genuine.content.trials:
        cells[entry.config.model, entry.config.hidden].append(entry)
    has_rows = {
        e.config.model for e in genuine.content.trials if e.config.phase == "retrain" and e.config.id not in lost
    }
    whole: set[str] = set()
    for (model, _), cell in cells.items():
        search, again = ({e.config.id for e in cell if e.config.phase == phase} for phase in ("search", "retrain"))
        assert (len(search), len(again)) == (2, 2)
        if model in has_rows and not search & lost:
            whole |= search if again & lost else search | again
    return whole


@pytest.mark.integration
@given(st.sets(st.integers(0, 15), max_size=8))
@settings(max_examples=30)
def test_a_cell_is_told_once_its_search_is_over_and_retrainings_once_all_are(genuine: File, lost: set[int]) -> None:
    gone = {genuine.content.trials[k].config.id for k in lost}
    expected = over(genuine, gone)
    with tempfile.TemporaryDirectory() as folder, Store(f"sqlite:///{folder}/store.db") as store:
        intake.import_bundle(store, without(genuine, gone), [])
        if not expected:
            with pytest.raises(ConfigError, match=r"There is no row|None of these searches has finished"):
                collect(store, over=True)
            return
        made = seal(collect(store, over=True))
    assert {e.config.id for e in made.content.trials} == expected
    assert sorted(trial for sweep in made.content.sweeps for trial in sweep.trials) == sorted(expected)
    assert [f for f in audit(made) if f.severity == "reject"] == []


def test_what_is_over_is_submitted_where_the_rest_would_be_refused(
    genuine: File, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cell = [e for e in genuine.content.trials if (e.config.model, e.config.hidden) == ("lem", 6)]
    lost = next(e.config.id for e in cell if e.config.phase == "search")
    intake.import_bundle(
        store, without(genuine, {lost} | {e.config.id for e in cell if e.config.phase == "retrain"}), []
    )
    submit = ["submit", str(tmp_path / "out.json.xz"), "--store", store.url]
    assert main(submit) == 2
    errors = capsys.readouterr().err
    assert (
        "lem 6: 1 of 2 search trials are missing" in errors and "leave out what has not finished, with --over" in errors
    )
    assert main([*submit, "--over"]) == 0
    sent = read(tmp_path / "out.json.xz").content.trials
    assert {e.config.id for e in sent} == {e.config.id for e in genuine.content.trials} - {e.config.id for e in cell}


def test_an_older_file_is_replaced_only_by_a_bundle_with_all_its_trials(
    genuine: File, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    intake.import_bundle(store, genuine, [])
    path, submit = tmp_path / "out.json.xz", ["submit", str(tmp_path / "out.json.xz"), "--store", store.url]
    row = min(e.config.row for e in genuine.content.trials if e.config.phase == "retrain")
    assert main([*submit, "--row", row]) == 0
    assert main(submit) == 0, "the row's trials are part of all trials"
    written = path.read_bytes()
    assert main(submit) == 0
    assert path.read_bytes() == written
    capsys.readouterr()
    assert main([*submit, "--row", row]) == 2
    assert re.search(r"exists already, with \d+ trials that the new bundle would not have", capsys.readouterr().err)
    assert path.read_bytes() == written
    path.write_text("notes")
    assert main(submit) == 2
    assert "exists already" in (error := capsys.readouterr().err) and "to another file, or delete" in error
    assert path.read_text() == "notes"


def test_a_re_run_is_told_with_its_row_and_not_without(genuine: File) -> None:
    mine = [e for e in genuine.content.trials if (e.config.model, e.config.hidden) == ("gru", 4)]
    row = next(e.config.row for e in mine if e.config.phase == "retrain")
    lost = next(e.config.id for e in mine if e.config.phase == "search")
    for gone, is_kept in ((set[str](), True), ({lost}, False)):
        with tempfile.TemporaryDirectory() as folder, Store(f"sqlite:///{folder}/store.db") as store:
            intake.import_bundle(store, without(genuine, gone), [])
            done = reproduce.train_again(reproduce.plan_rerun(store, row))
            reproduce.store_rerun(store, done)
            again = {t.config.id for t in store.retrainings("adding") if t.rerun}
            sent = {e.config.id for e in collect(store, over=True).trials}
            assert len(again) == 1 and (again <= sent) == is_kept


@pytest.mark.integration
def test_cells_that_are_told_one_after_another_stay_apart(genuine: File, store: Store) -> None:
    first = {e.config.id for e in genuine.content.trials if (e.config.model, e.config.hidden) == ("gru", 6)}
    intake.import_bundle(store, without(genuine, {e.config.id for e in genuine.content.trials} - first))
    intake.import_bundle(store, genuine)
    [name] = store.sweeps()
    configs = {e.config.id: e.config for e in genuine.content.trials}
    cells = {(configs[t.id].model, configs[t.id].hidden, t.cell) for t in store.planned(name)}
    assert cells == {("lem", 4, 0), ("lem", 6, 1), ("gru", 4, 2), ("gru", 6, 3)}, "as in the sweep file"
    assert {row.searched for row in read_board(store, "adding") if row.kind == "retrained"} == {2}


def test_a_sweep_of_which_nothing_has_ended_is_not_submitted(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trials = all_trials(resolve(small(trials=0, space={"lem": {"lr": 0.01, "dt": 0.5}, "gru": {"lr": 0.01}})), {})
    store.add_sweep("tiny", {**SMALL, "trials": 0})
    store.add_trials("tiny", trials, [about(c) for c in trials])
    assert main(["submit", str(tmp_path / "out.json.xz"), "--store", store.url]) == 2
    assert "None of these trials has ended. Finish a sweep with: longwave sweep resume NAME" in capsys.readouterr().err
    assert not (tmp_path / "out.json.xz").exists() and not collect(store).trials, "an edition may still be published"
