"""A plugin that sleeps for ever in ``forward``: it is said while it hangs, and with --stall-kill it fails alone."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen

import pytest
from plugin_files import MISBEHAVES, misbehaving, written_sweep
from rich.console import Console

from longwave.platform.cli.main import main
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.reading import read_sweep
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.stored import read_sweep_plan, store_plan
from longwave.platform.sweeps.run.driver import resume_sweep

HANGING = misbehaving(
    "hanging",
    "try:",
    "    time.sleep(1e6)",
    "except Exception:",
    "    time.sleep(1e6)",
)
pytestmark = pytest.mark.integration


@pytest.fixture
def planned(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store with a sweep of a model that hangs from now on, and of one that does not."""
    store_plan(resolve(read_sweep(written_sweep(tmp_path, "hanging", HANGING, "retrain = 0"))), store)
    monkeypatch.setenv(MISBEHAVES, "1")
    return store


def resume(store: Store, workers: Workers) -> None:
    resume_sweep(read_sweep_plan(store, "own"), store, workers, None, Console(quiet=True))


def check_ends(store: Store, seconds: float) -> None:
    """Check that the model which hangs failed, in the call that did, and that the other was trained."""
    trials = {model: [t for t in store.trials("own") if t.config.model == model] for model in ("my-hanging", "gru")}
    assert [t.status for t in trials["gru"]] == ["ok", "ok"]
    assert [t.status for t in trials["my-hanging"]] == ["failed", "failed"]
    for trial in trials["my-hanging"]:
        assert trial.run
        first, call, *calls = trial.run.reason.splitlines()
        assert first == f"StalledError: no step for {seconds:g} s. The worker hung in:"
        assert re.fullmatch(r"  \S+/hanging\.py, line \d+, in forward", call) and 1 < len(calls) < 12
        assert any(line.endswith("in train_epoch") for line in calls)
    attempts = store.attempts([t.config.id for t in trials["my-hanging"]])
    assert all(how[-1] == "failed" and len(how) <= 2 for how in attempts.values()), "it hangs once"


def test_in_this_process_it_fails_with_its_stack_and_the_sweep_goes_on(planned: Store, tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGALRM)
    resume(planned, Workers(1, tmp_path / "storage", here=True, stall=2, stall_kill=True))
    check_ends(planned, 2)
    assert signal.getsignal(signal.SIGALRM) is before and not [*tmp_path.glob("storage/stalls/*")]


@pytest.mark.usefixtures("alone")
def test_on_ray_its_worker_is_ended_once_and_the_sweep_goes_on(planned: Store, tmp_path: Path) -> None:
    resume(planned, Workers(2, tmp_path / "storage", stall=5, stall_kill=True))
    check_ends(planned, 5)
    assert not [*tmp_path.glob("storage/stalls/*")]


@pytest.mark.usefixtures("alone")
def test_in_the_single_process_that_a_sweep_begins_in_too(planned: Store, tmp_path: Path) -> None:
    resume(planned, Workers(None, tmp_path / "storage", single_first=True, stall=2, stall_kill=True))
    check_ends(planned, 2)


@pytest.mark.slow  # alone it takes 20 s; after a quarter of an hour of other tests its driver plans nothing in 90 s
@pytest.mark.parametrize("options", [["--here"], ["--workers", "2"]], ids=["here", "ray"])
def test_while_it_hangs_status_and_metrics_say_so(
    planned: Store, tmp_path: Path, options: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    command = [sys.executable, "-m", "longwave", "sweep", "resume", "own", "--store", planned.url, "--mlflow", "off"]
    command += ["--storage", str(tmp_path / "storage"), "--stall", "2", "--metrics", str(port), *options]
    environment = {**os.environ, "LONGWAVE_LEASE_SECONDS": "6"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        try:
            status = wait_for(lambda: status_of(planned), lambda s: "stalled" in json.dumps(s), process)
            [driver] = status["drivers"]  # type: ignore[misc]
            assert re.fullmatch(
                r"stalled: no step for 2 s or more of my-hanging search ×\d \(pack [0-9a-f]{8}\)( and 1 more)?; "
                "resume with --stall-kill to fail what hangs",
                driver["note"],
            )
            assert status["state"] == "running"
            capfd.readouterr()
            assert main(["sweep", "status", "own", "--store", planned.url]) == 0
            assert "stalled: no step for 2 s or more of my-hanging" in " ".join(capfd.readouterr().out.split())
            page = urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
            assert float(re.search(r'longwave_packs_stalled\{sweep="own"\} (\S+)', page)[1]) >= 1  # type: ignore[index]
        finally:
            process.kill()
        assert b"stalled: no step" in process.communicate()[0]


def status_of(store: Store) -> dict[str, object]:
    from longwave.platform.sweeps.run.status import sweep_status

    return sweep_status(store, "own").to_dict()


def wait_for(
    read: Callable[[], dict[str, object]], holds: Callable[[object], bool], process: subprocess.Popen[bytes]
) -> dict[str, object]:
    end = time.monotonic() + 90
    while not holds(value := read()):
        assert process.poll() is None and time.monotonic() < end, value
        time.sleep(0.2)
    return value
