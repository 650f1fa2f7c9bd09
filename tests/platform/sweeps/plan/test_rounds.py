"""What a search draws round by round: each round its own points, every trial in a cohort, no word of what diverged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from small_sweeps import small

from longwave.platform.errors import ConfigError
from longwave.platform.records.run import Run
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.plan.cells import CellPlan
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.rounds import next_round
from longwave.platform.sweeps.plan.stored import plan_trials, retry_failed, store_plan

WIDE = {"lr": {"low": 1e-6, "high": 10.0, "log": True}}
"""A range of a second search."""


def cell(**changes: Any) -> tuple[Any, CellPlan]:
    """Return the file and the only cell of a small sweep."""
    sweep = resolve(small(**{"models": ["lem"], **changes}))
    return sweep.file, sweep.cells[0]


def ended(trials: Sequence[TrialConfig], runs: Mapping[int, tuple[str, float]] = {}) -> dict[str, Run]:
    """Return how trials ended: well, each with another score, but for the places that ``runs`` names."""
    actual = {}
    for k, config in enumerate(trials):
        status, valid = runs.get(k, ("ok", 1.0 + 0.1 * (k % 7)))
        actual[config.id] = Run(config.id, status, "it did" if status == "diverged" else "", valid=valid)  # type: ignore[arg-type]
    return actual


def test_no_round_draws_the_points_of_another() -> None:
    file, entry = cell(trials=12, rounds=3, sampler="tpe")
    trials: list[TrialConfig] = []
    while wanted := next_round(file, entry, trials, ended(trials)):
        trials += wanted
    assert len(trials) == 12
    assert len({tuple(sorted(c.params.items())) for c in trials}) == len({c.seed for c in trials}) == 12


@pytest.mark.parametrize("size", [2, 3, 4, 5, 7])
def test_every_trial_of_a_round_competes_also_one_that_is_left_over(size: int) -> None:
    file, entry = cell(trials=5, halving={"eta": 2, "first": 1}, pack=size)
    trials = next_round(file, entry, [], {})
    cohorts = [str((c.halving or {})["cohort"]) for c in trials]
    assert len(trials) == len({c.seed for c in trials}) == 5
    assert [cohorts.index(name) for name in cohorts] == [k - k % size for k in range(5)]


def test_a_search_that_learns_is_told_nothing_of_trials_that_diverged() -> None:
    file, entry = cell(trials=24, rounds=2, sampler="tpe")
    first = next_round(file, entry, [], {})
    assert len(first) == 12
    second = {
        status: next_round(file, entry, first, ended(first, {5: (status, 1e-3)})) for status in ("ok", "diverged")
    }
    unknown = next_round(file, entry, first, {**ended(first), first[5].id: Run(first[5].id, "failed", "it did")})
    assert second["diverged"] == unknown != second["ok"]


def test_a_sampler_that_could_not_draw_a_later_round_is_refused_in_the_plan_by_the_name_of_the_sweep() -> None:
    tpe = {"sampler": "TPESampler", "sampler_arguments": {"gamma": 3}}
    with pytest.raises(ConfigError, match=r"^tiny: sampler: TPESampler: 'int' object is not callable. Change \[sampl"):
        cell(trials=24, rounds=2, **tpe)
    assert cell(trials=8, rounds=2, **tpe)[1].space, "too few results for the sampler to use the argument"
    file, entry = cell(
        trials=2, sampler="GridSampler", sampler_arguments={"search_space": {"lr": [0.01], "dt": [1, 2]}}
    )
    with pytest.raises(ConfigError, match="^tiny: sampler: GridSampler: The parameter name, dt, is not found"):
        next_round(file.model_copy(update={"sampler_arguments": {"search_space": {"lr": [0.01]}}}), entry, [], {})


def test_a_brute_force_search_that_would_repeat_points_is_refused_in_the_plan() -> None:
    space = {"dt": 1.0, "lr": [0.01, 0.1], "hidden": {"low": 8, "high": 9}}
    settings = {"sampler": "BruteForceSampler", "hidden": None, "space": {"lem": space}}
    wider = {"trials": 4, "space": {"lem": {"hidden": {"low": 7, "high": 10}}}}
    assert cell(trials=4, wider=wider, **settings)[1].wider
    with pytest.raises(ConfigError, match="tiny: sampler: BruteForceSampler: its space has 4 points, too few for 5 tr"):
        cell(trials=5, **settings)
    with pytest.raises(ConfigError, match="BruteForceSampler: its space has 8 points, too few for 9 trials"):
        cell(trials=4, wider={**wider, "trials": 5}, **settings)
    apart = {"trials": 8, "space": {"lem": {"hidden": {"low": 10, "high": 13}}}}
    assert cell(rule=2, trials=4, wider=apart, **settings)[1].wider


@pytest.mark.parametrize(("sampler", "queued"), [("tpe", [3]), ("random", [0, 3])])
def test_a_failed_trial_is_tried_again_unless_a_later_round_was_drawn_from_it(
    store: Store, sampler: str, queued: list[int]
) -> None:
    rounds = {"rounds": 2} if sampler == "tpe" else {"wider": {"trials": 2, "space": {"lem": WIDE}}}
    file = small(models=["lem"], trials=4 if sampler == "tpe" else 2, sampler=sampler, **rounds)
    sweep = store_plan(resolve(file), store)
    first = plan_trials(sweep, store)
    store.write([], [Run(first[0].id, "failed", "the disk is full"), Run(first[1].id, "ok", valid=1.0)])
    planned = plan_trials(sweep, store)
    assert len(first) == 2 and len(planned) == 4
    store.write([], [Run(planned[3].id, "failed", "the disk is full")])
    assert retry_failed(store, file.name) == len(queued)
    status = [trial.status for trial in store.planned(file.name)]
    assert [k for k in (0, 3) if status[k] == "planned"] == queued
