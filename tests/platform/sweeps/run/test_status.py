"""How a sweep stands is counted by its database: the numbers are those of every trial and every epoch, one by one."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import pytest
from tiers import list_seeds

from longwave.platform.records.report import Report
from longwave.platform.records.run import ENDED, Point, Run
from longwave.platform.records.stored import EpochCounts, PlannedTrial
from longwave.platform.records.trial import Phase
from longwave.platform.storage import sweeps, trial_writes
from longwave.platform.storage.leases import Leases
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.stored import plan_trials, store_plan
from longwave.platform.sweeps.run.status import SweepStatus, count_epochs, sweep_status

BEGAN = 1.7e9
"""Unix time at which the first trial is begun; every epoch takes a second."""


def ended(trial: str, how: str, epochs: int) -> Run:
    return Run(trial, how, *([""] if how == "ok" else ["why"]), epochs=epochs, valid=0.5)  # type: ignore[arg-type]


def trained(
    leases: Leases,
    store: Store,
    last: dict[str, int],
    now: float,
    clock: Callable[[float], None],
    chance: random.Random,
) -> float:
    """Let a driver train open trials by chance, from an earlier epoch now and then; return when that was over.

    ``last`` holds the last epoch of each; those that end are taken out.
    """
    begun = set[str]()
    for _ in range(15):
        clock(now := now + 1.0)
        trial = chance.choice([*last])
        if trial not in begun or chance.random() < 0.3:
            begun.add(trial)
            last[trial] = chance.randint(0, last[trial])
            leases.write(Report(store.curves([trial])[: last[trial]], began={trial: last[trial]}))
        points = []
        for _ in range(chance.randint(1, 3)):
            clock(now := now + 1.0)
            last[trial] += 1
            points.append(Point(trial, last[trial], 0.1, 0.1, 1.0, now))
        leases.write(Report(points))
        if chance.random() < 0.2 and len(last) > 1:
            leases.write(Report(runs=[ended(trial, chance.choice(ENDED), last.pop(trial))]))
    return now


@pytest.mark.parametrize("seed", list_seeds(3, 1))
def test_counts_and_epochs_are_those_of_all_trials_one_by_one(
    seed: int, any_store_url: str, open_store: Callable[[str], Store], tiny: Callable[..., SweepFile],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def clock(now: float) -> None:
        for module in (trial_writes, sweeps):
            monkeypatch.setattr(module, "utc_now", lambda: datetime.fromtimestamp(now, UTC))

    store = open_store(any_store_url)
    store_plan(resolve(tiny(name="other", models=["lem"], trials=2)), store)
    sweep = store_plan(resolve(tiny(trials=6)), store)
    ids, chance, now = [a.id for a in plan_trials(sweep, store)], random.Random(seed), BEGAN
    last = dict.fromkeys(ids[:-2], 0)
    for _ in range(3):
        with Leases(store, "tiny") as leases:
            leases.take(ids)
            clock(now + 0.5)
            now = trained(leases, store, last, now, clock, chance)
            trials, points = store.planned("tiny"), store.curves(ids)
            done = Counter(p.trial for p in points)
            one_by_one = Counter((a.cell, "" if a.open else a.status, done[a.id]) for a in trials)
            assert {(p.cell, p.status, p.epochs): p.trials for p in store.pack_parts("tiny")} == one_by_one
            parts = store.status_counts("tiny")
            assert count_epochs(parts) == epochs_by_cell(trials, done) and not store.status_counts("other")
            assert Counter({(p.cell, p.status): p.trials for p in parts}) == Counter((a.cell, a.status) for a in trials)
            check(sweep_status(store, "tiny"), trials, done)


def epochs_by_cell(trials: list[PlannedTrial], epochs: Mapping[str, int]) -> dict[tuple[int, Phase], EpochCounts]:
    """Return what there is of the trials of each cell, all of the search, one by one."""
    actual: dict[tuple[int, Phase], EpochCounts] = {}
    for a in trials:
        assert a.cell is not None and (a.open or a.epochs == epochs[a.id])
        own = EpochCounts(reached=epochs[a.id]) if a.open else EpochCounts(1, epochs[a.id])
        actual[a.cell, a.phase] = actual.get((a.cell, a.phase), EpochCounts()) + own
    return actual


def check(actual: SweepStatus, trials: list[PlannedTrial], done: Mapping[str, int]) -> None:
    """Compare how a sweep of 16 trials of six epochs stands with them; ``done`` are the epochs of each."""
    over = [a for a in trials if not a.open]
    assert actual.counts["running"] == sum(a.status == "running" for a in trials) > 0
    assert sum(cell["done"] for cell in actual.cells.values()) == actual.counts["done"] == len(over)
    left = [sum(6 - done[a.id] for a in trials if a.open and a.cell == cell) for cell in (0, 1)]
    further = sum(max(of_cell, 0) + 2 * 6 for of_cell in left)  # here some train longer than they were asked to
    assert (actual.epochs, actual.expected) == (sum(done.values()), sum(done.values()) + further)
    assert actual.state == "running" and actual.trials == 16
