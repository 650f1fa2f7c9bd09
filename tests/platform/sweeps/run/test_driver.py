"""Drivers of sweeps: several at a time, told to pause or to end, within a budget; nothing is trained twice."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
import sqlalchemy as sa
from interrupted_drivers import SLOW, read_results
from rich.console import Console
from waiting import wait_until

from longwave.platform.cli import steer
from longwave.platform.cli.main import main
from longwave.platform.errors import ConfigError, Interrupted
from longwave.platform.records.report import Report
from longwave.platform.records.run import Run
from longwave.platform.storage.lease_tables import AttemptRow, DriverRow
from longwave.platform.storage.leases import Leases, read_drivers
from longwave.platform.storage.retrying_store import RetryingStore
from longwave.platform.storage.schema import TrialRow
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.reading import check_sweep
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.place.packing import pack_key
from longwave.platform.sweeps.place.stalls import StallWatch
from longwave.platform.sweeps.place.workers import Job, Workers
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.stored import missing_trials, store_plan
from longwave.platform.sweeps.run import driver, executor
from longwave.platform.sweeps.run.heartbeat import Heartbeat
from longwave.platform.sweeps.run.recorder import BudgetMeter, ResultRecorder
from longwave.platform.sweeps.run.status import sweep_status
from longwave.platform.training import train as train_module
from longwave.platform.training.checkpoint import Saved

Tiny = Callable[..., SweepFile]
Opener = Callable[[str], Store]


def quiet() -> Console:
    return Console(file=io.StringIO(), width=200)


def attempts(store: Store) -> dict[str, int]:
    """Return how often each trial was trained."""
    query = sa.select(AttemptRow.trial, sa.func.count()).group_by(AttemptRow.trial)
    with store.reading() as connection:
        return {line[0]: line[1] for line in connection.execute(query)}


@contextmanager
def running(file: Path, url: str, *more: str) -> Iterator[subprocess.Popen[str]]:
    """Run a sweep in a process of its own until it has trained some epochs."""
    command = [sys.executable, "-m", "longwave", "sweep", "run", str(file), "--here", "--mlflow", "off"]
    with (
        subprocess.Popen(
            [*command, "--store", url, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process,
        Store(url) as store,
    ):
        try:
            wait_until(lambda: process.poll() is not None or store.count()["epochs"] > 3)
            yield process
        finally:
            process.kill()


@pytest.mark.integration
def test_two_drivers_with_folders_of_their_own_train_each_trial_once(any_store_url: str, tmp_path: Path) -> None:
    file = tmp_path / "tiny.toml"
    file.write_text(
        SLOW.replace("steps = 20", "steps = 5")
        .replace("trials = 1", "trials = 4")
        .replace("epochs = 40", "epochs = 20")
    )
    Store(any_store_url).close()
    program = [sys.executable, "-m", "longwave", "sweep", "run", str(file), "--here", "--mlflow", "off", "--store"]
    both = [
        subprocess.Popen([*program, any_store_url, "--storage", str(tmp_path / k)], stdout=subprocess.PIPE, text=True)
        for k in "ab"
    ]
    output = [process.communicate(timeout=120)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert all("5 of 5 trials done (5 ok)" in text for text in output)
    with Store(any_store_url) as store:
        assert set(attempts(store).values()) == {1} and len(attempts(store)) == 5
        assert store.count()["epochs"] == 5 * 20


@pytest.mark.integration
def test_sweeps_that_share_trials_wait_for_each_other_and_cut_packs_anew(
    tiny: Tiny, store: Store, tmp_path: Path
) -> None:
    one, two = tiny(name="one", models=["lem"], retrain=0), tiny(name="two", models=["lem"], trials=6, retrain=0)
    ids = [a.id for a in missing_trials(store_plan(resolve(one), store), store)]
    held, configs = ids[:1], list(store.configs(ids[:2]).values())
    store.assign({pack_key(configs): configs})
    cut = Workers(1, tmp_path / "two").checkpoint(pack_key(configs))
    cut.path.parent.mkdir(parents=True)
    cut.path.write_bytes(b"of a pack that is cut")
    with Leases(store, "one") as other:
        other.take(held)
        view = io.StringIO()
        thread = threading.Thread(
            target=lambda: driver.start_sweep(
                two, Store(store.url), Workers(1, tmp_path / "two", here=True), None, Console(file=view, width=200)
            )
        )
        thread.start()
        wait_until(lambda: "waits for 1 trial that process" in view.getvalue())
        assert sum(t.run is not None for t in store.trials("two")) == 5
        other.write(Report(began={held[0]: 0}, runs=[Run(held[0], "failed", "by another driver")]))
        thread.join(60)
    assert not thread.is_alive() and set(attempts(store).values()) == {1}
    assert list(cut.path.parent.iterdir()) == [], "what the parts of a cut pack started from goes with its trials"
    driver.start_sweep(one, store, Workers(1, tmp_path / "one", here=True), None, quiet())
    assert set(attempts(store).values()) == {1}, "what the other sweep trained is not trained again"


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The results of the slow sweep."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with Store(f"sqlite:///{folder}/s.db") as store:
        file = check_sweep(tomllib.loads(SLOW), "tiny.toml")
        driver.start_sweep(file, store, Workers(1, folder, here=True), None, quiet())
        return read_results(store)


@pytest.mark.integration
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_a_sweep_in_order_and_it_goes_on_as_if_nothing_had_been(
    tmp_path: Path, number: signal.Signals, status: int, open_store: Opener, capsys: pytest.CaptureFixture[str],
    undisturbed: dict[str, Any],
) -> None:  # fmt: skip
    file, url = tmp_path / "tiny.toml", f"sqlite:///{tmp_path}/s.db"
    file.write_text(SLOW)
    before = signal.signal(number, signal.SIG_DFL)  # tests that run under nohup would pass on that it is ignored
    try:
        with running(file, url) as process:
            process.send_signal(number)
            out, err = process.communicate(timeout=40)
    finally:
        signal.signal(number, before)
    assert process.returncode == status, err
    again = f"longwave sweep resume tiny --store {url}"
    assert err == f"{number.name}: finished trials are kept. Resume the sweep with: {again}\n", out
    store = open_store(url)
    epochs = store.count()["epochs"]
    assert main(["sweep", "status", "tiny", "--store", url]) == 0
    assert "interrupted, 0 of 2 trials done" in capsys.readouterr().out and read_drivers(store) == []
    again = store.planned("tiny")[0]
    assert main(["sweep", "resume", "tiny", "--here", "--mlflow", "off", "--store", url]) == 0
    assert store.count()["epochs"] == 2 * 40 > epochs and attempts(store)[again.id] == 2
    assert read_results(store) == undisturbed


@pytest.mark.slow  # Ray starts twice
def test_a_sweep_on_ray_that_is_told_to_end_leaves_a_line_and_no_process_and_goes_on(
    tmp_path: Path, open_store: Opener, undisturbed: dict[str, Any]
) -> None:
    file, store = tmp_path / "tiny.toml", open_store(f"sqlite:///{tmp_path}/s.db")
    file.write_text(SLOW)
    more = ["--workers", "2", "--mlflow", "off", "--store", store.url, "--storage", str(tmp_path / "storage")]
    command = [sys.executable, "-m", "longwave", "sweep"]
    with subprocess.Popen([*command, "run", str(file), *more], stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: process.poll() is not None or store.count()["epochs"] > 3)
        ours = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (
        143,
        f"SIGTERM: finished trials are kept. Resume the sweep with: longwave sweep resume tiny --store {store.url}\n",
    )
    _, alive = psutil.wait_procs(ours, timeout=30)
    assert ours and not alive and read_drivers(store) == []
    assert 3 < store.count()["epochs"] < 80, "it ended before it was told to"
    begun = attempts(store).keys() & {a.id for a in store.planned("tiny") if a.open}
    done = subprocess.run([*command, "resume", "tiny", *more], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and read_results(store) == undisturbed, done.stderr
    assert all(count == 1 + (trial in begun) for trial, count in attempts(store).items())


@pytest.mark.integration
def test_a_sweep_is_paused_goes_on_and_is_stopped_from_another_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, url = tmp_path / "tiny.toml", f"sqlite:///{tmp_path}/s.db"
    file.write_text(SLOW.replace("epochs = 40", "epochs = 100000"))

    def status() -> dict[str, Any]:
        capsys.readouterr()
        assert main(["sweep", "status", "tiny", "--format", "json", "--store", url]) == 0
        actual: dict[str, Any] = json.loads(capsys.readouterr().out)
        return actual

    monkeypatch.setenv("LONGWAVE_LEASE_SECONDS", "3")
    with running(file, url) as process:
        actual = status()
        assert (actual["state"], actual["running"], actual["drivers"][0]["process"]) == ("running", 1, process.pid)
        assert main(["sweep", "pause", "tiny", "--store", url]) == 0
        again = f"longwave sweep continue tiny --store {url}"
        assert f"told 1 running driver to pause. Continue it with: {again}\n" in capsys.readouterr().out
        wait_until(lambda: (s := status())["running"] == 0 and s["state"] == "paused")
        rest = status()["epochs"]
        time.sleep(0.3)
        assert status()["epochs"] == rest > 0 and process.poll() is None
        assert main(["sweep", "continue", "tiny", "--store", url]) == 0
        wait_until(lambda: status()["epochs"] > rest)
        wait_until(lambda: status()["state"] == "running")
        assert main(["sweep", "list", "--store", url]) == 0 and "running" in capsys.readouterr().out
        assert main(["sweep", "stop", "tiny", "--store", url]) == 0
        out, err = process.communicate(timeout=40)
    assert (process.returncode, err) == (0, "")
    again = f"longwave sweep resume tiny --store {url}"
    assert f"tiny: stopped, as requested. Resume it with: {again}" in " ".join(out.split())
    assert status()["state"] == "interrupted"


@pytest.mark.integration
@pytest.mark.parametrize("other", [0, 1], ids=["alone", "with another sweep that has open trials in its pack"])
def test_a_checkpoint_whose_driver_died_before_it_deleted_it_goes_with_the_end_of_its_sweep_if_nobody_needs_it(
    tiny: Tiny, store: Store, here: Workers, monkeypatch: pytest.MonkeyPatch, other: int
) -> None:
    def die_unclosed(recorder: ResultRecorder, pack: str, *ending: str) -> None:
        recorder.workers.checkpoint(pack).save(Saved({}, {}))
        raise MemoryError

    file = tiny(models=["lem"], trials=2, retrain=0)
    with monkeypatch.context() as dying, pytest.raises(MemoryError):
        dying.setattr(ResultRecorder, "_close_pack", die_unclosed)
        driver.start_sweep(file, store, here, None, quiet())
    [pack] = here.saved_packs()
    if other:
        sweep = store_plan(resolve(tiny(name="other", models=["lem"], trials=3, retrain=0)), store)
        assert len(missing_trials(sweep, store)) == 1
        with store.transaction() as connection:
            connection.execute(sa.update(TrialRow).where(TrialRow.pack.is_(None)).values(pack=pack))
    driver.start_sweep(file, store, here, None, quiet())
    assert here.saved_packs() == ({pack} if other else set())


@pytest.mark.integration
def test_halves_of_a_pack_whose_worker_died_go_on_from_its_checkpoint_under_a_later_driver(
    tiny: Tiny, store: Store, here: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = executor.train_job, []

    def train_and_die(key: str, job: Job, emit: Callable[[Report], None], workers: Workers) -> str:
        def emit_and_die(report: Report) -> None:
            emit(report)
            if any(point.epoch == 3 for point in report.points):
                raise MemoryError

        calls.append(key)
        if len(calls) == 2:
            raise KeyboardInterrupt
        with suppress(MemoryError):
            real(key, job, emit_and_die, workers)
        return "died"

    file = tiny(models=["lem"], trials=4, retrain=0)
    monkeypatch.setattr(train_module, "CHECKPOINT_SECONDS", 0.0)
    with monkeypatch.context() as dying, pytest.raises(Interrupted, match="tiny"):
        dying.setattr(executor, "train_job", train_and_die)
        driver.start_sweep(file, store, here, None, quiet())
    assert len(here.saved_packs()) == 2 and calls[0] not in here.saved_packs()
    driver.start_sweep(file, store, here, None, quiet())
    with store.reading() as connection:
        begun = connection.execute(sa.select(AttemptRow.number, AttemptRow.epoch)).all()
    assert sorted(begun) == [(1, 0)] * 4 + [(2, 2)] * 4 and not here.saved_packs()


@pytest.mark.parametrize("state", ["", "stop"])
def test_a_sweep_that_was_stopped_is_resumed_once_its_driver_has_read_that(
    tiny: Tiny, store: Store, here: Workers, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    file, screen = tiny(models=["lem"], trials=1, retrain=0), quiet()
    sweep, slept, states = store_plan(resolve(file), store), [], []
    with Leases(store, "tiny") as first:

        def end_first_driver(seconds: float) -> None:
            slept.append(seconds)
            states.append(first.beat(""))
            first.__exit__()

        store.set_state("tiny", state)
        clock = SimpleNamespace(**{**vars(time), "sleep": end_first_driver})  # other modules sleep as they do
        monkeypatch.setattr(driver, "time", clock)
        driver.resume_sweep(sweep, store, here, None, screen)
    assert states == ([state] if state else []) and len(slept) == len(states)
    assert ("was stopped, waits until process" in screen.file.getvalue()) == bool(state)  # type: ignore[attr-defined]


def test_a_second_driver_waits_for_trials_that_the_first_has_leased_and_not_begun(
    tiny: Tiny, store: Store, here: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, screen = tiny(models=["lem"], trials=2, retrain=0, budget={"trials": 2}), quiet()
    sweep, waited = store_plan(resolve(file), store), list[str]()
    with Leases(store, "tiny") as first:
        first.take([a.id for a in missing_trials(sweep, store)])

        def note_reason(heartbeat: Heartbeat, why: str) -> None:
            waited.append(why)
            first.__exit__()

        monkeypatch.setattr(Heartbeat, "wait", note_reason)
        assert driver.resume_sweep(sweep, store, here, None, screen).over
    assert len(waited) == 1 and "waits for 2 trials that process" in waited[0]


def test_a_line_that_finds_no_room_ends_no_sweep(tiny: Tiny, store: Store, here: Workers) -> None:
    with open("/dev/full", "w") as full:
        full.reconfigure(write_through=True)
        view = driver.start_sweep(tiny(models=["lem"], trials=2, retrain=0), store, here, None, Console(file=full))
        with suppress(OSError):
            full.close()
    assert view.over


def test_the_time_of_a_driver_counts_to_its_end(tiny: Tiny, store: Store) -> None:
    store_plan(resolve(tiny()), store)
    with Leases(store, "tiny"):
        time.sleep(0.2)
    assert 0.2 <= store.cost("tiny").ran < 5


@pytest.mark.integration
def test_a_budget_of_trials_is_kept_and_a_larger_one_goes_on(tiny: Tiny, store: Store, here: Workers) -> None:
    file, screen = tiny(models=["lem"], pack=2, budget={"trials": 3}), quiet()
    view = driver.start_sweep(file, store, here, None, screen)
    assert view.counts() == "3 of 6 trials done (3 ok)"
    assert "its budget of 3 trials is used up. Resume it with" in screen.file.getvalue()  # type: ignore[attr-defined]
    more = tiny(models=["lem"], pack=2, budget={"trials": 6})
    assert driver.start_sweep(more, store, here, None, quiet()).counts() == "6 of 6 trials done (6 ok)"
    assert set(attempts(store).values()) == {1}
    with pytest.raises(ConfigError, match="already has a sweep .* with another seed"):
        driver.start_sweep(tiny(models=["lem"], pack=2, seed=9), store, here, None, quiet())


@pytest.mark.integration
def test_a_budget_of_trials_leaves_out_those_that_another_sweep_trained(
    tiny: Tiny, store: Store, here: Workers
) -> None:
    driver.start_sweep(tiny(models=["lem"], trials=2, retrain=0), store, here, None, quiet())
    longer = tiny(name="longer", models=["lem"], trials=5, retrain=0, pack=1, budget={"trials": 2})
    assert driver.start_sweep(longer, store, here, None, quiet()).counts() == "4 of 5 trials done (4 ok)"
    assert store.count_trained("tiny") == store.count_trained("longer") == 2


def test_a_budget_of_hours_counts_what_earlier_drivers_took(tiny: Tiny, store: Store, here: Workers) -> None:
    first = tiny(models=["lem"], budget={"trials": 1, "hours": 1})
    driver.start_sweep(first, store, here, None, quiet())
    with store.transaction() as connection:
        connection.execute(sa.text("UPDATE drivers SET heartbeat = started + 3600"))
    screen = quiet()
    driver.start_sweep(tiny(models=["lem"], budget={"hours": 1}), store, here, None, screen)
    assert "its budget of 1 hours is used up" in screen.file.getvalue()  # type: ignore[attr-defined]
    used = {"cpu": 9000.0, "A100": 1800.0, "T4": 1800.0}
    with store.transaction() as connection:
        first_one = sa.select(sa.func.min(DriverRow.owner)).scalar_subquery()
        connection.execute(sa.update(DriverRow).values(used=used).where(DriverRow.owner == first_one))
    driver.start_sweep(tiny(models=["lem"], budget={"gpu_hours": 1.01, "trials": 1}), store, here, None, screen)
    assert "GPU hours is used up" not in screen.file.getvalue()  # type: ignore[attr-defined]
    driver.start_sweep(tiny(models=["lem"], budget={"gpu_hours": 1}), store, here, None, screen)
    assert "its budget of 1 GPU hours is used up" in screen.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("budget", [{"hours": 1.0}, {"gpu_hours": 1.0}])
def test_a_budget_covers_what_other_drivers_use_meanwhile(tiny: Tiny, store: Store, budget: dict[str, float]) -> None:
    file = tiny(models=["lem"], budget=budget)
    store.add_sweep("tiny", {})
    with Leases(store, "tiny"):
        meter = BudgetMeter(RetryingStore(store), file)
        assert meter.spent() == ""
        with Leases(store, "tiny") as other:
            other.spent = lambda: {"used": {"A100": 3601.0, "cpu": 9.0}}
            other.beat("")
            with store.transaction() as connection:
                own = sa.update(DriverRow).where(DriverRow.owner == other.owner)
                connection.execute(own.values(started=DriverRow.heartbeat - 3601))
            assert meter.spent() == f"its budget of 1 {'hours' if 'hours' in budget else 'GPU hours'} is used up"


@pytest.mark.integration
def test_a_sweep_waits_while_one_of_higher_priority_is_run(tiny: Tiny, store: Store, here: Workers) -> None:
    store.add_sweep("urgent", {})
    urgent = Leases(store, "urgent", priority=2).__enter__()
    threading.Timer(2.0, lambda: urgent.__exit__()).start()
    screen = quiet()
    view = driver.start_sweep(tiny(models=["lem"], priority=1), store, here, None, screen)
    assert view.counts() == "6 of 6 trials done (6 ok)"
    assert "tiny: waits for the sweep urgent, which has priority 2" in screen.file.getvalue()  # type: ignore[attr-defined]


def test_a_sweep_of_higher_priority_that_is_paused_lets_others_train_and_is_interrupted_once_its_driver_is_gone(
    tiny: Tiny, store: Store, here: Workers
) -> None:
    store.add_sweep("urgent", {})
    store.set_state("urgent", "pause")
    assert sweep_status(store, "urgent").state == "interrupted"
    with Leases(store, "urgent", priority=2) as urgent:
        heartbeat = Heartbeat(RetryingStore(store), urgent, here, str, lambda _: None, StallWatch(9.0, False))
        heartbeat._beat()
        urgent.beat(heartbeat._reason_to_wait())
        assert sweep_status(store, "urgent").state == "paused"
        screen = quiet()
        view = driver.start_sweep(tiny(models=["lem"], trials=1, retrain=0, priority=1), store, here, None, screen)
    assert view.over and "waits for" not in screen.file.getvalue()  # type: ignore[attr-defined]


def test_what_a_tracker_lacks_is_said_even_if_ctrl_c_ends_the_driver_at_once(
    tiny: Tiny, store: Store, here: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow:
        problem = ""

        @contextmanager
        def following(self, *_: object) -> Iterator[None]:
            try:
                yield
            finally:
                self.problem = "MLflow was too slow"

    def end_at_once(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(driver, "tracking", lambda _: nullcontext([Slow()]))
    monkeypatch.setattr(driver._Driver, "_open_trials", end_at_once)
    console = quiet()
    with pytest.raises(Interrupted, match="sweep resume tiny"):
        driver.start_sweep(tiny(models=["lem"], trials=1), store, here, None, console)
    assert isinstance(console.file, io.StringIO) and console.file.getvalue() == "MLflow was too slow\n"


def test_a_watch_waits_for_a_driver_says_so_and_ends_once_it_has_gone(
    tiny: Tiny, store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steer, "SECONDS", 0.05)
    monkeypatch.setattr(steer, "PATIENCE", 10**6)
    store_plan(resolve(tiny(models=["lem"])), store)
    seen: list[str] = []

    def drive() -> None:
        wait_until(lambda: bool(seen.append(capsys.readouterr().out)) or "waiting for its driver" in "".join(seen))
        with Leases(Store(store.url), "tiny"):
            wait_until(lambda: bool(seen.append(capsys.readouterr().out)) or "tiny: running, 0 of 6" in "".join(seen))

    other = threading.Thread(target=drive)
    other.start()
    assert main(["sweep", "watch", "tiny", "--store", store.url]) == 0
    other.join()
    assert "tiny: interrupted, 0 of 6 trials done" in "".join(seen) + capsys.readouterr().out
    monkeypatch.setattr(steer, "PATIENCE", 1)
    assert main(["sweep", "watch", "tiny", "--store", store.url]) == 0
    assert [line.split(",")[0][len("2026-11-25 22:43:36 ") :] for line in capsys.readouterr().out.splitlines()] == [
        "tiny: nothing runs it yet", "tiny: interrupted",
    ]  # fmt: skip
