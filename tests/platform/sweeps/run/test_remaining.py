"""What a sweep is told to have yet to train: as many epochs as are trained then, whatever ends early."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from small_sweeps import small

from longwave.platform.errors import StoreError
from longwave.platform.records.report import Cohort, Rung
from longwave.platform.records.run import Point
from longwave.platform.records.stored import EpochCounts
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.file.values import Halving
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.stored import plan_trials, store_plan
from longwave.platform.sweeps.run import driver
from longwave.platform.sweeps.run.progress import Progress
from longwave.platform.sweeps.run.status import (
    cohort_sizes,
    epochs_with_halving,
    remaining_by_phase,
    remaining_epochs,
    sweep_status,
)
from longwave.platform.training.stopping import decide_rung

HALVING = {"eta": 2, "first": 1}


@given(st.integers(1, 40), st.integers(1, 70), st.integers(2, 4), st.integers(1, 9))
def test_a_company_trains_as_many_epochs_as_its_decisions_leave(n: int, epochs: int, eta: int, first: int) -> None:
    left, trained = [f"{k:02d}" for k in range(n)], 0
    decides = {first * eta**k for k in range(10)}
    for epoch in range(1, epochs + 1):
        trained += len(left)
        if epoch < epochs and epoch in decides:
            at = tuple(Rung("c", epoch, trial, float(trial)) for trial in left)
            actual = decide_rung(Cohort("c", tuple(left), {}, at), {"eta": eta}, epoch, "min")
            left = [trial for trial in left if actual and actual[0][trial].stays]
    assert epochs_with_halving(n, epochs, Halving(eta=eta, first=first)) == trained


@pytest.mark.parametrize(
    ("file", "sizes"),
    [
        ({}, [4]),
        ({"trials": 7, "rounds": 3}, [2, 2, 3]),
        ({"trials": 7, "pack": 3}, [1, 3, 3]),
        ({"trials": 7, "pack": 3, "halving": {"cohort": 5}}, [2, 5]),
        ({"wider": {"trials": 3, "space": {"lem": {"lr": {"low": 1e-5, "high": 1.0}}}}}, [3, 4]),
    ],
)
def test_who_competes_is_of_one_round_and_of_one_pack_or_cohort(file: dict[str, Any], sizes: list[int]) -> None:
    assert sorted(size for size in cohort_sizes(small(**{"halving": HALVING, **file}))) == sizes


@pytest.mark.parametrize(
    ("halving", "search", "again", "left"),
    [
        (None, EpochCounts(), EpochCounts(), 4 * 6 + 2 * 6),
        (None, EpochCounts(1, 3, 5), EpochCounts(), 3 * 6 - 5 + 2 * 6),
        (None, EpochCounts(4, 9), EpochCounts(1, 2, 4), 6 - 4),
        (
            HALVING,
            EpochCounts(),
            EpochCounts(),
            4 + 2 + 2 + 2 + 2 * 6,
        ),  # at 1 and 2 epochs half stay, at 4 the only one does
        (HALVING, EpochCounts(2, 2, 3), EpochCounts(), 10 - 5 + 2 * 6),
        (HALVING, EpochCounts(2, 9, 3), EpochCounts(), 2 * 6),
        (HALVING, EpochCounts(4, 5), EpochCounts(2, 7), 0),
    ],
)
def test_what_is_left_counts_who_ended_and_how_far_the_others_are(
    halving: object, search: EpochCounts, again: EpochCounts, left: int
) -> None:
    none = EpochCounts()
    assert of_cell(small(halving=halving), search, none, again) == left
    two = {(1, "search"): search, (1, "retrain"): again}
    assert remaining_epochs(small(halving=halving), resolve(small(halving=halving)).cells, two) == left + of_cell(
        small(halving=halving), none, none, none
    )


def of_cell(file: SweepFile, search: EpochCounts, race: EpochCounts, again: EpochCounts) -> int:
    """Return the epochs that a cell of six a trial still has in all phases."""
    return sum(remaining_by_phase(file, 6, {"search": search, "race": race, "retrain": again}).values())


def test_what_is_left_of_a_race_is_counted_until_the_winner_is_retrained() -> None:
    file = small(trials=4, rule=2, retrain=2)  # a race of 4 finalists, then 2 of them twice
    over, none = EpochCounts(4, 24), EpochCounts()
    assert of_cell(file, over, none, none) == (8 + 2) * 6
    assert of_cell(file, over, EpochCounts(3, 18, 2), none) == 5 * 6 - 2 + 2 * 6
    assert of_cell(file, over, EpochCounts(5, 30), EpochCounts(0, 0, 1)) == 2 * 6 - 1


@pytest.mark.integration
def test_a_sweep_with_halving_trains_what_was_expected_of_it(store: Store, tmp_path: Path) -> None:
    file = small(halving=HALVING)
    store_plan(resolve(file), store)
    before = sweep_status(store, "tiny")
    driver.start_sweep(file, store, Workers(1, tmp_path, here=True), None, Console(file=io.StringIO()))
    after = sweep_status(store, "tiny")
    assert (before.epochs, before.expected, before.left) == (0, 2 * (10 + 12), None)
    assert (after.epochs, after.expected, after.left, after.state) == (44, 44, None, "over")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that a live view reads; it stands."""
    now = [100.0]
    monkeypatch.setattr("longwave.platform.sweeps.run.progress.time.monotonic", lambda: now[0])
    return now


def view(store: Store, **changes: Any) -> tuple[Progress, io.StringIO, Sequence[str]]:
    """Return a live view of a sweep of one model, where it prints, and the sweep's trials."""
    out, sweep = io.StringIO(), resolve(small(models=["lem"], retrain=0, **changes))
    trials = plan_trials(store_plan(sweep, store), store)
    shown = Progress(sweep, Console(file=out, width=120))
    shown.plan(trials)
    return shown, out, [a.id for a in trials]


def points(trial: str, first: int, last: int) -> list[Point]:
    """Return epochs of a trial."""
    return [Point(trial, epoch, 0.1, 0.1, 0.0, 0.0) for epoch in range(first, last + 1)]


def message(shown: Progress, out: io.StringIO) -> str:
    """Return what the view shows now."""
    out.truncate(0)
    shown.console.print(shown._render())
    return out.getvalue()


def test_the_time_left_goes_down_with_the_clock_until_it_is_estimated_again(store: Store, clock: list[float]) -> None:
    shown, out, _ = view(store)
    assert "time left not known yet" in message(shown, out)
    shown.read_seconds_left = lambda: 100.0
    shown.estimate_time_left()
    assert "about 1 min 40 s left" in message(shown, out)
    clock[0] += 30.0
    assert "about 1 min 10 s left" in message(shown, out)

    def fail() -> float:
        raise StoreError("database is locked")

    shown.read_seconds_left = fail
    shown.estimate_time_left()
    assert "about 1 min 10 s left" in message(shown, out), "nobody waits for a locked store"
    clock[0] += 300.0
    assert "about 0 s left" in message(shown, out)


@pytest.mark.parametrize("width", [80, 120])
def test_no_line_of_a_live_view_is_wrapped(width: int, store: Store) -> None:
    shown, out, trials = view(store)
    shown.console.width = width
    shown.name = "a-sweep-with-a-long-name" * 4
    shown.started("pack", [SimpleNamespace(id=trial, phase="search", epochs=6) for trial in trials])  # type: ignore[misc]
    shown.report(points(trials[0], 1, 3), [])
    shown.read_seconds_left = lambda: 12345.0
    shown.estimate_time_left()
    shown.running |= {f"pack {k}": f"a long label {k} search ×4" for k in range(9)}
    head, _, training, best = message(shown, out).splitlines()
    assert max(map(len, (head, training, best))) <= width
    assert head.endswith("left") and training.endswith("…") and best.startswith("best ")


def test_a_log_says_when_and_how_far_at_least_each_minute(
    store: Store, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, out, (first, *_) = view(store)
    shown.report(points(first, 1, 3), [])
    shown.read_seconds_left = lambda: 42.0
    waits = iter([False, False, False, True])

    def wait(seconds: float) -> bool:
        clock[0] += 30.0
        return next(waits)

    monkeypatch.setattr(shown._closed, "wait", wait)
    shown._watch_time()
    [line] = out.getvalue().splitlines()
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d tiny: 0 of 4 trials done, 3 of 24 epochs, about 42 s left", line
    ), line


@pytest.mark.parametrize(("goal", "best"), [("min", "0.1"), ("max", "0.9")])
def test_the_best_that_a_view_shows_is_what_the_metric_should_be(goal: str, best: str, store: Store) -> None:
    shown, out, trials = view(store)
    shown.cells = tuple(replace(entry, goal=goal) for entry in shown.cells)
    shown.cell_of_trial = dict.fromkeys(trials, shown.cells[0])
    valids = (0.5, 0.1, 0.9, 0.4)
    shown.report([Point(t, 1, 1.0, valid, 1.0, 0.0) for t, valid in zip(trials, valids, strict=True)], [])
    assert re.search(rf"best \w+ +LEM {best}\n|best \w+ +lem {best}\b", message(shown, out))
