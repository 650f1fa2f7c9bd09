"""Packs are handed out in chunks: few are leased at a time, none is lost, none comes twice, and they are the same."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import Mock

import pytest
import sqlalchemy as sa
from ray.tune.search import Searcher
from rich.console import Console
from scale_parts import NAME, ScaleSize, audit_results, measure_plan, measure_run

from longwave.platform.records.report import Report
from longwave.platform.records.run import Run
from longwave.platform.storage.lease_tables import LeaseRow
from longwave.platform.storage.leases import Leases
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.reading import check_sweep
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.on_ray.listener import PackSearcher
from longwave.platform.sweeps.on_ray.messages import StdinQueue
from longwave.platform.sweeps.place.cluster import Cluster
from longwave.platform.sweeps.place.devices import ClusterNode, DevicePool, Slot
from longwave.platform.sweeps.place.packing import pack_key
from longwave.platform.sweeps.place.workers import Job, Workers
from longwave.platform.sweeps.plan.cells import Sweep
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.stored import missing_trials, store_plan
from longwave.platform.sweeps.run import driver, executor, queue
from longwave.platform.sweeps.run.queue import PackQueue

Tiny = Callable[..., SweepFile]
Trials = dict[str, list[str]]


def all_of(queue: PackQueue) -> list[Trials]:
    """Return the trials of each pack, chunk by chunk."""
    message = iter(lambda: queue.next(), {})
    return [{key: [c.id for c in job.configs] for key, job in chunk.items()} for chunk in message]


def held(store: Store) -> int:
    """Return how many trials are leased."""
    with store.reading() as connection:
        return connection.scalar(sa.select(sa.func.count()).where(LeaseRow.owner != "")) or 0


@pytest.fixture
def sweep(store: Store, tiny: Tiny) -> Sweep:
    return store_plan(resolve(tiny(trials=16, pack=2, retrain=0)), store)


@pytest.mark.parametrize(
    ("a_chunk", "workers", "pack", "halving"),
    [
        (1, 1, 2, False),
        (7, 2, 5, False),
        (40, 8, "auto", False),
        (3, 8, "auto", False),
        (1, 2, 2, True),
        (9, 8, 5, True),
    ],
)
def test_packs_are_the_same_whatever_a_chunk_holds(
    a_chunk: int, workers: int, pack: object, halving: bool, tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    actual: list[list[Trials]] = []
    more = {"halving": {"eta": 2, "cohort": 6}} if halving else {}
    for size in (a_chunk, 1000):
        monkeypatch.setattr(queue, "TRIALS_PER_CHUNK", size)
        with Store(f"sqlite:///{tmp_path}/{size}.db") as store:
            sweep = store_plan(resolve(tiny(trials=12, pack=pack, retrain=0, **more)), store)
            left = missing_trials(sweep, store)
            with Leases(store, "tiny") as leases:
                room = Cluster(DevicePool([ClusterNode(workers)]))
                actual.append(
                    all_of(PackQueue(sweep, store, leases, Workers(workers, tmp_path), left, {}, cluster=room))
                )
            stored = {a.id: a.pack for a in store.planned("tiny")}
    few, [at_once] = actual
    trials = [trial for chunk in few for pack in chunk.values() for trial in pack]
    assert {key: pack for chunk in few for key, pack in chunk.items()} == at_once
    assert sorted(trials) == sorted(stored) and len({*trials}) == 24
    assert {trial: key for key, pack in at_once.items() for trial in pack} == stored
    largest = 6 if halving else max(map(len, at_once.values()))
    assert all(sum(map(len, chunk.values())) <= max(a_chunk, largest) for chunk in few) and len(few) > 24 // (
        a_chunk + 6
    )


@pytest.mark.parametrize(("rule", "sizes"), [(1, [12]), (2, [3, 3, 3, 3])])
def test_trials_of_one_model_that_compete_occupy_all_workers_under_rule_2(
    rule: int, sizes: list[int], tiny: Tiny, store: Store, tmp_path: Path
) -> None:
    file = tiny(models=["lem"], trials=12, retrain=0, rule=rule, halving={"eta": 2})
    sweep = store_plan(resolve(file), store)
    with Leases(store, "tiny") as leases:
        cluster = Cluster(DevicePool([ClusterNode(4)]))
        left = missing_trials(sweep, store)
        [packs] = all_of(PackQueue(sweep, store, leases, Workers(4, tmp_path), left, {}, cluster=cluster))
    assert [*map(len, packs.values())] == sizes


class Crowd:
    """In place of Ray: so many workers, one pack each; at every step one of them ends its trials, or dies."""

    def __init__(self, store: Store, workers: int, dies: int) -> None:
        self.store, self.workers, self.dies, self.most, self.times = store, workers, dies, 0, 0
        self.trained: list[str] = []

    def __call__(self, queue: Iterable[Mapping[str, Job]], sink: executor.Sink, workers: Workers) -> None:
        coming, waiting, at_work = iter(queue), dict[str, Job](), dict[str, Job]()
        more: Mapping[str, Job] | None = next(coming, None)
        while more or waiting or at_work:
            waiting |= more or {}
            while waiting and len(at_work) < self.workers:
                key = next(iter(waiting))
                at_work[key] = waiting.pop(key)
                sink.started(key, Slot())
            self.most = max(self.most, held(self.store))
            self.end(*next(iter(at_work.items())), sink)
            del at_work[next(iter(at_work))]
            sink.flush()
            more = next(coming, None)

    def end(self, key: str, job: Job, sink: executor.Sink) -> None:
        """Let a pack end."""
        self.times += 1
        ids = [c.id for c in job.configs]
        if len(ids) > 1 and self.times % self.dies == 0:
            sink.ended(key, "died", "its worker died")
            return
        sink.report(key, Report(began=dict.fromkeys(ids, 0), runs=[Run(i, "ok", valid=1.0) for i in ids]))
        sink.ended(key, "over")
        self.trained += ids


@pytest.mark.parametrize(
    ("workers", "a_chunk", "dies", "dead"),
    [
        (2, 4, 5, 8),
        *(pytest.param(*case, marks=pytest.mark.integration) for case in [(1, 4, 5, 8), (8, 4, 5, 8), (1, 8, 1000, 0)]),
    ],
)
def test_no_more_is_leased_than_workers_soon_need_and_each_trial_is_trained_once(
    workers: int,
    a_chunk: int,
    dies: int,
    dead: int,
    tiny: Tiny,
    store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crowd = Crowd(store, workers, dies)
    monkeypatch.setattr(queue, "TRIALS_PER_CHUNK", a_chunk)
    monkeypatch.setattr(driver, "run_packs", crowd)
    monkeypatch.setattr(driver, "running_workers", lambda _: nullcontext())
    file, screen = tiny(trials=40, pack=2, retrain=1), Console(file=io.StringIO())
    driver.start_sweep(file, store, Workers(workers, tmp_path, cpu=True), None, screen)
    assert sorted(crowd.trained) == sorted(a.id for a in store.planned("tiny")) and len({*crowd.trained}) == 82
    assert {a.status for a in store.planned("tiny")} == {"ok"} and held(store) == 0
    # What a death left stays leased until the round is over.
    assert 2 * workers < crowd.most <= 2 * (2 * workers) + 2 * a_chunk + 2 * dead


@pytest.mark.integration
@pytest.mark.parametrize("workers", [1, 2, 8])
@pytest.mark.usefixtures("alone")
def test_a_driver_that_ends_between_chunks_is_followed_by_one_that_trains_the_rest(
    workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ended(Exception):
        """In place of a death."""

    def die(_: object) -> None:
        raise Ended("at half")

    monkeypatch.setattr(queue, "TRIALS_PER_CHUNK", 15)
    size, url = ScaleSize(trials=100, workers=workers, pack=5, epochs=5, earlier=0), f"sqlite:///{tmp_path}/s.db"
    measure_plan(url, size)
    with pytest.raises(Ended, match="at half"):
        measure_run(url, size, str(tmp_path), 50, die)
    with Store(url) as store:
        assert held(store) == 0 and len({a.pack for a in store.planned(NAME)}) == 20, "all were divided at once"
    measure_run(url, size, str(tmp_path))
    assert audit_results(url) == {"trials": 150, "lost": 0, "duplicated": 0}
    assert not [*(tmp_path / "checkpoints").iterdir()]


def test_what_another_driver_cut_between_chunks_is_handed_out_as_it_lies_now(
    sweep: Sweep, store: Store, here: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longwave.platform.sweeps.run.queue.TRIALS_PER_CHUNK", 2)
    store.add_sweep("other", {})
    with Leases(store, "tiny") as mine, Leases(store, "other") as other:
        queue = PackQueue(sweep, store, mine, here, missing_trials(sweep, store), {})
        queue.next()
        [(_, job)] = queue.next().items()
        mine.release([c.id for c in job.configs])
        planned_next = store.planned("tiny")[4:6]
        one, two = store.configs([a.id for a in planned_next]).values()
        store.assign({pack_key([one]): [one], pack_key([two]): [two]})
        other.take([two.id])
        assert [*queue.next()] == [pack_key([one])], "whole, under the key that it has by now"
        store.assign({pack_key([c]): [c] for c in store.configs([a.id for a in store.planned("tiny")[6:8]]).values()})
        assert len(queue.next()) == 2


def test_packs_that_two_drivers_divide_at_once_are_those_of_the_first(
    any_store_url: str, open_store: Callable[[str], Store], tiny: Tiny
) -> None:
    store = open_store(any_store_url)
    configs = [
        *store.configs([a.id for a in missing_trials(store_plan(resolve(tiny(models=["lem"])), store), store)]).values()
    ]
    first = store.assign_new({"a": configs[:3]})
    assert first == dict.fromkeys((c.id for c in configs[:3]), "a")
    second = store.assign_new({"b": configs[2:]})
    assert second == {configs[2].id: "a", configs[3].id: "b"}
    assert [store.packs([c.id for c in configs])[c.id] for c in configs] == ["a", "a", "a", "b"]
    assert store.count_open(["a", "b", "c"]) == {"a": 3, "b": 1, "c": 0}


def test_in_this_process_the_next_chunk_is_asked_for_once_the_one_before_has_ended(
    tiny: Tiny, here: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    output: list[str] = []
    monkeypatch.setattr(executor, "train_job", lambda key, *_: output.append(key) or "over")

    def queue() -> Iterator[dict[str, Job]]:
        for key in "ab":
            output.append("chunk")
            yield {key: Job([]), key * 2: Job([])}

    executor.run_packs(queue(), Mock(), here)
    assert output == ["chunk", "a", "aa", "chunk", "b", "bb"]


def test_a_queue_is_over_only_when_the_last_chunk_is_and_keeps_nothing_of_what_has_ended() -> None:
    message: list[dict[str, object]] = []
    queue = PackSearcher(
        DevicePool([ClusterNode(2)]), lambda: False, list, lambda: (message.pop(0) for _ in range(len(message)))
    )
    queue.add_packs({"jobs": {"a": {"shares": {}, "configs": [1]}}, "last": False})
    first = queue.suggest("1")
    assert first["pack"] == "a" and first["job"].job["configs"] == [1] and str(first["job"]) == "job"
    queue.on_trial_complete("1")
    assert first["job"].job == {} and queue.suggest("2") is None, "there may be more"
    message += [{"jobs": {"b": {"shares": {}}}, "last": False}, {"jobs": {}, "last": True}]
    assert queue.suggest("3")["pack"] == "b"
    queue.on_trial_complete("3")
    assert queue.suggest("4") == Searcher.FINISHED


def test_what_comes_for_packs_that_have_ended_is_passed_over() -> None:
    work = [{"ask": "packs", "n": 1}, {"ask": "more", "n": 2}, {"ask": "more", "n": 3}, {"ask": "nodes", "n": 4}]
    out, into = os.pipe()
    inbox = StdinQueue(out)
    coming = iter(inbox)
    assert [*inbox.read_more()] == []
    os.write(into, "".join(json.dumps(line) + "\n" for line in work).encode())
    assert next(coming)["n"] == 1 and next(inbox.read_more(wait=True))["n"] == 2
    assert next(coming)["n"] == 4
    os.close(into)
    assert [*coming] == []
    os.close(out)


def test_a_cohort_of_several_packs_comes_in_one_chunk(
    store: Store, tiny: Tiny, here: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longwave.platform.sweeps.run.queue.TRIALS_PER_CHUNK", 1)
    sweep = store_plan(resolve(tiny(trials=8, pack=2, retrain=0, halving={"eta": 2, "cohort": 4})), store)
    with Leases(store, "tiny") as leases:
        queue = PackQueue(sweep, store, leases, here, missing_trials(sweep, store), {})
        assert queue.left == 8
        actual = [chunk.values() for chunk in iter(queue.next, {})]
    assert [len(chunk) for chunk in actual] == [2] * 4 and queue.handed == 8 and queue.left == 0
    members = [{c.id for job in chunk for c in job.configs} for chunk in actual]
    assert members == [{*next(iter(chunk)).cohort.members} for chunk in actual]


def test_trials_of_a_cell_that_depart_otherwise_say_so(store: Store, tiny: Tiny) -> None:
    content = tiny(models=["lem"], trials=8, retrain=0).model_dump(exclude_defaults=True, exclude={"epochs"})
    sweep = store_plan(
        resolve(check_sweep({**content, "space": {"lem": {"epochs": {"low": 2, "high": 9}}}}, "a.toml")), store
    )
    missing_trials(sweep, store)
    for trial in store.trials("tiny"):
        assert any(f"{trial.config.epochs}" in line for line in trial.about.departures if line.startswith("epochs"))
    assert len({trial.config.epochs for trial in store.trials("tiny")}) > 1


@pytest.mark.slow  # Ray starts
def test_on_ray_chunks_of_one_pack_give_what_one_chunk_gives(
    tiny: Tiny, store: Store, open_store: Callable[[str], Store], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, screen = open_store(f"sqlite:///{tmp_path}/other.db"), Console(file=io.StringIO())
    file = tiny(models=["lem"], trials=7, pack=1, retrain=2)
    driver.start_sweep(file, other, Workers(1, tmp_path / "here", here=True), None, screen)
    monkeypatch.setattr("longwave.platform.sweeps.run.queue.TRIALS_PER_CHUNK", 1)
    driver.start_sweep(file, store, Workers(2, tmp_path / "ray", cpu=True), None, screen)
    ends = [{t.config.id: (t.status, t.run and t.run.valid) for t in s.trials("tiny")} for s in (store, other)]
    assert ends[0] == ends[1] and len(ends[0]) == 9 and {how for how, _ in ends[0].values()} == {"ok"}
    assert {len(ways) for ways in store.attempts([*ends[0]]).values()} == {1}
