"""A trial is trained by one driver at a time, on SQLite and on PostgreSQL alike, whatever becomes of the others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import sqlalchemy as sa

from longwave.platform.about import about
from longwave.platform.cli.main import main
from longwave.platform.records.report import Report, Rung
from longwave.platform.records.run import Point, Run
from longwave.platform.records.stored import SweepCost
from longwave.platform.storage import leases as leasing
from longwave.platform.storage.checksums import find_mismatches
from longwave.platform.storage.lease_tables import ArchiveRow, AttemptRow, CohortRow, DriverRow
from longwave.platform.storage.leases import LeaseLostError, Leases, read_drivers
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.trials import all_trials

Tiny = Callable[..., SweepFile]
OpenStore = Callable[[str], Store]


@pytest.fixture
def filled(any_store_url: str, tiny: Tiny, open_store: OpenStore) -> tuple[Store, list[str]]:
    """A store with the plan of one sweep, and its trials."""
    store, trials = open_store(any_store_url), all_trials(resolve(tiny()), {})
    store.add_sweep("tiny", {"trials": 4})
    store.add_trials("tiny", trials, [about(c) for c in trials])
    return store, [c.id for c in trials]


def points(trial: str, epochs: range, loss: float = 1.0) -> list[Point]:
    return [Point(trial, e, loss / e, loss * 2 / e, 0.5 * e, 1.7e9 + e) for e in epochs]


def attempts(store: Store, trial: str) -> list[tuple[int, int, str, str]]:
    query = sa.select(AttemptRow.number, AttemptRow.epoch, AttemptRow.status, AttemptRow.reason)
    with store.reading() as connection:
        return [
            tuple(r) for r in connection.execute(query.where(AttemptRow.trial == trial).order_by(AttemptRow.number))
        ]  # type: ignore[misc]


def archived(store: Store, trial: str) -> list[tuple[int, int, float]]:
    query = sa.select(ArchiveRow.attempt, ArchiveRow.epoch, ArchiveRow.loss).where(ArchiveRow.trial == trial)
    with store.reading() as connection:
        return [tuple(r) for r in connection.execute(query.order_by(ArchiveRow.attempt, ArchiveRow.epoch))]  # type: ignore[misc]


def test_a_trial_is_leased_by_one_driver_at_a_time_and_given_back(filled: tuple[Store, list[str]]) -> None:
    store, trials = filled
    with Leases(store, "tiny") as first, Leases(store, "tiny") as second:
        assert first.take(trials[:5]) == {*trials[:5]}
        assert second.take(trials) == {*trials[5:]}
        first.release(trials[:2])
        assert second.take(trials) == {*trials[:2], *trials[5:]}
        assert first.fences.keys() == {*trials[2:5]} and second.fences[trials[0]] == first.fences[trials[2]] + 1
    assert read_drivers(store) == []


def test_many_drivers_that_take_at_once_share_the_trials_without_overlap(
    filled: tuple[Store, list[str]], open_store: OpenStore
) -> None:
    store, trials = filled
    crowd = [Leases(open_store(store.url), "tiny").__enter__() for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        leased = list(pool.map(lambda driver: [driver.take([trial]) for trial in trials], crowd))
    assert sorted(trial for batches in leased for one in batches for trial in one) == sorted(trials)


def test_a_driver_that_is_not_heard_of_loses_its_leases_and_its_late_writes_are_refused(
    filled: tuple[Store, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, trials = filled
    with monkeypatch.context() as short:
        short.setattr(leasing, "SECONDS", 0.2)
        zombie = Leases(store, "tiny").__enter__()
    zombie.take(trials)
    zombie.write(Report(began=dict.fromkeys(trials, 0)))
    time.sleep(0.3)
    assert [d.alive for d in read_drivers(store)] == [False]
    with Leases(store, "tiny") as heir:
        assert heir.take(trials) == {*trials}
        with pytest.raises(
            LeaseLostError, match=r"Another process has taken over 1 of these trials, .* are not written"
        ):
            zombie.write(Report(points(trials[0], range(1, 3)), [Run(trials[0], "ok", valid=0.5)]))
        assert store.curves(trials) == [] and {t.status for t in store.trials("tiny")} == {"planned"}
        zombie.release(trials)  # a late word of it frees nothing
        heir.write(Report(began={trials[0]: 0}))
        assert {t.status for t in store.trials("tiny") if t.config.id == trials[0]} == {"running"}


def test_a_heartbeat_keeps_leases_and_brings_what_the_sweep_is_told(
    filled: tuple[Store, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, trials = filled
    monkeypatch.setattr(leasing, "SECONDS", 1.8)
    with Leases(store, "tiny") as lively, Leases(store, "tiny") as other:
        lively.take(trials)
        store.set_state("tiny", "pause")
        for _ in range(4):
            time.sleep(0.5)
            assert lively.beat("at work") == "pause" and other.beat("") == "pause"
        assert other.take(trials) == set()
        assert [(d.note, d.alive) for d in read_drivers(store, "tiny")] == [("at work", True), ("", True)]


@pytest.mark.integration
def test_the_leases_of_a_process_that_was_killed_are_free_after_two_of_its_beats(
    filled: tuple[Store, list[str]],
) -> None:
    store, trials = filled
    environment = {**os.environ, "LONGWAVE_LEASE_SECONDS": "9"}
    program = (
        "import sys, time\n"
        "from longwave.platform.storage.leases import Leases\n"
        "from longwave.platform.storage.store import Store\n"
        f"Leases(Store({store.url!r}), 'tiny').__enter__().take({trials!r})\n"
        "print('held', flush=True); time.sleep(60)\n"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as held:
        assert held.stdout and held.stdout.readline() == "held\n"
        with Leases(store, "tiny") as other:
            assert other.take(trials) == set()
            held.send_signal(signal.SIGKILL)
            held.wait()
            silent = 0.0
            while not (leased := other.take(trials)):
                silent = read_drivers(store)[0].silent
                time.sleep(0.05)
            assert leased == {*trials} and silent < 4, "two beats of 1.5 s, and no lease of 9 s"


def test_leases_whose_first_release_was_not_committed_are_given_back_by_the_second(
    filled: tuple[Store, list[str]],
) -> None:
    store, trials = filled
    lost = 0

    def fail(connection: sa.Connection) -> None:
        nonlocal lost
        lost += 1
        if lost == 1:
            raise sa.exc.OperationalError("COMMIT", {}, OSError("the server is away"), connection_invalidated=True)

    with Leases(store, "tiny") as first, Leases(store, "tiny") as second:
        first.take(trials)
        sa.event.listen(store.engine, "commit", fail)
        first.release(trials[:3])
        assert lost == 2 and first.fences.keys() == {*trials[3:]}
        assert second.take(trials) == {*trials[:3]}


def test_a_second_attempt_archives_what_it_does_not_stand_on(filled: tuple[Store, list[str]]) -> None:
    store, (trial, other, *_) = filled
    with Leases(store, "tiny") as driver:
        driver.take([trial, other])
        driver.write(Report(began={trial: 0, other: 0}))
        driver.write(Report([*points(trial, range(1, 6)), *points(other, range(1, 6))]))
        driver.write(Report(points(trial, range(1, 4)), began={trial: 3}))  # from a checkpoint of epoch 3
        assert store.curves([trial]) == points(trial, range(1, 4))
        driver.write(Report(points(trial, range(4, 7), loss=7.0), [Run(trial, "ok", epochs=6, valid=0.1)]))
        assert store.curves([trial]) == [*points(trial, range(1, 4)), *points(trial, range(4, 7), loss=7.0)]
        assert store.curves([other]) == points(other, range(1, 6))
        assert archived(store, trial) == [(1, 4, 1 / 4), (1, 5, 1 / 5)] and archived(store, other) == []
        assert attempts(store, trial) == [(1, 0, "left", ""), (2, 3, "ok", "")]
    assert attempts(store, other) == [(1, 0, "left", "its driver released it")]


def test_a_checkpoint_of_an_older_attempt_replaces_what_came_between(filled: tuple[Store, list[str]]) -> None:
    store, (trial, *_) = filled
    with Leases(store, "tiny") as driver:
        driver.take([trial])
        driver.write(Report(points(trial, range(1, 1)), began={trial: 0}))
        driver.write(Report(points(trial, range(1, 5), loss=9.0)))  # another folder's attempt
        driver.write(Report(points(trial, range(1, 3)), began={trial: 2}))
        assert store.curves([trial]) == points(trial, range(1, 3))
        assert archived(store, trial) == [(1, e, 9.0 / e) for e in range(1, 5)]


def test_a_rung_is_decided_once_and_a_company_tells_who_is_left(
    any_store_url: str, open_store: OpenStore, tiny: Tiny
) -> None:
    store = open_store(any_store_url)
    trials = all_trials(resolve(tiny(models=["lem"], halving={"eta": 2, "first": 2})), {})
    store.add_sweep("tiny", {})
    store.add_trials("tiny", trials, [about(c) for c in trials])
    cohort, ids = str(trials[0].halving["cohort"]), [c.id for c in trials]  # type: ignore[index]
    assert store.cohort(cohort, "tiny").members == tuple(sorted(ids))
    with Leases(store, "tiny") as driver:
        driver.take(ids)
        driver.write(Report(rungs=[Rung(cohort, 2, i, 0.5) for i in ids[:2]]))
        driver.write(Report(rungs=[Rung(cohort, 2, i, 0.9, True) for i in ids[:2]]))
        failed = Run(ids[3], "failed", "x", epochs=1, valid=0.05)
        driver.write(Report(rungs=[Rung(cohort, 2, ids[0], 0.1, False)], runs=[failed]))
        driver.write(Report(runs=[Run(ids[2], "ok", epochs=1, valid=0.1)]))
    decided = store.cohort(cohort, "tiny")
    assert decided.gone == dict.fromkeys(ids[2:], 1) and decided.scores == {ids[2]: 0.1}
    assert sorted(decided.rungs, key=lambda r: r.trial) == [Rung(cohort, 2, i, 0.5, True) for i in sorted(ids[:2])]
    with store.reading() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(CohortRow)) == len(ids) + 2


def test_a_failed_trial_that_is_tried_again_keeps_how_it_failed(filled: tuple[Store, list[str]]) -> None:
    store, (bad, good, *_) = filled
    with Leases(store, "tiny") as driver:
        driver.take([bad, good])
        driver.write(Report(began={bad: 0, good: 0}))
        driver.write(
            Report(points(bad, range(1, 3)), [Run(bad, "failed", "the disk is full"), Run(good, "ok", valid=1.0)])
        )
    assert store.reopen_failed("tiny") == 1 and store.reopen_failed("tiny") == 0
    again = {t.config.id: t for t in store.trials("tiny")}
    assert (again[bad].status, again[bad].run, again[good].status) == ("planned", None, "ok")
    assert attempts(store, bad) == [(1, 0, "failed", "the disk is full")]
    with Leases(store, "tiny") as driver:
        assert driver.take([bad, good]) == {bad}
        driver.write(Report(began={bad: 0}))
        driver.write(Report(points(bad, range(1, 2), loss=3.0), [Run(bad, "ok", epochs=1, valid=0.2)]))
    assert [t.status for t in store.trials_by_id([bad])] == ["ok"]
    assert archived(store, bad) == [(1, 1, 1.0), (1, 2, 0.5)] and store.curves([bad]) == points(bad, range(1, 2), 3.0)


def test_what_has_ended_takes_no_more_epochs(filled: tuple[Store, list[str]]) -> None:
    store, (trial, *_) = filled
    store.write(points(trial, range(1, 3)), [Run(trial, "ok", epochs=2, valid=0.5)])
    store.write(points(trial, range(1, 5), loss=4.0), [])
    assert store.curves([trial]) == points(trial, range(1, 3))


def test_a_sweep_tells_what_it_has_cost_over_all_its_drivers(filled: tuple[Store, list[str]]) -> None:
    store, _ = filled
    with Leases(store, "tiny") as first:
        first.spent = lambda: {"used": {"A100": 1.5, "cpu": 2.0}, "expected": {"A100": 1.0, "": 2.0}}
        time.sleep(0.05)
        first.beat("")
    with Leases(store, "tiny") as second:
        second.spent = lambda: {"used": {"A100": 0.25}}
        second.beat("")
        assert store.cost("tiny").used == {"A100": 1.75, "cpu": 2.0}
        second.spent = lambda: {"used": {"A100": 0.5}, "expected": {"A100": 0.75, "": 1.0}}
    cost = store.cost("tiny")
    assert 0.05 <= cost.ran < 30 and cost.used == {"A100": 2.0, "cpu": 2.0}
    assert cost.expected == {"A100": 1.75, "": 3.0} and store.cost("nobody") == SweepCost()
    with store.transaction() as connection:  # the database's clock is set back an hour while the first one runs
        first_one = sa.update(DriverRow).where(DriverRow.owner == first.owner)
        connection.execute(first_one.values(started=DriverRow.heartbeat + 3600))
    assert 0 <= store.cost("tiny").ran < 30


def test_a_training_that_went_back_behind_a_trials_end_changes_nothing_of_it(filled: tuple[Store, list[str]]) -> None:
    store, (one, other, *_) = filled
    with Leases(store, "tiny") as driver:
        driver.take([one, other])
        driver.write(Report(began={one: 0, other: 0}))
        driver.write(Report(points(one, range(1, 4)), [Run(one, "stopped", "halved", 3, 2, 0.5)]))
        before = store.curves([one]), attempts(store, one)
        again = [replace(p, seconds=p.seconds + 1, at=p.at + 60) for p in points(one, range(1, 4))]
        driver.write(Report(again[:1], began={one: 1, other: 0}))
        driver.write(Report([*again[1:], *points(other, range(1, 4))], [Run(one, "ok", "", 3, 2, 0.5)]))
        assert (store.curves([one]), attempts(store, one)) == before and archived(store, one) == []
        assert len(store.curves([other])) == 3 and [n for n, *_ in attempts(store, other)] == [1, 2]
        with store.reading() as connection:
            assert find_mismatches(connection) == {}


def test_a_failed_search_trial_stays_as_it_is_once_a_winner_has_been_chosen(
    store: Store, tiny: Tiny, capsys: pytest.CaptureFixture[str]
) -> None:
    first, *_, other = all_trials(resolve(tiny(models=["lem", "gru"])), {})
    won, waiting = replace(first, phase="retrain", seed=7), replace(other, phase="race", seed=8)
    failed = [first, won, other, waiting]
    store.add_sweep("tiny", {})
    store.add_trials("tiny", failed, [about(c) for c in failed], [0, 0, 1, 1])
    store.write([], [Run(c.id, "failed", "the disk is full") for c in failed])
    assert main(["sweep", "retry", "tiny", "--store", store.url]) == 0
    assert capsys.readouterr().out == (
        "tiny: 2 failed trials are queued again; not queued, because later trials followed from them: 2. "
        f"Train with: longwave sweep resume tiny --store {store.url}\n"
    )
    assert {t.config.id for t in store.trials("tiny") if t.status == "failed"} == {first.id, other.id}


@pytest.mark.parametrize("chosen", [False, True])
def test_a_failed_trial_is_not_tried_again_if_another_sweep_that_shares_it_has_chosen_a_winner(
    store: Store, tiny: Tiny, chosen: bool
) -> None:
    bad, good, extra = all_trials(resolve(tiny(models=["lem"], trials=3)), {})[:3]
    won = [replace(good, phase="retrain", seed=7)] * chosen
    for name, shared in (("short", [bad, good]), ("long", [bad, good, extra, *won])):
        store.add_sweep(name, {})
        store.add_trials(name, shared, [about(c) for c in shared], [0] * len(shared))
    store.write([], [Run(c.id, "failed", "the disk is full") for c in (bad, extra)])
    assert store.reopen_failed("short") == (0 if chosen else 1)
    assert [t.status for t in store.trials_by_id([extra.id])] == ["failed"]


@pytest.mark.parametrize("second_heat", [False, True])
def test_a_failed_trial_of_a_race_is_tried_again_unless_the_second_heat_followed_from_it(
    store: Store, tiny: Tiny, second_heat: bool
) -> None:
    finalists = all_trials(resolve(tiny(models=["lem"], trials=3)), {})[:3]
    first = [replace(config, phase="race", seed=7) for config in finalists]
    second = [replace(config, phase="race", seed=seed) for config in finalists[:2] for seed in (8, 9)] * second_heat
    failed = [first[0], first[2], *second[:1]]
    store.add_sweep("tiny", {})
    store.add_trials("tiny", [*first, *second], [about(c) for c in [*first, *second]], [0] * len([*first, *second]))
    store.write([], [Run(c.id, "failed", "the disk is full") for c in failed])
    assert store.reopen_failed("tiny") == (1 if second_heat else 2)
    kept = {first[0].id, first[2].id} if second_heat else set()
    assert {t.config.id for t in store.trials("tiny") if t.status == "failed"} == kept
