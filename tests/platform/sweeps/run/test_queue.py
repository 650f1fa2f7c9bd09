"""Which packs a driver trains: whole ones under their keys, parts of others cut anew, cohorts whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from longwave.platform.records.run import Run
from longwave.platform.records.stored import PlannedTrial
from longwave.platform.storage.leases import Leases
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.place.packing import pack_key
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.plan.cells import Sweep
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.stored import missing_trials, store_plan
from longwave.platform.sweeps.run.queue import PackQueue

Tiny = Callable[..., SweepFile]
Planned = Callable[..., tuple[Sweep, list[PlannedTrial]]]


@pytest.fixture
def planned(store: Store, tiny: Tiny) -> Planned:
    def write(**changes: object) -> tuple[Sweep, list[PlannedTrial]]:
        sweep = store_plan(resolve(tiny(models=["lem"], retrain=0, **changes)), store)
        return sweep, missing_trials(sweep, store)

    return write


@pytest.fixture
def other(store: Store) -> Iterator[Leases]:
    store.add_sweep("other", {})
    with Leases(store, "other") as leases:
        yield leases


def test_a_pack_of_which_others_hold_a_part_is_cut_anew_and_may_go_on_from_its_checkpoint(
    planned: Planned, store: Store, here: Workers, other: Leases
) -> None:
    sweep, left = planned()
    configs = store.configs([a.id for a in left])
    store.assign({"whole": [configs[a.id] for a in left]})
    left = missing_trials(sweep, store)
    other.take([a.id for a in left[:2]])
    with Leases(store, "tiny") as mine:
        [(key, job)] = PackQueue(sweep, store, mine, here, left, {}).next().items()
        assert [c.id for c in job.configs] == [a.id for a in left[2:]]
        assert key == pack_key(job.configs) != "whole" and job.before == ("whole",)
        assert {a.pack for a in store.planned("tiny")} == {"whole", key}
    other.release([a.id for a in left[:2]])
    with Leases(store, "tiny") as mine:
        jobs = PackQueue(sweep, store, mine, here, missing_trials(sweep, store), {key: ("parent",)}).next()
        assert {k: (len(j.configs), j.before) for k, j in jobs.items()} == {"whole": (2, ()), key: (2, ("parent",))}


def test_packs_that_others_hold_come_last(
    planned: Planned, store: Store, here: Workers, other: Leases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longwave.platform.sweeps.run.queue.TRIALS_PER_CHUNK", 1)
    sweep, left = planned()
    configs = store.configs([a.id for a in left])
    store.assign({f"pack {k}": [configs[a.id]] for k, a in enumerate(left)})
    other.take([a.id for a in left[:2]])
    with Leases(store, "tiny") as mine:
        assert mine.held_by_others() == {a.id for a in left[:2]} and other.held_by_others() == set()
        queue, taken = PackQueue(sweep, store, mine, here, missing_trials(sweep, store), {}), mine.take
        asked: list[str] = []
        monkeypatch.setattr(mine, "take", lambda trials: asked.extend(trials) or taken(trials))
        [[first]] = [[c.id for c in job.configs] for job in queue.next().values()]
        assert asked == [first] == [left[2].id]
        while queue.next():
            pass
    assert asked == [a.id for a in [*left[2:], *left[:2]]]


def test_a_pack_of_which_another_sweep_asked_for_a_part_is_cut_for_that_part(
    planned: Planned, store: Store, here: Workers, tiny: Tiny
) -> None:
    _, left = planned()
    store.assign({"whole": [*store.configs([a.id for a in left]).values()]})
    part = store_plan(resolve(tiny(name="part", models=["lem"], trials=2, retrain=0)), store)
    shared = missing_trials(part, store)
    assert {a.id for a in shared} < {a.id for a in left} and store.shared_trials("part") == {a.id for a in shared}
    with Leases(store, "part") as mine:
        [(key, job)] = PackQueue(part, store, mine, here, shared, {}).next().items()
    assert key == pack_key(job.configs) != "whole" and job.before == ("whole",) and len(job.configs) == 2


def test_a_pack_that_is_whole_keeps_its_key_also_when_some_of_it_has_ended(
    planned: Planned, store: Store, here: Workers
) -> None:
    sweep, left = planned()
    configs = store.configs([a.id for a in left])
    store.assign({"whole": [configs[a.id] for a in left]})
    store.write([], [Run(left[0].id, "ok", valid=1.0)])
    with Leases(store, "tiny") as mine:
        [(key, job)] = PackQueue(sweep, store, mine, here, missing_trials(sweep, store), {}).next().items()
    assert key == "whole" and len(job.configs) == len(left) - 1 and job.before == ()


@pytest.mark.integration
def test_a_cohort_is_trained_by_one_driver_whole_or_not_at_all(
    planned: Planned, store: Store, here: Workers, other: Leases
) -> None:
    sweep, left = planned(halving={"eta": 2, "first": 2})
    other.take([left[0].id])
    with Leases(store, "tiny") as mine:
        assert PackQueue(sweep, store, mine, here, left, {}).next() == {} and mine.fences == {}
        other.release([left[0].id])
        [job] = PackQueue(sweep, store, mine, here, left, {}).next().values()
        assert job.cohort and {*job.cohort.members} == {a.id for a in left} and job.cohort.rungs == ()


@pytest.mark.parametrize(
    ("halving", "most", "count"), [(None, 3, 3), (None, 0, 0), ({"eta": 2}, 3, 0), ({"eta": 2}, 4, 4)]
)
def test_a_budget_of_trials_lets_no_more_be_leased_and_cuts_no_cohort(
    planned: Planned,
    store: Store,
    here: Workers,
    halving: object,
    most: int,
    count: int,
) -> None:
    sweep, left = planned(halving=halving)
    with Leases(store, "tiny") as mine:
        jobs = PackQueue(sweep, store, mine, here, left, {}, most).next()
        assert sum(len(job.configs) for job in jobs.values()) == count == len(mine.fences)
