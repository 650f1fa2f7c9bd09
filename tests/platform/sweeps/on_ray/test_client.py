"""Ray's own processes: who may reach them, and what becomes of them when one of them, or the driver, is killed."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from ray.air.execution._internal import RayActorManager
from ray.exceptions import OutOfMemoryError, RayActorError
from ray_nodes import LOOPBACK, Nodes
from rich.console import Console

from longwave.platform.errors import WorkerError
from longwave.platform.processes import birth_times
from longwave.platform.records.report import Cohort, Ending, Report, Rung
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.on_ray import listener, supervisor
from longwave.platform.sweeps.place.devices import Slot
from longwave.platform.sweeps.place.workers import Job, Workers
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.trials import search_trials
from longwave.platform.sweeps.run import driver, executor
from longwave.platform.sweeps.run.executor import _CurrentSessions, run_packs

pytestmark = pytest.mark.integration

Tiny = Callable[..., SweepFile]
LONG = 100_000
"""Epochs that no test waits for."""


def jobs_of(file: SweepFile, size: int = 2) -> dict[str, Job]:
    """Return a sweep's search trials in packs of some size."""
    configs = [config for _, config in _numbered(file)]
    return {f"pack{k}": Job(configs[k : k + size]) for k in range(0, len(configs), size)}


def _numbered(file: SweepFile) -> Iterator[tuple[int, object]]:
    for cell, configs in enumerate(search_trials(resolve(file), {})):
        for config in configs:
            yield cell, config


def processes(*names: str) -> list[psutil.Process]:
    """Return the living descendants of this process whose command or name has one of some words."""
    actual = []
    for process in psutil.Process().children(recursive=True):
        try:
            output = " ".join([process.name(), *process.cmdline()])
            if process.status() != psutil.STATUS_ZOMBIE and (not names or any(name in output for name in names)):
                actual.append(process)
        except psutil.NoSuchProcess:
            continue
    return actual


class Ear:
    """A sink that writes down what it hears and then does something at the first report."""

    def __init__(self, then: Callable[[], object] = lambda: None) -> None:
        self.then, self.events = then, list[tuple[str, str]]()
        self.reports: list[Report] = []
        self.why = ""

    def started(self, pack: str, slot: Slot) -> None:
        self.events.append(("started", pack))

    def report(self, pack: str, report: Report) -> None:
        self.reports.append(report)
        if len(self.reports) == 1:
            self.then()

    def ended(self, pack: str, how: Ending, why: str = "") -> None:
        self.events.append((how, pack))
        self.why = why

    def show_notice(self, line: str) -> None: ...

    def flush(self) -> None: ...


def kill(*names: str) -> None:
    """Kill processes of ours by name."""
    actual = processes(*names)
    assert actual, f"no {names} to kill"
    for process in actual:
        process.kill()


@pytest.mark.usefixtures("ray_on_two_cores")
def test_all_of_rays_processes_listen_on_the_loopback_interface_alone_and_none_is_a_daemon_nobody_asked_for(
    tiny: Tiny, tmp_path: Path
) -> None:
    seen: list[tuple[str, str]] = []

    def look() -> None:
        for process in processes():
            with suppress(psutil.NoSuchProcess, FileNotFoundError):  # one that has ended meanwhile
                ports = [c.laddr.ip for c in process.net_connections() if c.status == psutil.CONN_LISTEN]
                seen.extend((process.name(), port) for port in ports)

    names: list[str] = []
    ear = Ear(lambda: (look(), names.extend(" ".join(p.cmdline()) for p in processes())))
    run_packs([jobs_of(tiny(models=["lem"], trials=2))], ear, Workers(2, tmp_path))
    assert {"gcs_server", "raylet"} <= {name for name, _ in seen}
    assert {ip for _, ip in seen} <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
    daemons = ("dashboard.py", "agent.py", "monitor.py", "DashboardAgent", "RuntimeEnvAgent", "agent/main.py")
    assert not [name for name in names for daemon in daemons if daemon in name.partition("raylet/raylet")[0]]


@pytest.mark.usefixtures("ray_on_two_cores")
def test_a_client_without_the_token_is_refused(tiny: Tiny, tmp_path: Path) -> None:
    answers: list[str] = []

    def ask() -> None:
        (server,) = processes("gcs_server")
        port = next(c.laddr.port for c in server.net_connections() if c.status == psutil.CONN_LISTEN)
        client = f"GcsClient(address='127.0.0.1:{port}')"
        code = f"from ray._raylet import GcsClient; print({client}.internal_kv_keys(b'', b''))"
        for token in ("0" * 64, None):
            mode = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token} if token else {"RAY_AUTH_MODE": "disabled"}
            done = subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **mode}
            )
            answers.append(done.stdout + done.stderr)
            assert done.returncode != 0

    run_packs([jobs_of(tiny(models=["lem"], trials=2))], Ear(ask), Workers(2, tmp_path))
    assert len(answers) == 2 and all("nauthenticated" in answer or "token" in answer for answer in answers), answers
    assert (Path.home() / ".ray/auth_token").stat().st_mode & 0o077 == 0


@pytest.mark.usefixtures("ray_on_two_cores")
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("raylet/raylet", "Ray's raylet died"),
        pytest.param("gcs_server", "Ray's gcs_server died", marks=pytest.mark.slow),  # as the first, for half a minute
        pytest.param("on_ray.scheduler {", "Ray's processes died", marks=pytest.mark.slow),
    ],
)
def test_a_process_of_ray_that_is_killed_ends_the_packs_with_one_line_and_the_next_run_works(
    name: str, why: str, tiny: Tiny, tmp_path: Path
) -> None:
    ear = Ear(lambda: kill(name))
    with pytest.raises(WorkerError, match=why) as raised:
        run_packs([jobs_of(tiny(models=["lem"], trials=2, epochs=LONG))], ear, Workers(2, tmp_path))
    assert "\n" not in str(raised.value) and not processes("raylet", "gcs_server", "ray::")
    ear = Ear()
    run_packs([jobs_of(tiny(models=["lem"], trials=2))], ear, Workers(2, tmp_path))
    assert ear.events == [("started", "pack0"), ("over", "pack0")]


@pytest.mark.usefixtures("ray_on_two_cores")
def test_a_pack_whose_worker_dies_three_times_without_a_new_epoch_has_died_and_the_reason_is_told(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGWAVE_CHECKPOINT_SECONDS", "0")
    ear, new = Ear(), [0]
    output = ear.report

    def report(pack: str, report: Report) -> None:
        output(pack, report)
        furthest = max((point.epoch for point in report.points), default=0)
        if len(new) > 3 or furthest > new[-1]:  # three times after a new epoch, then before any
            new.append(furthest)
            for process in processes("ray::ImplicitFunc"):
                process.kill()

    ear.report = report  # type: ignore[method-assign]
    run_packs([jobs_of(tiny(models=["lem"], trials=2, epochs=LONG))], ear, Workers(1, tmp_path))
    assert ear.events == [*[("started", "pack0")] * 5, ("died", "pack0")], new
    assert (
        ear.why.startswith("its worker died 3 times without finishing another epoch, last with: ")
        and "\n" not in ear.why
    )


def test_a_worker_that_ray_killed_because_memory_was_low_counts_as_one_that_died(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Memory is filled by hand only: what else runs on a machine decides when Ray's monitor acts."""
    errors: list[Exception] = []
    monkeypatch.setattr(
        RayActorManager, "_actor_task_failed", RayActorManager._actor_task_failed
    )  # restored at the end
    monkeypatch.setattr(listener, "_handle_failure", lambda manager, task, error: errors.append(error))
    listener.restart_workers_killed_for_memory()
    for error in (OutOfMemoryError("low"), other := RayActorError()):
        RayActorManager._actor_task_failed(None, tracked_actor_task=None, exception=error)  # type: ignore[arg-type]
    assert isinstance(errors[0], RayActorError) and errors[1] is other
    assert listener.reason_of_death(errors[0]) == listener.LOW_MEMORY


@pytest.mark.usefixtures("ray_on_two_cores")
def test_packs_that_a_drain_leaves_unstarted_are_not_heard_of(tiny: Tiny, tmp_path: Path) -> None:
    workers = Workers(1, tmp_path)
    ear = Ear(workers.drain)
    jobs = jobs_of(tiny(models=["lem"], trials=80, epochs=3000))
    run_packs([jobs], ear, workers)
    started = {pack for _, pack in ear.events}
    assert len(started) < len(jobs) / 2 and ear.events[1] == ("paused", "pack0"), "a drain is seen within its 0.2 s"
    workers.undrain()
    assert not workers.draining()


def test_a_drain_is_seen_by_workers_of_another_process_within_its_time(tmp_path: Path) -> None:
    ours = Workers(1, tmp_path)
    theirs, others = Workers(1, tmp_path, flag=ours.flag), Workers(1, tmp_path)
    assert not theirs.draining()
    ours.drain()
    time.sleep(0.25)
    assert ours.draining() and theirs.draining() and not others.draining()


def test_reports_of_a_worker_that_was_replaced_are_dropped() -> None:
    events = _CurrentSessions()
    assert [events.is_current("p", s) for s in ("a", "a", "b", "a", "b", "a")] == [True, True, True, False, True, False]
    assert events.is_current("q", "c")


def test_a_job_survives_json(tiny: Tiny) -> None:
    rungs = (Rung("c", 1, "t", 0.5, None), Rung("c", 1, "u", 0.7, False))
    cohort = Cohort("c", ("t", "u"), {"u": 3}, rungs, {"u": 0.7})
    for job in jobs_of(tiny(trials=2)).values():
        for met in (None, cohort):
            requested = Job(tuple(job.configs), met, ("before",))
            again = Job.from_dict(json.loads(json.dumps(requested.to_dict())))
            assert (tuple(again.configs), again.cohort, again.before) == (requested.configs, met, ("before",))


@pytest.mark.parametrize("after", [0.5, "at work", *(pytest.param(s, marks=pytest.mark.slow) for s in (1.0, 2.0, 4.0))])
def test_nothing_is_left_of_a_driver_that_is_killed(after: float | str, tiny: Tiny, tmp_path: Path) -> None:
    with _driver(tmp_path, jobs_of(tiny(models=["lem"], trials=2, epochs=LONG))) as driver:
        while after == "at work" and not processes("ray::ImplicitFunc.train"):
            time.sleep(0.1)
        if isinstance(after, float):
            time.sleep(after)
        left = psutil.Process(driver.pid).children(recursive=True)
        folders = set(supervisor.base_folder().iterdir())
        assert left and folders
        driver.send_signal(signal.SIGKILL)
    _, alive = psutil.wait_procs(left, timeout=30)
    assert not [p for p in alive if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]
    mine = [f for f in folders & set(supervisor.base_folder().iterdir()) if str(driver.pid) in _driver_of(f)]
    assert not mine


def test_what_is_left_of_a_killed_driver_and_its_killed_keeper_is_reaped_at_the_next_start_and_strangers_live(
    tmp_path: Path,
) -> None:
    ours, stranger = (subprocess.Popen(["sleep", "600"]) for _ in range(2))
    try:
        left, used = tmp_path / "left", tmp_path / "used"
        mine = {**birth_times([psutil.Process(ours.pid)]), str(stranger.pid): 0.0}  # the id was another's before
        for folder, owner in ((left, {str(os.getpid()): 0.0}), (used, birth_times([psutil.Process()]))):
            folder.mkdir()
            (folder / "processes.json").write_text(json.dumps({"driver": owner, "ours": mine}))
        supervisor.end_leftovers(tmp_path)
        assert not psutil.pid_exists(ours.pid) and stranger.poll() is None
        assert used.exists() and not left.exists()
    finally:
        for process in (ours, stranger):
            process.kill()
            process.wait()


@pytest.mark.slow  # five nodes and five workers are started, one after another
@pytest.mark.usefixtures("alone")
def test_a_pack_whose_node_is_lost_four_times_is_trained_to_its_end(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in LOOPBACK.items():
        monkeypatch.setenv(name, value)
    ear = Ear()
    output = ear.report

    def report(pack: str, report: Report) -> None:
        output(pack, report)
        if nodes.lost < 4 and report.points and len(ear.events) > nodes.lost:  # the new worker speaks
            nodes.lose()

    ear.report = report  # type: ignore[method-assign]
    with Nodes() as nodes:
        workers = Workers(1, tmp_path, address=nodes.address)
        with executor.running_workers(workers):
            run_packs([jobs_of(tiny(models=["lem"], trials=2, epochs=300))], ear, workers)
    assert nodes.lost == 4, ear.why
    assert ear.events == [*[("started", "pack0")] * 5, ("over", "pack0")]


def _driver(storage: Path, jobs: dict[str, Job]) -> subprocess.Popen[bytes]:
    """Start a process that runs packs on Ray."""
    code = (
        "import json, sys; from pathlib import Path; from unittest.mock import Mock\n"
        "from longwave.platform.sweeps.run.executor import run_packs, running_workers\n"
        "from longwave.platform.sweeps.place.workers import Job, Workers\n"
        "jobs = {key: Job.from_dict(job) for key, job in json.loads(sys.argv[2]).items()}\n"
        "workers = Workers(1, Path(sys.argv[1]))\n"
        "with running_workers(workers): run_packs([jobs], Mock(), workers)"
    )
    message = json.dumps({key: job.to_dict() for key, job in jobs.items()})
    driver = subprocess.Popen([sys.executable, "-c", code, str(storage), message])
    while not psutil.Process(driver.pid).children():
        time.sleep(0.05)
    return driver


def _driver_of(folder: Path) -> str:
    try:
        return (folder / "processes.json").read_text()
    except OSError:
        return ""


@pytest.mark.usefixtures("alone")
def test_ray_that_never_answers_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "silent_scheduler.py").write_text("import time\ntime.sleep(60)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(executor, "START_SECONDS", 2.0)
    workers = Workers(1, tmp_path / "storage")
    with (
        executor.running_workers(workers, "silent_scheduler"),
        pytest.raises(WorkerError, match="^Ray did not start within 2 seconds$"),
    ):
        executor.find_nodes(workers)


SLOW_START = """import sys, time
if any("default_worker" in word for word in sys.orig_argv):
    time.sleep(65)
"""


@pytest.mark.slow  # the minute after which Ray, by default, would give the worker up
@pytest.mark.usefixtures("alone")
def test_a_worker_that_takes_longer_than_a_minute_to_start_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(SLOW_START)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    workers = Workers(2, tmp_path / "storage")
    with executor.running_workers(workers):
        assert [node.cpus for node in executor.find_nodes(workers)] == [2]


@pytest.mark.usefixtures("alone")
def test_a_sweep_whose_packs_wait_for_a_node_can_be_stopped_and_its_storage_holds_no_file_of_ray(
    tiny: Tiny, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in LOOPBACK.items():
        monkeypatch.setenv(name, value)
    screen, storage, written = io.StringIO(), tmp_path / "storage", set[str]()

    def stop_once_it_waits() -> None:
        while not [*storage.glob("*.mark")]:  # by which workers recognise the storage of the packs
            time.sleep(0.1)
        time.sleep(3)
        written.update(file.suffix for file in storage.iterdir())
        store.set_state("tiny", "stop")

    stopping = threading.Thread(target=stop_once_it_waits, daemon=True)
    stopping.start()
    with Nodes(count=0) as nodes:
        workers = Workers(1, storage, address=nodes.address, cpu=True)
        view = driver.start_sweep(tiny(models=["lem"]), store, workers, None, Console(file=screen, width=300))
    assert not view.over and not stopping.is_alive() and "tiny: stopped, as requested." in screen.getvalue()
    assert written == {".mark"}, "a full disk would end Ray's scheduler"
