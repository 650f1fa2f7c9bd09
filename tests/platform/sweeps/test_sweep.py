"""One sweep, from its file to the board: planned, trained, stored, retrained, resumed; in this process, without Ray."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from longwave.platform.errors import Interrupted
from longwave.platform.records.report import Ending, Report
from longwave.platform.records.run import ENDED, Run
from longwave.platform.statistics.stats import mean_std
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.leases import Leases
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.place.devices import Slot
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.plan import stored
from longwave.platform.sweeps.run import driver, executor
from longwave.platform.sweeps.run.recorder import ResultRecorder
from longwave.platform.training import train as training

Tiny = Callable[..., SweepFile]


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), width=200)


@pytest.fixture
def packs_trained(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The trial ids of each pack that is really trained."""
    trained: list[list[str]] = []
    real = training.train

    def counting(configs: list, *others: Any) -> Ending:
        trained.append([c.id for c in configs])
        return real(configs, *others)

    monkeypatch.setattr(training, "train", counting)
    return trained


@pytest.mark.integration
def test_a_sweep_ends_with_one_record_a_trial_a_whole_curve_each_and_a_board(
    tiny: Tiny, store: Store, here: Workers, console: Console
) -> None:
    view = driver.start_sweep(tiny(), store, here, None, console)
    trials = store.trials("tiny")
    assert len(trials) == 8 + 4 == len(view.ends) and {t.status for t in trials} == {"ok"}
    for trial in trials:
        assert trial.run and [p.epoch for p in store.curves([trial.config.id])] == list(range(1, 7))
        assert trial.run.valid == min(p.valid for p in store.curves([trial.config.id]))
        assert (trial.run.test is None) == (trial.config.phase == "search")
        assert {"torch", "kernel", "device", "commit"} <= set(trial.run.environment)
    rows = [row for row in read_board(store, "adding") if row.kind == "retrained"]
    assert sorted(row.model for row in rows) == ["gru", "lem"]
    for row in rows:
        tests = [t.run.test for t in trials if t.run and t.run.test is not None and t.config.model == row.model]
        assert (row.mean, row.std) == mean_std(tests) and row.n == 2
        assert (row.searched, row.departures[0]) == (4, "hidden 8 (published 128)")
    best = {
        m: min(t.run.valid for t in trials[:8] if t.run and t.run.valid and t.config.model == m) for m in ("lem", "gru")
    }
    assert view.best["lem"] <= best["lem"] and view.counts() == "12 of 12 trials done (12 ok)"
    assert not list((here.storage / "checkpoints").glob("*")) if (here.storage / "checkpoints").exists() else True


@pytest.mark.integration
def test_a_finished_sweep_run_again_trains_nothing(
    tiny: Tiny, store: Store, here: Workers, console: Console, packs_trained: list[list[str]]
) -> None:
    driver.start_sweep(tiny(), store, here, None, console)
    count = len(packs_trained)
    driver.start_sweep(tiny(), store, here, None, console)
    driver.resume_sweep(stored.read_sweep_plan(store, "tiny"), store, here, None, console)
    assert len(packs_trained) == count > 0


@pytest.mark.integration
def test_two_sweeps_with_the_same_work_train_it_once_and_both_show_it(
    tiny: Tiny, store: Store, here: Workers, console: Console, packs_trained: list[list[str]]
) -> None:
    driver.start_sweep(tiny(name="one", models=["lem"]), store, here, None, console)
    before = sum(map(len, packs_trained))
    driver.start_sweep(tiny(name="two", models=["lem"], trials=6), store, here, None, console)
    assert sum(map(len, packs_trained)) - before <= 2 + 2
    assert len(store.trials("one")) == 6 and len(store.trials("two")) == 8
    assert {t.config.id for t in store.trials("one") if t.config.phase == "search"} < {
        t.config.id for t in store.trials("two")
    }


@pytest.mark.integration
def test_more_retrainings_train_only_what_is_new(
    tiny: Tiny, store: Store, here: Workers, console: Console, packs_trained: list[list[str]]
) -> None:
    driver.start_sweep(tiny(name="two"), store, here, None, console)
    packs_trained.clear()
    driver.start_sweep(tiny(name="three", retrain=3), store, here, None, console)
    assert sum(map(len, packs_trained)) == 2
    assert {row.n for row in read_board(store, "adding") if row.kind == "retrained"} == {3}


@pytest.mark.integration
def test_a_sweep_interrupted_anywhere_ends_as_one_never_interrupted(
    tiny: Tiny, store: Store, open_store: Callable[[str], Store], tmp_path: Path, console: Console,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    whole = open_store(f"sqlite:///{tmp_path}/whole.db")
    file = tiny(pack=2)
    driver.start_sweep(file, whole, Workers(1, tmp_path / "a", here=True), None, console)
    real, left = Leases.write, 0

    def write_until_interrupted(self: Leases, report: Report) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        real(self, report)

    monkeypatch.setattr(Leases, "write", write_until_interrupted)
    for attempt in range(100):
        left = 11 + attempt
        try:
            driver.start_sweep(file, store, Workers(1, tmp_path / "b", here=True), None, console)
            break
        except Interrupted:
            continue
    assert attempt > 2
    ends = {t.config.id: (t.status, t.run and (t.run.valid, t.run.test)) for t in store.trials("tiny")}
    assert ends == {t.config.id: (t.status, t.run and (t.run.valid, t.run.test)) for t in whole.trials("tiny")}
    for trial in ends:
        ours, theirs = store.curves([trial]), whole.curves([trial])
        assert [(p.epoch, p.loss, p.valid) for p in ours] == [(p.epoch, p.loss, p.valid) for p in theirs]


def test_the_open_trials_of_a_dead_worker_are_tried_in_halves_until_the_culprit_is_alone(
    tiny: Tiny, store: Store, here: Workers, console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    culprit: list[str] = []

    def run_packs(queue: Iterable[dict], sink: executor.Sink, workers: Workers) -> None:
        for key, job in (item for packs in queue for item in packs.items()):
            ids = [c.id for c in job.configs]
            culprit.extend(ids[:1] if not culprit else [])
            sink.started(key, Slot())
            if culprit[0] in ids:
                sink.ended(key, "died", "its worker died")
            else:
                sink.report(key, Report(runs=[Run(i, "ok", valid=1.0, test=None) for i in ids]))
                sink.ended(key, "over")
            sink.flush()

    monkeypatch.setattr(driver, "run_packs", run_packs)
    driver.start_sweep(tiny(models=["lem"], retrain=0, trials=7), store, here, None, console)
    ends = {t.config.id: t.run for t in store.trials("tiny")}
    assert [i for i, run in ends.items() if run and run.status == "failed"] == culprit
    assert ends[culprit[0]].reason == "its worker died"  # type: ignore[union-attr]
    assert all(run and run.status in ENDED for run in ends.values()) and len(ends) == 7


def test_a_diverged_search_is_shown_and_its_model_has_no_row(
    tiny: Tiny, store: Store, here: Workers, console: Console
) -> None:
    view = driver.start_sweep(tiny(models=["lem"], space={"lem": {"lr": 1e30}}), store, here, None, console)
    assert view.counts() == "4 of 4 trials done (4 diverged)"
    assert read_board(store, "adding") == []


@pytest.mark.integration
def test_halving_and_tpe_sweeps_end_whole(tiny: Tiny, store: Store, here: Workers, console: Console) -> None:
    halved = tiny(name="halved", models=["lem"], trials=6, halving={"eta": 3, "first": 2}, retrain=1)
    assert driver.start_sweep(halved, store, here, None, console).counts() == "7 of 7 trials done (3 ok, 4 stopped)"
    adaptive = tiny(name="adaptive", models=["lem"], trials=6, sampler="tpe", rounds=3, retrain=1)
    assert driver.start_sweep(adaptive, store, here, None, console).counts() == "7 of 7 trials done (7 ok)"


@pytest.mark.integration
def test_progress_on_a_terminal_shows_packs_ends_best_and_time_left(
    tiny: Tiny, store: Store, here: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Console(file=io.StringIO(), width=160, force_terminal=True, color_system=None)
    paper, seen = Console(file=io.StringIO(), width=160, record=True), []
    real = ResultRecorder.flush

    def look(self: ResultRecorder) -> None:
        real(self)
        self.view.estimate_time_left()
        paper.print(self.view._render())
        seen.append(paper.export_text())

    monkeypatch.setattr(ResultRecorder, "flush", look)
    driver.start_sweep(tiny(), store, replace(here), None, screen)
    middle = seen[1]
    for word in ("tiny", "of 12 trials", "training  lem search ×4", "best mse", "s left"):
        assert word in middle, middle
    assert "ok" in seen[-1], "how trials ended is shown once one has"
