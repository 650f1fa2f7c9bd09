"""Real Ray, real processes: workers compute, the driver writes, and whoever dies, nothing is lost and nothing twice."""

from __future__ import annotations

import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest
from rich.console import Console

from longwave.platform.errors import StoreError, WorkerError
from longwave.platform.paths import weights_file
from longwave.platform.records.run import ENDED
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.reading import check_sweep
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.plan import stored
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.run import driver
from longwave.platform.training import weights

pytestmark = pytest.mark.integration

Tiny = Callable[..., SweepFile]
LONGER = """
name = "longer"
task = "adding"
variant = "N=60"
models = ["lem", "cornn"]
trials = 4
retrain = 2
hidden = 8
batch = 10
steps = 10
epochs = 25
pack = 2
"""
"""12 trials in 6 packs of a few seconds each."""


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), width=200)


def audit(store: Store, name: str, epochs: int) -> None:
    """Fail unless every trial asked for has one end and each ok one a whole curve."""
    trials = store.trials(name)
    assert all(t.status in ENDED and t.run for t in trials), [t.status for t in trials]
    for trial in trials:
        curve = [p.epoch for p in store.curves([trial.config.id])]
        assert trial.run and curve == list(range(1, (epochs if trial.status == "ok" else len(curve)) + 1))


@pytest.mark.usefixtures("ray_on_two_cores")
def test_workers_that_have_other_data_than_planned_refuse_in_a_line_and_end_no_trial(
    tiny: Tiny, store: Store, tmp_path: Path, console: Console
) -> None:
    made = resolve(tiny(models=["lem"]))
    other = replace(made, cells=tuple(replace(e, base=replace(e.base, data="0" * 12)) for e in made.cells))
    with pytest.raises(WorkerError, match="planned with version 000000000000 of the data of adding, which is now"):
        driver.resume_sweep(stored.store_plan(other, store), store, Workers(2, tmp_path / "storage"), None, console)
    assert not [t for t in store.trials("tiny") if t.run]


@pytest.mark.parametrize("cpus", [1.0, 2.0, 0.5])
@pytest.mark.usefixtures("ray_on_two_cores")
def test_a_pack_computes_on_as_many_threads_as_it_has_cores_and_one_at_least(
    cpus: float, tiny: Tiny, store: Store, tmp_path: Path, console: Console
) -> None:
    file = tiny(models=["gru"], trials=1, retrain=0)
    driver.start_sweep(file, store, Workers(1, tmp_path / "storage", cpus=cpus), None, console)
    [trial] = store.trials("tiny")
    assert trial.run and trial.run.environment["threads"] == str(max(int(cpus), 1))


@pytest.mark.slow  # Ray starts twice; a pack's result without Ray is that of any other
@pytest.mark.usefixtures("ray_on_two_cores")
def test_one_worker_and_two_give_the_same_rows(
    tiny: Tiny, open_store: Callable[[str], Store], tmp_path: Path, console: Console
) -> None:
    results = []
    for count in (1, 2):
        store = open_store(f"sqlite:///{tmp_path}/{count}.db")
        driver.start_sweep(tiny(models=["lem"]), store, Workers(count, tmp_path / str(count)), None, console)
        audit(store, "tiny", 6)
        results.append({t.config.id: t for t in store.trials("tiny")})
    one, two = results
    assert one.keys() == two.keys() and len(one) == 6
    for key in one:
        a, b = one[key].run, two[key].run
        assert a and b and (a.status, a.best_epoch) == (b.status, b.best_epoch)
        np.testing.assert_allclose([a.valid or 0, a.test or 0], [b.valid or 0, b.test or 0], rtol=1e-4)


@pytest.mark.slow  # the short form of chaos kills workers, too, and audits more
@pytest.mark.usefixtures("ray_on_two_cores")
def test_workers_keep_the_weights_of_retrainings_where_the_sweep_asks_it(
    tiny: Tiny, store: Store, tmp_path: Path, console: Console
) -> None:
    requested = tiny(models=["lem"], trials=1, keep_weights=True)
    driver.start_sweep(requested, store, Workers(2, tmp_path), None, console)
    trials = store.retrainings()
    saved = [weights.read(weights_file(tmp_path, trial.config.id)) for trial in trials]
    assert [(k.config, k.test) for k in saved if k] == [(t.config, t.run.test) for t in trials if t.run]
    assert len(list((tmp_path / "weights").iterdir())) == 2


@pytest.mark.usefixtures("ray_on_two_cores")
def test_workers_killed_in_the_middle_of_a_sweep_lose_nothing(store: Store, tmp_path: Path, console: Console) -> None:
    killed: list[int] = []

    def kill_two_busy_workers() -> None:
        deadline = time.time() + 120
        while len(killed) < 2 and time.time() < deadline:
            time.sleep(0.2)
            if _points(store) < 10 + 60 * len(killed):
                continue
            with suppress(psutil.NoSuchProcess):  # another process has just ended: look again
                mine = psutil.Process().children(recursive=True)
                for process in [p for p in mine if "ray::ImplicitFunc" in " ".join(p.cmdline())][:1]:
                    process.kill()
                    killed.append(process.pid)

    killer = threading.Thread(target=kill_two_busy_workers, daemon=True)
    killer.start()
    file = check_sweep(tomllib.loads(LONGER), "longer.toml")
    driver.start_sweep(file, store, Workers(2, tmp_path / "storage"), None, console)
    killer.join(1)
    assert len(killed) == 2, "the sweep was over before its workers could be killed"
    audit(store, "longer", 25)
    assert len(store.trials("longer")) == 12 and {t.status for t in store.trials("longer")} == {"ok"}


@pytest.mark.slow  # Ray starts three times
@pytest.mark.usefixtures("ray_on_two_cores")
def test_a_store_that_refuses_stops_the_sweep_with_its_own_error_and_ends_no_trial(
    tiny: Tiny, store: Store, tmp_path: Path, console: Console
) -> None:
    with store.engine.begin() as connection:
        connection.exec_driver_sql(
            "CREATE TRIGGER full BEFORE INSERT ON curves BEGIN SELECT RAISE(ABORT, 'disk full'); END"
        )
    for here in (False, True):
        with pytest.raises(StoreError, match="cannot be used: disk full"):
            driver.start_sweep(tiny(models=["lem"]), store, Workers(2, tmp_path / "storage", here=here), None, console)
        assert {t.status for t in store.trials("tiny")} <= {"planned", "running"}
    with store.engine.begin() as connection:
        connection.exec_driver_sql("DROP TRIGGER full")
    driver.start_sweep(tiny(models=["lem"]), store, Workers(2, tmp_path / "storage"), None, console)
    audit(store, "tiny", 6)


@pytest.mark.slow  # the short form of chaos kills drivers, too, and audits more
@pytest.mark.parametrize("kills", [1, 6])
def test_a_driver_killed_at_random_moments_and_resumed_loses_nothing_and_trains_nothing_twice(
    kills: int,
    longwave: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
    open_store: Callable[[str], Store],
) -> None:
    file, url = tmp_path / "longer.toml", f"sqlite:///{tmp_path}/killed.db"
    file.write_text(LONGER)
    store, shared = open_store(url), ["--store", url, "--workers", "2", "--mlflow", "off"]
    command = ["sweep", "run", str(file), *shared]
    for kill in range(kills):
        _start_and_kill(command, store, points=random.randrange(250 * kill // kills + 5, 250 * (kill + 1) // kills))
        command = ["sweep", "resume", "longer", *shared]
    before = {t.config.id: t for t in store.trials("longer") if t.run}
    open_packs = {t.pack for t in store.trials("longer") if not t.run}
    status = json.loads(longwave("sweep", "status", "longer", "--store", url, "--format", "json").stdout)
    assert (status["done"], status["planned"] + status["running"]) == (
        len(before),
        len(store.trials("longer")) - len(before),
    )
    done = longwave(*command)
    assert done.returncode == 0, done.stderr
    audit(store, "longer", 25)
    after = {t.config.id: t for t in store.trials("longer")}
    assert len(after) == 12 and all((after[i].run, after[i].ended) == (t.run, t.ended) for i, t in before.items())
    searched = re.findall(r"longer: \w+ search ×\d over", done.stdout)
    new = {t.pack for t in after.values() if t.config.phase == "search"} & open_packs
    assert len(searched) == len(new), "a finished pack was trained again"
    assert longwave(*command).stdout.count(" over.") == 0


def _start_and_kill(command: list[str], store: Store, points: int) -> None:
    """Start a driver and kill it, with no chance to clean up, once the store has so many points."""
    with subprocess.Popen([sys.executable, "-m", "longwave", *command], stdout=subprocess.PIPE) as driver:
        while driver.poll() is None and _points(store) < points:
            time.sleep(0.05)
        assert driver.poll() is None, f"it ended by itself: {driver.stdout and driver.stdout.read()!r}"
        os.kill(driver.pid, signal.SIGKILL)


def _points(store: Store) -> int:
    """Return how many points the store has; 0 while its driver has not written the sweep yet."""
    return len(store.curves([t.config.id for t in store.trials("longer")]))
