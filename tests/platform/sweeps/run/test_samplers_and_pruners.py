"""Sweeps whose draws Optuna's samplers make, and whose trials its pruners stop: killed or not, they are the same."""

from __future__ import annotations

import signal
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from interrupted_drivers import resume_killed, run, run_disturbed
from small_sweeps import small

from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.stored import is_over, read_sweep_plan, store_plan

SIZES: dict[str, Any] = {"models": ["lem"], "hidden": 3, "batch": 4, "steps": 2, "epochs": 4, "retrain": 1}


def learning(sampler: str, **arguments: Any) -> SweepFile:
    """Return a sweep of four rounds."""
    return small(**{**SIZES, "epochs": 1}, trials=8, rounds=4, sampler=sampler, sampler_arguments=arguments)


@pytest.mark.integration
@pytest.mark.parametrize(
    "file",
    [learning("CmaEsSampler", popsize=2), learning("GPSampler", n_startup_trials=3)],
    ids=["CmaEsSampler", "GPSampler"],
)
def test_a_search_whose_driver_is_killed_goes_on_with_the_same_draws(
    file: SweepFile, store: Store, tmp_path: Path
) -> None:
    with Store(f"sqlite:///{tmp_path}/whole.db") as whole:
        run(file, whole, tmp_path / "whole")
        expected = [(a.id, a.status, a.valid) for a in whole.planned("tiny")]
    store_plan(resolve(file), store)
    ends = [resume_killed("tiny", store, tmp_path / "killed", writes, writes % 2 == 0) for writes in (5, 4, 0)]
    assert ends == [-signal.SIGKILL, -signal.SIGKILL, 0]
    assert [(a.id, a.status, a.valid) for a in store.planned("tiny")] == expected
    known = read_sweep_plan(store, "tiny")
    assert is_over(known, store, store.planned("tiny"))


def pruned(**more: Any) -> SweepFile:
    """Return a sweep of six trials that the median pruner watches from epoch 2 on."""
    arguments = {"n_startup_trials": 2, "n_warmup_steps": 2}
    return small(**{**SIZES, "trials": 6, "pruner": "MedianPruner", "pruner_arguments": arguments, **more})


def ends(store: Store) -> dict[str, tuple[str, int]]:
    """Return how each search trial ended."""
    return {t.config.id: (t.status, t.run.epochs) for t in store.trials("tiny") if t.run and t.config.phase == "search"}


def by_force(store: Store) -> dict[str, tuple[str, int]]:
    """Return how each search trial must have ended by the median rule, given the recorded epochs."""
    alive = [t.config.id for t in store.trials("tiny") if t.config.phase == "search"]
    valids = {trial: [p.valid for p in store.curves([trial])] for trial in alive}
    actual: dict[str, tuple[str, int]] = {}
    for epoch in (2, 3):
        middle = median(valids[trial][epoch - 1] for trial in alive)
        gone = [trial for trial in alive if min(valids[trial][:epoch]) > middle and len(alive) >= 2]
        actual |= dict.fromkeys(gone, ("stopped", epoch))
        alive = [trial for trial in alive if trial not in gone]
    return actual | dict.fromkeys(alive, ("ok", 4))


def test_the_median_pruner_stops_the_worse_half_at_each_epoch_it_is_asked_at(store: Store, tmp_path: Path) -> None:
    run(pruned(), store, tmp_path)
    assert ends(store) == by_force(store)
    assert {status for status, _ in ends(store).values()} == {"ok", "stopped"}
    reasons = {t.run.reason for t in store.trials("tiny") if t.run and t.status == "stopped"}
    assert reasons <= {"MedianPruner stopped it at epoch 2", "MedianPruner stopped it at epoch 3"} and reasons


@pytest.mark.integration
@pytest.mark.parametrize("seed", range(2))
def test_a_pruner_stops_the_same_trials_in_packs_whose_drivers_die_by_chance(
    seed: int, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_disturbed(pruned(rule=2, pack=2, race=False), seed, store, tmp_path, monkeypatch)
    assert ends(store) == by_force(store)
