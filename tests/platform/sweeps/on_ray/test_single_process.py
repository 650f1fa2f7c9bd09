"""The single process that a sweep begins in: short sweeps are over in it, others go on on Ray; rows are the same."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest
from rich.console import Console

from longwave.platform.cli import options
from longwave.platform.records.probe import CPU
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.on_ray import supervisor
from longwave.platform.sweeps.on_ray.client import Client
from longwave.platform.sweeps.place.devices import ClusterNode
from longwave.platform.sweeps.place.workers import Job, Workers
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.trials import search_trials
from longwave.platform.sweeps.run import driver, executor

Tiny = Callable[..., SweepFile]
Results = dict[str, tuple[Any, ...]]
pytestmark = pytest.mark.usefixtures("alone")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the driver has started to train in, in order: the last words of the modules' names."""
    actual: list[str] = []

    class Noted(Client):
        def start(self) -> None:
            if not (self._supervisor and self._supervisor.poll() is None):
                actual.append(self.scheduler.rpartition(".")[2])
            super().start()

    monkeypatch.setattr(executor, "Client", Noted)
    return actual


@pytest.fixture
def results(open_store: Callable[[str], Any], tmp_path: Path) -> Callable[[SweepFile, Workers], tuple[Results, str]]:
    """Run a sweep in a store of its own; return every trial's end and whole curve, and what was printed."""

    def run(file: SweepFile, workers: Workers) -> tuple[Results, str]:
        store, screen = open_store(f"sqlite:///{workers.storage}.db"), io.StringIO()
        driver.start_sweep(file, store, workers, None, Console(file=screen, width=200))
        curves: dict[str, list[tuple[float, ...]]] = {}
        trials = store.trials(file.name)
        for p in store.curves([t.config.id for t in trials]):
            curves.setdefault(p.trial, []).append((p.epoch, p.loss, p.valid))
        ends = {t.config.id: (t.run.status, t.run.epochs, t.run.valid, t.run.test, curves[t.config.id]) for t in trials}
        return ends, screen.getvalue()

    return run


def jobs_of(file: SweepFile) -> dict[str, Job]:
    """Return a sweep's search trials, one a pack."""
    return {config.id: Job([config]) for configs in search_trials(resolve(file), {}) for config in configs}


def singles(driver: psutil.Process | None = None) -> list[psutil.Process]:
    """Return the single processes that a driver, by default this process, has started, without their supervisors."""
    actual = [p for p in (driver or psutil.Process()).children(recursive=True) if p.status() != psutil.STATUS_ZOMBIE]
    return [p for p in actual if (line := p.cmdline()) and executor.SINGLE in line and supervisor.__name__ not in line]


def events(client: Client, work: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the events of some work until its last."""
    with closing(client.run(work)) as arriving:
        for some in arriving:
            yield from some


@pytest.mark.integration
def test_a_short_sweep_is_over_before_ray_is_started_and_its_rows_are_those_of_this_process(
    tiny: Tiny, tmp_path: Path, started: list[str], results: Callable[..., tuple[Results, str]]
) -> None:
    file = tiny(models=["lem"], trials=2, epochs=2)
    actual, output = results(file, Workers(None, tmp_path / "single", single_first=True))
    assert started == ["single_process"] and "Ray" not in output and not singles()
    assert actual == results(file, Workers(1, tmp_path / "here", here=True))[0] and len(actual) == 4


@pytest.mark.integration
def test_a_sweep_that_takes_longer_goes_on_on_ray_where_it_was_and_its_rows_are_the_same(
    tiny: Tiny, tmp_path: Path, started: list[str], results: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "SECONDS", 0.3)
    file = tiny(models=["lem"], trials=2, epochs=400, retrain=0)
    actual, output = results(file, Workers(None, tmp_path / "both", single_first=True))
    assert started == ["single_process", "scheduler"]
    assert output.count("it takes more than 0.3 s of CPU time, so it continues on Ray") == 1
    monkeypatch.setattr(executor, "SECONDS", 1000.0)
    assert actual == results(file, Workers(None, tmp_path / "single", single_first=True))[0]


@pytest.mark.integration
def test_a_sweep_whose_single_process_is_killed_goes_on_on_ray_and_no_trial_is_blamed(
    tiny: Tiny, tmp_path: Path, started: list[str], results: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    hear, killed = executor._handle_event, list[int]()

    def kill_once(event: Any, *others: Any) -> None:
        hear(event, *others)
        if event["event"] == "report" and not killed:
            (process,) = singles()
            process.kill()
            killed.append(process.pid)

    monkeypatch.setattr(executor, "_handle_event", kill_once)
    actual, output = results(
        tiny(models=["lem"], trials=1, epochs=300), Workers(None, tmp_path / "x", single_first=True)
    )
    assert started == ["single_process", "scheduler"] and "its process died: continuing on Ray" in output
    assert {end[0] for end in actual.values()} == {"ok"} and all(len(end[-1]) == 300 for end in actual.values())


@pytest.mark.integration
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_driver_that_is_ended_while_its_single_process_trains_leaves_none_and_is_gone_on_with(
    tmp_path: Path, open_store: Callable[[str], Any], number: signal.Signals
) -> None:
    file, ends = tmp_path / "tiny.toml", list[Results]()
    file.write_text(
        'name = "tiny"\ntask = "adding"\nvariant = "N=20"\nmodels = ["lem"]\ntrials = 1\nretrain = 1\nhidden = 8\n'
        "batch = 10\nsteps = 20\nepochs = 150\n"
    )
    for name in ("ended", "whole"):
        store = open_store(f"sqlite:///{tmp_path}/{name}.db")
        command = [sys.executable, "-m", "longwave", "sweep", "run", str(file), "--mlflow", "off"]
        command += ["--store", store.url, "--storage", str(tmp_path / name)]
        if name == "ended":
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                while store.count()["epochs"] <= 3:
                    assert process.poll() is None, "it ended by itself"
                    time.sleep(0.02)
                (ours,) = singles(psutil.Process(process.pid))
                process.send_signal(number)
            assert psutil.wait_procs([ours], timeout=30)[1] == []
            assert 3 < store.count()["epochs"] < 300
        for words in (["2 of 2 trials done (2 ok)", "over."], ["2 of 2 trials done (2 ok)"]):
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
            assert done.returncode == 0 and all(word in done.stdout for word in words), done.stderr
        assert "over." not in done.stdout, "a trial was trained twice"
        ends.append({t.config.id: (t.status, t.run and (t.run.valid, t.run.test)) for t in store.trials("tiny")})
        assert store.count()["epochs"] == 300
    assert ends[0] == ends[1]


@pytest.mark.integration
def test_a_single_process_that_dies_while_it_starts_is_replaced_by_ray(
    tmp_path: Path, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "SINGLE", "longwave.no_such_module")
    workers = Workers(None, tmp_path, single_first=True)
    with executor.running_workers(workers):
        assert executor.find_nodes(workers) == [ClusterNode(workers.cores)]
    assert started == ["no_such_module", "scheduler"]


def test_a_machine_with_gpus_is_asked_of_ray(
    tmp_path: Path, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [[ClusterNode(8, 2, "A100")], [ClusterNode(8, 2, "A100-80GB")]]
    monkeypatch.setattr(executor, "_ask_for_nodes", lambda _: answers.pop(0))
    workers = Workers(None, tmp_path, single_first=True)
    with executor.running_workers(workers):
        assert executor.find_nodes(workers) == [ClusterNode(8, 2, "A100-80GB")]
        assert not answers and started == ["single_process", "scheduler"]


def test_gpus_that_are_declined_leave_a_sweep_in_the_single_process(
    tmp_path: Path, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "_ask_for_nodes", lambda _: [ClusterNode(8, 2, "A100")])
    workers = Workers(None, tmp_path, cpu=True, single_first=True)
    with executor.running_workers(workers):
        assert executor.find_nodes(workers) == [ClusterNode(8, 2, "A100")] and started == ["single_process"]


def test_an_interrupt_at_a_terminal_reaches_the_driver_alone(tmp_path: Path) -> None:
    before = set(psutil.Process().children())
    client = Client(Workers(None, tmp_path, single_first=True), "longwave.no_such_module")
    client.start()
    try:
        [supervisor] = set(psutil.Process().children()) - before
        assert os.getsid(supervisor.pid) == supervisor.pid != os.getsid(0)
    finally:
        client.end()


@pytest.mark.integration
def test_packs_train_one_after_another_as_they_are_handed_out_until_a_drain(tiny: Tiny, tmp_path: Path) -> None:
    workers = Workers(None, tmp_path, single_first=True)
    (first, one), (second, two), (third, three) = jobs_of(tiny(models=["lem"], trials=3, epochs=2)).items()
    work = {"ask": "packs", "storage": str(tmp_path), "flag": workers.flag, "workers": {"count": None}, "plugins": []}
    client, received = Client(workers, executor.SINGLE), list[tuple[str, str]]()
    try:
        message = {**work, "seconds": 1000.0, "jobs": {first: one.to_dict(), second: two.to_dict()}, "last": False}
        for event in events(client, message):
            received.append((event.get("how", event["event"]), event["pack"]))
            if received[-1] == ("over", second):
                workers.drain()
                time.sleep(0.25)  # a drain is seen within 0.2 s
                client.send({"ask": "more", "jobs": {third: three.to_dict()}, "last": True})
    finally:
        client.end()
    assert [output for output in received if output[0] != "report"] == [
        ("started", first), ("over", first), ("started", second), ("over", second)
    ]  # fmt: skip
    assert ("report", second) in received and third not in {pack for _, pack in received}


@pytest.mark.integration
def test_what_was_trained_counts_over_all_the_work_of_a_sweep_and_it_is_said_once_that_it_takes_long(
    tiny: Tiny, tmp_path: Path
) -> None:
    workers = Workers(None, tmp_path, single_first=True)
    packs = {key: job.to_dict() for key, job in jobs_of(tiny(models=["lem"], trials=1, epochs=50)).items()}
    work = {"ask": "packs", "storage": str(tmp_path), "flag": workers.flag, "workers": {"count": None}, "plugins": []}
    client, counts = Client(workers, executor.SINGLE), list[int]()
    try:
        for seconds, jobs in ((1000.0, packs), (0.05, {})):
            message = {**work, "seconds": seconds, "jobs": jobs, "last": True}
            counts.append([event["event"] for event in events(client, message)].count("long"))
        assert counts == [0, 1]
    finally:
        client.end()


@pytest.mark.parametrize(("gpus", "seen"), [(0, ""), (None, "0,1")])
def test_gpus_that_are_declined_are_hidden_from_what_trains(gpus: int | None, seen: str, tmp_path: Path) -> None:
    code = (
        "import os, sys; from longwave.platform.sweeps.on_ray import single_process\n"
        "single_process._preload = lambda: sys.exit(os.environ['CUDA_VISIBLE_DEVICES'])\n"
        f"single_process.main(1, {gpus}, None, '.')"
    )
    own = {**os.environ, "CUDA_VISIBLE_DEVICES": "0,1"}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, env=own)
    assert done.stderr.strip() == seen


def test_what_trains_is_started_before_torch_and_the_store_are_imported(tmp_path: Path) -> None:
    (tmp_path / "any.toml").write_text('name = "any"\ntask = "adding"\nmodels = ["lem"]\ntrials = 1\n')
    code = (
        "import sys; from longwave.platform.cli.main import main; from longwave.platform.sweeps.run import executor\n"
        "executor.Client = lambda *_: sys.exit(str({'torch', 'numpy', 'sqlalchemy', 'mlflow'} & set(sys.modules)))\n"
        "main(['sweep', 'run', 'any.toml'])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr == "set()\n"


@pytest.mark.parametrize(
    ("requested", "single"),
    [
        ({}, True),
        ({"cpu": True}, True),
        ({"gpu": True}, False),
        ({"gpu": True, "cpu": True}, True),
        ({"here": True}, False),
        ({"workers": 1}, False),
        ({"ray": "auto"}, False),
        ({"gpus": 0.5}, False),
        ({"cpus": 2.0}, False),
    ],
)
def test_ray_is_started_at_once_where_anything_is_asked_that_only_ray_gives(
    requested: dict[str, Any], single: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(options, "NVIDIA", tmp_path if requested.get("gpu") else tmp_path / "none")
    given = {name: value for name, value in requested.items() if name != "gpu"}
    assert options.RunOptions(**given).workers_of("any").single_first is single


@pytest.mark.integration
def test_packs_that_are_not_probed_in_time_are_left_out_and_no_process_stays(
    tiny: Tiny, tmp_path: Path, started: list[str]
) -> None:
    trials = search_trials(resolve(tiny(models=["lem"])), {})[0]
    workers, before = Workers(None, tmp_path, cpu=True, single_first=True), psutil.Process().children()
    with executor.running_workers(workers):
        assert [probe.members for probe in executor.run_probes([(CPU, trials[:2])], workers, 60.0)] == [2]
        start = time.monotonic()
        assert len([*executor.run_probes([(CPU, trials[:1])] * 10_000, workers, 0.5)]) < 10_000
        assert time.monotonic() - start < 10
        assert {*psutil.Process().children()} <= {*before}
    assert started == ["single_process"]
