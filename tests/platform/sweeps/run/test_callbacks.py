"""A program's own functions are called at each epoch and each end, once these are in the store."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console

import longwave as lw
from longwave.platform.records.run import Point, Run
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.stored import store_plan
from longwave.platform.sweeps.run.callbacks import Callbacks
from longwave.platform.sweeps.run.driver import resume_sweep

Tiny = Callable[..., SweepFile]
SETTINGS: dict[str, Any] = {
    "name": "called", "task": "adding", "variant": "N=20", "models": ["lem"], "trials": 2, "retrain": 1,
    "hidden": 8, "batch": 10, "steps": 5, "epochs": 2,
}  # fmt: skip


@pytest.mark.integration
def test_each_epoch_and_each_end_is_told_with_its_trial_once_it_is_in_the_store(
    tiny: Tiny, store: Store, here: Workers
) -> None:
    points, runs = list[Point](), list[Run]()

    def on_epoch(trial: TrialConfig, point: Point) -> None:
        assert trial.id == point.trial and point in store.curves([trial.id])
        points.append(point)

    def on_trial(trial: TrialConfig, run: Run) -> None:
        assert trial.id == run.trial and store.have_trusted_ends([trial.id])
        runs.append(run)

    plan = store_plan(resolve(tiny(models=["lem"], trials=2, retrain=1)), store)
    resume_sweep(plan, store, here, None, Console(file=io.StringIO()), callbacks=Callbacks(on_epoch, on_trial))
    trials = {trial.config.id: trial for trial in store.trials("tiny")}
    assert sorted(map(repr, points)) == sorted(map(repr, store.curves([*trials])))
    assert {run.trial: run.valid for run in runs} == {name: t.run.valid for name, t in trials.items() if t.run}


@pytest.mark.integration
def test_what_a_callback_raises_ends_the_sweep_which_then_goes_on_and_is_as_if_nothing_had_been(
    tiny: Tiny, store: Store, here: Workers
) -> None:
    def stop(trial: TrialConfig, point: Point) -> None:
        if point.epoch == 3:
            raise RuntimeError("enough")

    plan = store_plan(resolve(tiny(models=["lem"], trials=2, retrain=1)), store)
    with pytest.raises(RuntimeError, match="enough"):
        resume_sweep(plan, store, here, None, Console(file=io.StringIO()), callbacks=Callbacks(on_epoch=stop))
    view = resume_sweep(plan, store, here, None, Console(file=io.StringIO()))
    assert view.counts() == "3 of 3 trials done (3 ok)"


@pytest.mark.integration
def test_a_sweep_in_python_calls_what_it_is_given(store: Store) -> None:
    epochs, ends = list[tuple[str, int]](), list[tuple[str, str]]()
    lw.sweep(
        SETTINGS, here=True, store=store.url, mlflow="off",
        on_epoch=lambda trial, epoch: epochs.append((trial.phase, epoch.epoch)),
        on_trial=lambda trial, run: ends.append((trial.phase, run.status)),
    )  # fmt: skip
    assert sorted(epochs) == [("retrain", 1), ("retrain", 2)] + [("search", 1)] * 2 + [("search", 2)] * 2
    assert ends == [("search", "ok"), ("search", "ok"), ("retrain", "ok")]
