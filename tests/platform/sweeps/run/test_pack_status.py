"""How far packs are and which searches learn, on SQLite and on PostgreSQL, against what was reported."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from lab import about, ok, trial

from longwave.platform.records.report import Report
from longwave.platform.records.run import Point, Run
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.leases import Leases, read_drivers
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.plan.stored import draws_are_dependent, search_curves
from longwave.platform.sweeps.run.status import running_packs

OpenStore = Callable[[str], Store]


def points(trial: str, epochs: range, start: float, each: float) -> list[Point]:
    return [Point(trial, e, 1.0, 1.0, e * each, start + (e - epochs.start + 1) * each) for e in epochs]


def test_a_packs_progress_and_silence_follow_from_its_epochs(any_store_url: str, open_store: OpenStore) -> None:
    store = open_store(any_store_url)
    store.add_sweep("s", {})
    requested = [trial("lem", k, phase="search") for k in range(5)]  # of three epochs each
    store.add_trials("s", requested, [about(c) for c in requested])
    store.assign({"first": requested[:3], "second": requested[3:4]})
    with Leases(store, "s") as driver:
        driver.spent = lambda: {"used": {"A100": 3.0}, "expected": {}}
        driver.beat("")
        ids = [c.id for c in requested]
        driver.take(ids)
        assert running_packs(store, "s") == [], "nothing is in training yet"
        driver.write(Report(began={ids[0]: 0, ids[1]: 0, ids[2]: 0, ids[3]: 1}))
        began = time.time()
        driver.write(Report(points=[*points(ids[0], range(1, 3), began, 10), *points(ids[1], range(1, 3), began, 10)]))
        driver.write(Report(runs=[Run(ids[2], "diverged", "loss is nan in epoch 1", 1)]))
        first, second = running_packs(store, "s", now=began + 25)
        [alive] = read_drivers(store, "s")
    assert (first.pack, first.epochs, first.expected, first.owner) == ("first", 4, 6, alive.owner)
    assert dict(first.counts) == {"running": 2, "diverged": 1} and first.model == "lem"
    assert first.silent == pytest.approx(5, abs=1)
    assert (second.pack, second.epochs, second.expected) == ("second", 1, 3), "from its checkpoint"
    assert first.left is second.left is None, "the sweep has no plan, from which the time left would follow"
    assert second.silent == pytest.approx(25, abs=5) and list(alive.devices) == ["A100"]
    assert running_packs(store, "s") == [], "its driver let go of them"


@pytest.mark.parametrize(
    ("content", "curve"), [({}, True), ({"sampler": "tpe"}, False), ({"sampler": "qmc", "warm": ["rows"]}, False)]
)
def test_a_search_that_learns_or_begins_with_known_settings_has_no_expected_curve(
    store: Store, content: dict[str, object], curve: bool
) -> None:
    store.add_sweep("s", content)
    requested = [trial("lem", 1), *(trial("lem", k, phase="search") for k in (7, 8))]
    store.add_trials("s", requested, [about(c) for c in requested])
    store.write([], [ok(requested[0], 0.5), *(ok(c, None) for c in requested[1:])])
    [actual] = search_curves(store, read_board(store))
    assert draws_are_dependent(store, "s") is not curve
    assert (len(actual.curve), bool(actual.why)) == ((2, False) if curve else (0, True))
