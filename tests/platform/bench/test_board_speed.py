"""A board over thousands of runs, from both databases, against plain loops; timed by ``longwave bench board`` alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from statistics import mean
from typing import Any

import pytest
import sqlalchemy as sa
from trials import present_trial

from longwave.platform.about import about
from longwave.platform.bench import board as bench_board
from longwave.platform.bench.board import board_benchmark, fill_store
from longwave.platform.boards.overview import overview
from longwave.platform.cli.main import main
from longwave.platform.records.run import Run
from longwave.platform.records.stored import Trial
from longwave.platform.storage.base import utc_now
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store

OpenStore = Callable[[str], Store]
TASKS, MODELS = 3, 4


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def large(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A generated store of 1,200 runs: 3 tasks, 4 models, 90 search trials and 10 retrainings of each; to be read."""
    file = tmp_path_factory.mktemp("large") / "large.db"
    url = f"sqlite:///{file}" if request.param == "sqlite" else request.getfixturevalue("postgres")()
    with Store(url) as store:
        assert fill_store(store, 1200, TASKS, MODELS) == 1200
        yield store


@pytest.mark.integration
def test_a_large_board_has_the_numbers_that_plain_loops_over_its_trials_find(large: Store) -> None:
    rows = [row for row in read_board(large) if row.kind == "retrained"]
    assert len(rows) == TASKS * MODELS * bench_board.ROWS
    by_row: dict[str, list[Trial]] = {}
    searched: dict[tuple[str, str], list[Trial]] = {}
    for task in large.tasks():
        for trial in large.trials(task):
            if trial.config.phase == "retrain":
                by_row.setdefault(trial.config.row, []).append(trial)
            else:
                searched.setdefault((task, trial.config.model), []).append(trial)
    for row in rows:
        again, search = by_row[row.config], searched[row.task, row.model]
        runs = [trial.run for trial in again if trial.run]
        scores = [run.test for run in runs if run.test is not None]
        assert sorted(row.trials) == sorted(trial.config.id for trial in again)
        assert (row.n, row.diverged) == (len(scores), sum(trial.status == "diverged" for trial in again))
        assert row.mean == pytest.approx(mean(scores)) and sorted(row.scores) == sorted(scores)
        assert row.searched == len(search) and row.sweeps == (row.task,)
        assert row.search_diverged == sum(trial.status == "diverged" for trial in search)
        assert row.find_seconds == pytest.approx(sum(trial.run.seconds for trial in search if trial.run))
        assert row.params == again[0].config.params
        assert row.settings == again[0].config.in_full()
        assert row.environments == [dict(runs[0].environment)]


def test_the_board_of_one_task_is_its_part_of_the_board_of_all(large: Store) -> None:
    everything = read_board(large)
    assert [row for task in large.tasks() for row in read_board(large, task)] == everything
    assert len(overview(everything).lines) == MODELS


def test_a_board_is_read_in_a_fixed_number_of_statements(large: Store) -> None:
    counted: list[str] = []

    def count(_: Any, __: Any, statement: str, *___: Any) -> None:
        counted.append(statement)

    sa.event.listen(large.engine, "before_cursor_execute", count)
    read_board(large)
    assert len([s for s in counted if s.startswith("SELECT")]) == 20, (
        "thirteen for the board, and seven that check it first"
    )
    assert not [s for s in counted if "curves" in s]


@pytest.fixture
def shared(any_store_url: str, open_store: OpenStore) -> Iterator[Store]:
    """Two sweeps that share the search trial of seed 1 and the retraining; each has a search trial of its own."""
    store = open_store(any_store_url)
    base = present_trial("adding", "N=20", "d", "lem", {}, {"lr": 0.1}, 8, 10, 3, "search", 0, steps=5)
    again = replace(base, phase="retrain", seed=9)
    for sweep, seeds in {"one": (0, 1), "two": (1, 2)}.items():
        trials = [*(replace(base, seed=seed) for seed in seeds), again]
        store.add_sweep(sweep, {})
        store.add_trials(sweep, trials, [about(c) for c in trials])
        ended = [("stopped", "behind") if c.seed == 0 else ("ok", "") for c in trials]
        runs = [
            Run(c.id, end, why, valid=1.0, test=2.0 if c == again else None, seconds=3.0)
            for c, (end, why) in zip(trials, ended, strict=True)
        ]
        store.write([], runs)
    other = replace(base, model="gru", seed=5)
    store.add_trials("two", [other], [about(other)])
    yield store


def test_a_search_trial_of_two_sweeps_is_counted_once(shared: Store) -> None:
    [row] = [row for row in read_board(shared) if row.kind == "retrained"]
    assert (row.searched, row.find_seconds, row.sweeps) == (3, 9.0, ("one", "two"))
    assert (row.search_stopped, row.search_whole, row.missing) == (1, 2, 0)


def test_a_place_is_told_once_however_its_runs_came_into_the_store(any_store_url: str, open_store: OpenStore) -> None:
    store = open_store(any_store_url)
    base = present_trial("adding", "N=20", "d", "lem", {}, {"lr": 0.1}, 8, 10, 3, "retrain", 0, steps=5)
    configs = [replace(base, seed=seed) for seed in range(6)]
    came = [
        ("", "H200", 2.0),
        ("", "H200", None),
        ("inside", "H200", 4.0),
        ("outside", "H200", 9.0),
        ("", "other", None),
    ]
    runs = [
        Run(c.id, "ok", valid=1.0, test=1.0, environment={"device": device}, joules=joules)
        for c, (_, device, joules) in zip(configs, came, strict=False)
    ]
    imported = Trial(configs[1], about(configs[1]), "ok", None, runs[1], utc_now(), "b")
    store.import_trials(["b"], [(imported, ())], [])
    for config, run, (rerun, _, _) in zip(configs, runs, came, strict=False):
        if rerun:
            assert store.add_rerun(config, about(config), [], run, rerun)
    store.add_trials(None, configs, [about(c) for c in configs])
    store.write([], [run for run, (rerun, _, _) in zip(runs, came, strict=True) if not rerun])
    assert sorted(t.run.joules or 0.0 for t in store.retrainings("adding") if t.run) == [0.0, 0.0, 2.0, 4.0, 9.0]
    [row] = [row for row in read_board(store) if row.kind == "retrained"]
    assert sorted(map(str, row.environments)) == ["{'device': 'H200'}", "{'device': 'other'}"]
    assert (row.joules, row.verification) == (5.0, "re-run 2 times, 1 outside its interval, 1 imported and untrusted")


def test_a_retraining_that_no_sweep_asked_for_has_no_search(open_store: OpenStore, any_store_url: str) -> None:
    store = open_store(any_store_url)
    config = present_trial("adding", "N=20", "d", "lem", {}, {"lr": 0.1}, 8, 10, 3, "retrain", 0, steps=5)
    store.add_trials(None, [config], [about(config)])
    [row] = [row for row in read_board(store) if row.kind == "retrained"]
    assert (row.searched, row.sweeps, row.missing, row.state) == (0, (), 1, "missing")


@pytest.mark.integration
def test_the_benchmark_prints_what_both_databases_take(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_board, "empty_databases", lambda folder: iter([f"sqlite:///{folder}/a.db"]))
    monkeypatch.setattr(bench_board, "fill_store", lambda store, runs: fill_store(store, runs, TASKS, MODELS))
    [boards, whole, one] = board_benchmark(1200, 1)
    assert (boards.path, boards.name, one.name) == ("sqlite", "boards of all tasks", "board of one task")
    assert boards.shape == "1200 runs, 24 rows, 3 tasks" and boards.ratio == boards.ms / bench_board.GOAL
    assert min(boards.ms, whole.ms, one.ms) > 0
    monkeypatch.setattr("longwave.platform.bench.board.board_benchmark", lambda runs, repeats: [boards])
    assert main(["bench", "board", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["name"] == "boards of all tasks"
    assert main(["bench", "board"]) == 0
    assert "1200 runs" in capsys.readouterr().out
