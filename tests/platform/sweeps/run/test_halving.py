"""Trials that compete in successive halving and train in several packs: what goes on follows from what is recorded."""

from __future__ import annotations

import math
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st
from interrupted_drivers import run, run_disturbed
from small_sweeps import small

from longwave.platform.errors import ConfigError
from longwave.platform.records.report import Cohort, Report, Rung
from longwave.platform.storage.lease_tables import AttemptRow
from longwave.platform.storage.leases import Leases
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.place.packing import divide_into_packs
from longwave.platform.sweeps.place.workers import Job, Workers
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.stored import missing_trials, read_sweep_plan, store_plan
from longwave.platform.sweeps.plan.trials import all_trials
from longwave.platform.sweeps.run import executor
from longwave.platform.sweeps.run.queue import PackQueue, cohort_name, decide_rungs, packs_to_join
from longwave.platform.training import train as training

TRIALS, EPOCHS, RUNGS = 6, 4, (1, 2)
Ends = dict[str, tuple[str, int]]


def halved(pack: int | str = "auto", **more: Any) -> SweepFile:
    """Return a sweep of one cohort, of which the better half goes on after epochs 1 and 2."""
    halving = {"eta": 2, "first": 1, "cohort": TRIALS}
    sizes = {"hidden": 3, "batch": 4, "steps": 2, "epochs": EPOCHS, "trials": TRIALS, "retrain": 1}
    return small(**{**sizes, "models": ["lem"], "pack": pack, "halving": halving, **more})


def ends(store: Store) -> Ends:
    """Return how each search trial ended."""
    return {t.config.id: (t.status, t.run.epochs) for t in store.trials("tiny") if t.run and t.config.phase == "search"}


def by_force(store: Store) -> Ends:
    """Return how each search trial must have ended, by the epochs that are recorded alone."""
    alive = [t.config.id for t in store.trials("tiny") if t.config.phase == "search"]
    valids = {trial: [p.valid for p in store.curves([trial])] for trial in alive}
    actual: Ends = {}
    for rung in RUNGS:
        order = sorted(alive, key=lambda trial: (min(valids[trial][:rung]), trial))
        alive = order[: math.ceil(len(order) / 2)]
        actual |= dict.fromkeys(order[len(alive) :], ("stopped", rung))
    return actual | dict.fromkeys(alive, ("ok", EPOCHS))


def check(store: Store, whole: Store) -> None:
    """Assert that a sweep kept the trials that its scores say, and those of one that nothing disturbed."""
    assert ends(store) == by_force(store) == ends(whole)
    ours, theirs = ({t.config.id: t for t in each.trials("tiny")} for each in (store, whole))
    assert ours.keys() == theirs.keys()  # the winner's retraining too
    for trial, mine in ours.items():
        assert mine.run and [p.epoch for p in store.curves([trial])] == list(range(1, mine.run.epochs + 1))
        assert mine.run.valid == pytest.approx(theirs[trial].run.valid, rel=1e-4)  # type: ignore[union-attr]
    [cohort] = {cohort_name(t.config) for t in ours.values()} - {""}
    rungs = store.cohort(cohort, "tiny").rungs
    assert {(r.epoch, r.trial): r.stays for r in rungs} == {
        (epoch, trial): last > epoch for trial, (_, last) in ends(store).items() for epoch in RUNGS if last >= epoch
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The sweep in one pack, undisturbed."""
    folder = tmp_path_factory.mktemp("whole")
    with Store(f"sqlite:///{folder}/store.db") as store:
        run(halved(TRIALS), store, folder)
        yield store


@pytest.mark.integration
@pytest.mark.parametrize("pack", [1, 4])
def test_packs_of_a_cohort_keep_the_trials_that_one_pack_would(
    pack: int, whole: Store, store: Store, tmp_path: Path
) -> None:
    file = halved(pack)
    assert {c.id for c in all_trials(resolve(file), {})} == set(ends(whole))  # the pack's size is no part of a trial
    run(file, store, tmp_path)
    check(store, whole)
    assert {t.pack for t in store.trials("tiny") if t.config.phase == "search"} != {None}


DISTURBANCES = [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(100, 140))]
"""Seeds of ``run_disturbed``, which ends a sweep half a dozen times."""


@pytest.mark.integration
@pytest.mark.parametrize("seed", DISTURBANCES)
def test_a_cohort_in_packs_whose_drivers_die_by_chance_keeps_the_same(
    seed: int, whole: Store, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_disturbed(halved(), seed, store, tmp_path, monkeypatch)
    check(store, whole)


@pytest.mark.slow  # a real Ray with fewer workers than packs
def test_two_workers_on_ray_train_a_cohort_of_six_packs_without_waiting_for_ever(
    whole: Store, store: Store, tmp_path: Path, ray_on_two_cores: None
) -> None:
    run(halved(1), store, tmp_path, count=2, here=False)
    check(store, whole)


def test_a_rung_is_decided_in_the_store_before_any_pack_goes_on(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cohorts: list[list[bool | None]] = []
    real = executor.train_job

    def train(key: str, job: Job, *others: Any) -> Any:
        if job.cohort and job.cohort.rungs:
            last = max(r.epoch for r in job.cohort.rungs)
            here, there = (
                [r for r in c.rungs if r.epoch == last] for c in (job.cohort, store.cohort(job.cohort.cohort, "tiny"))
            )
            assert {(r.trial, r.stays) for r in here} == {(r.trial, r.stays) for r in there}
            cohorts.append([r.stays for r in here])
        return real(key, job, *others)

    monkeypatch.setattr(executor, "train_job", train)
    run(halved(2), store, tmp_path)
    assert cohorts and all(None not in stays for stays in cohorts)


@pytest.mark.parametrize(("task", "best"), [("adding", [0, 1, 2]), ("digits", [3, 4, 5])])
def test_a_rung_is_decided_by_what_the_tasks_metric_should_be(task: str, best: list[int], store: Store) -> None:
    variant, steps = ("N=20", 2) if task == "adding" else (None, None)
    sweep = store_plan(resolve(halved(task=task, variant=variant, steps=steps)), store)
    trials = list(store.configs([a.id for a in missing_trials(sweep, store)]).values())
    scores = [Rung(cohort_name(c), 1, c.id, k / 10) for k, c in enumerate(trials)]
    with Leases(store, "tiny") as leases:
        leases.take([c.id for c in trials])
        leases.write(Report(rungs=scores))
        [cohort] = decide_rungs(sweep, store, leases, trials).values()
    stays = {rung.trial: rung.stays for rung in store.cohort(cohort.cohort, "tiny").rungs}
    assert [k for k, c in enumerate(trials) if stays[c.id]] == best


def test_a_pack_that_waits_at_a_rung_gives_its_worker_back(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    endings: list[tuple[int, str]] = []
    real = executor.train_job

    def train(key: str, job: Job, *others: Any) -> Any:
        endings.append((len(job.configs), how := real(key, job, *others)))
        return how

    monkeypatch.setattr(executor, "train_job", train)
    run(halved(3, retrain=0), store, tmp_path)
    assert endings[:2] == [(3, "paused"), (3, "paused")] and {how for _, how in endings[-1:]} == {"over"}


def test_a_cohort_is_divided_into_packs_of_the_size_asked_for_or_over_the_workers() -> None:
    trials = all_trials(resolve(halved(trials=10)), {})
    sizes = [sum(cohort_name(c) == name for c in trials) for name in dict.fromkeys(map(cohort_name, trials))]
    assert sizes == [6, 4]

    def packs(size: Any, workers: int, together: bool) -> list[int]:
        return [len(p) for p in divide_into_packs(trials, workers, size, lambda _: 1, 2**30, (), together).values()]

    assert packs(2, 1, False) == [2, 2, 2, 2, 2] and packs("auto", 5, False) == [2, 2, 2, 2, 2]
    assert packs("auto", 1, False) == packs(2, 1, True) == [6, 4]


def test_words_and_sizes_compete_where_a_cohort_is_asked_for_and_lengths_never_do() -> None:
    space = {"lem": {"optimiser": ["adam", "sgd"], "momentum": {"low": 0.1, "high": 0.9}, "batch": [2, 4]}}
    trials = all_trials(resolve(halved(batch=None, space=space, trials=12, halving={"cohort": 12})), {})
    assert len({c.shape for c in trials}) > 1 and len({cohort_name(c) for c in trials}) == 1
    with pytest.raises(
        ConfigError, match=r"epochs is searched, but trials that compete must have the same length\. Set epochs to one"
    ):
        resolve(halved(epochs=None, space={"lem": {"epochs": [2, 4]}}))


@pytest.mark.integration
def test_trials_of_two_shapes_compete_to_the_end(store: Store, tmp_path: Path) -> None:
    run(halved(space={"lem": {"optimiser": ["adam", "sgd"], "lr": {"low": 0.001, "high": 0.01}}}), store, tmp_path)
    assert len({t.config.shape for t in store.trials("tiny") if t.config.phase == "search"}) == 2
    assert ends(store) == by_force(store)


def test_without_a_cohort_asked_for_nothing_has_another_name() -> None:
    plain = all_trials(resolve(halved(3, halving={"eta": 2, "first": 1})), {})
    message = all_trials(resolve(halved(1, halving={"eta": 2, "first": 1, "cohort": 3})), {})
    assert plain == message and all(set(c.halving or {}) == {"eta", "first", "cohort"} for c in plain)


@pytest.mark.parametrize(("value", "line"), [("1", "must be at least 2, got 1"), ('"all"', "must be a whole number")])
def test_a_cohort_that_is_no_number_of_trials_is_a_line(value: str, line: str) -> None:
    with pytest.raises(ConfigError, match=f"halving.cohort: .*{line}"):
        small(**tomllib.loads(f"[halving]\ncohort = {value}"))


def test_a_cohort_of_a_sweep_that_is_resumed_is_that_of_its_plan(store: Store) -> None:
    file = halved(2)
    store_plan(resolve(file), store)
    known = read_sweep_plan(store, "tiny")
    assert known.file.halving and known.file.halving.cohort == TRIALS
    assert {a.id for a in missing_trials(known, store)} == {c.id for c in all_trials(resolve(file), {})}


def test_what_a_rung_left_of_several_packs_goes_on_in_fewer_from_where_it_stood(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packs: list[tuple[int, int]] = []
    real = executor.train_job

    def train(key: str, job: Job, *others: Any) -> Any:
        packs.append((len(job.configs), len(job.joined)))
        return real(key, job, *others)

    monkeypatch.setattr(executor, "train_job", train)
    run(halved(2, retrain=0), store, tmp_path)
    assert packs[:3] == [(2, 0)] * 3  # six trials; three of them go on, then two
    assert sum(size for size, _ in packs[3:5]) == 6 and sum(joins for _, joins in packs[3:5]) in (2, 3)
    assert packs[5:] == [(3, 2)]  # the last pack holds the two and ends the third
    query = sa.select(AttemptRow.trial, AttemptRow.epoch).order_by(AttemptRow.number)
    with store.reading() as connection:
        began: dict[str, list[int]] = {}
        for trial, epoch in connection.execute(query):
            began.setdefault(trial, []).append(epoch)
    for trial, (_, last) in ends(store).items():  # nobody trained an epoch twice
        assert began[trial] == [0, *(rung for rung in RUNGS if rung <= last)]
    assert ends(store) == by_force(store) and not [*(tmp_path / "checkpoints").glob("*")]


def test_a_joint_pack_that_died_before_it_saved_goes_on_from_its_rung_under_a_later_driver(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    died: list[str] = []

    def die_joint(key: str, job: Job, *others: Any) -> Any:
        if died:
            raise RuntimeError("the driver dies too")
        died.extend(job.joined if len(job.configs) == 3 else ())  # after the second rung, in packs of one and two
        return "died" if died else real(key, job, *others)

    real = executor.train_job
    monkeypatch.setattr(executor, "train_job", die_joint)
    with pytest.raises(RuntimeError, match="the driver dies too"):
        run(halved(2, retrain=0), store, tmp_path)
    monkeypatch.setattr(executor, "train_job", real)
    run(halved(2, retrain=0), store, tmp_path)
    with store.reading() as connection:
        began = connection.scalars(sa.select(AttemptRow.epoch)).all()
    assert died and began.count(0) == TRIALS, "no trial began anew"
    assert ends(store) == by_force(store) and not [*(tmp_path / "checkpoints").glob("*")]


@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=5), min_size=1, max_size=8), st.integers(1, 6))
@settings(max_examples=50)
def test_packs_are_joined_whole_and_hold_no_more_than_they_may(stays: list[list[bool]], most: int) -> None:
    [first, *_] = all_trials(resolve(halved()), {})
    seeds = iter(range(99))
    packs = {str(k): [replace(first, seed=next(seeds)) for _ in part] for k, part in enumerate(stays)}
    rungs = [
        Rung("c", 1, c.id, 0.5, stay)
        for part, kept in zip(packs.values(), stays, strict=True)
        for c, stay in zip(part, kept, strict=True)
    ]
    cohort = Cohort(cohort_name(first), tuple(r.trial for r in rungs), {}, tuple(rungs))
    joins = packs_to_join(packs, {cohort.cohort: cohort}, lambda config, total: most)
    inside = [key for part in joins.values() for key in part]
    assert len(inside) == len(set(inside)) and all(len(part) > 1 for part in joins.values())
    for part in joins.values():
        assert sum(sum(stays[int(key)]) for key in part) <= most
    undecided = replace(cohort, rungs=(*rungs[1:], replace(rungs[0], stays=None)))
    ahead = replace(cohort, rungs=(*rungs, Rung("c", 2, rungs[0].trial, 0.5, True)))
    waiting = replace(cohort, members=(*cohort.members, "another"))
    for other in (undecided, waiting, *([ahead] if len(rungs) > 1 else [])):
        assert packs_to_join(packs, {cohort.cohort: other}, lambda config, total: most) == {}


def test_a_pack_that_ran_out_of_memory_is_joined_with_no_other(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    split: list[bool] = []
    real = training._train

    def tight(configs: Any, *others: Any) -> Any:
        if len(configs) == 3:
            split.append(True)
            raise MemoryError
        return real(configs, *others)

    monkeypatch.setattr(training, "_train", tight)
    trained, joins = executor.train_job, list[int]()

    def train(key: str, job: Job, *others: Any) -> Any:
        joins.append(len(job.joined))
        return trained(key, job, *others)

    monkeypatch.setattr(executor, "train_job", train)
    run(halved(3, retrain=0), store, tmp_path)
    assert split and ends(store) == by_force(store) and not any(joins)


@pytest.mark.integration
def test_sweeps_that_halve_the_same_draws_by_other_rules_share_a_name_of_cohorts_and_no_decision(
    store: Store, tmp_path: Path
) -> None:
    other = halved(name="other", halving={"eta": 6, "first": 3, "cohort": TRIALS})
    for file in (other, halved()):
        run(file, store, tmp_path)
    names = {name: {cohort_name(t.config) for t in store.trials(name)} - {""} for name in ("other", "tiny")}
    assert names["other"] == names["tiny"] and ends(store) == by_force(store)
    [cohort] = names["tiny"]
    members = [{*store.cohort(cohort, name).members} for name in names]
    assert [len(ids) for ids in members] == [TRIALS, TRIALS] and not members[0] & members[1]


def test_what_a_death_cut_is_not_joined_again(store: Store, here: Workers) -> None:
    sweep = store_plan(resolve(halved(2)), store)
    left = missing_trials(sweep, store)
    with Leases(store, "tiny") as leases:
        first = PackQueue(sweep, store, leases, here, left, {}).next()
        [cohort] = {cohort_name(c) for job in first.values() for c in job.configs}
        leases.write(Report(rungs=[Rung(cohort, 1, a.id, k / 10) for k, a in enumerate(left)]))
        assert {len(job.joined) for job in PackQueue(sweep, store, leases, here, left, {}).next().values()} == {0, 2}
        again = PackQueue(sweep, store, leases, here, left, dict.fromkeys(first, ("dead",))).next()
        assert again.keys() == first.keys() and all(job.before == ("dead",) for job in again.values())
    assert [r.stays for r in store.cohort(cohort, "tiny").rungs if r.trial == left[0].id] == [True]
