"""Two drivers of one sweep leave each other's trials alone, whatever their machines' clocks and names are."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from rich.console import Console

from longwave.platform.storage import leases as leasing
from longwave.platform.storage.lease_tables import ArchiveRow, AttemptRow, DriverRow
from longwave.platform.storage.leases import Leases, read_drivers
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.stored import missing_trials, store_plan
from longwave.platform.sweeps.run import driver

SWEEP = (
    'name = "tiny"\ntask = "adding"\nvariant = "N=20"\nmodels = ["lem"]\ntrials = 3\nretrain = 1\nhidden = 8\n'
    "batch = 10\nsteps = 20\nepochs = 40\npack = 1\n"
)
CLOCK_SET = """
import psutil, sys
create_time = psutil.Process.create_time
psutil.Process.create_time = lambda self: create_time(self) + 3
"""
OTHER_MACHINE = """
import os, pathlib, psutil, shutil, sys
from longwave.platform import processes
folder, create_time = pathlib.Path(os.environ["OTHER_PROC"]), psutil.Process.create_time
own = folder / str(os.getpid())
(own / "ns").mkdir(parents=True)
shutil.copy("/proc/self/stat", own / "stat")
(folder / "self").symlink_to(own.name)
(folder / "sys/kernel/random").mkdir(parents=True)
(folder / "sys/kernel/random/boot_id").write_text("another")

class Path(pathlib.PosixPath):
    def stat(self, **options):
        same = "/proc/self/ns/pid" if self.name == "pid" else self  # the first namespace has one number everywhere
        return os.stat(same, **options)

def seen(self):
    if self.pid != os.getpid():
        raise psutil.NoSuchProcess(self.pid)
    return create_time(self)

processes.PROC, psutil.Process.create_time = Path(folder), seen
"""
RUN = "from longwave.platform.cli.main import main\nsys.exit(main(sys.argv[1:]))\n"


@pytest.mark.integration
@pytest.mark.parametrize("second", [CLOCK_SET, OTHER_MACHINE], ids=["the clock was set", "another machine"])
def test_two_drivers_train_each_trial_once(
    any_store_url: str, tmp_path: Path, second: str, open_store: Callable[[str], Store]
) -> None:
    file, store = tmp_path / "tiny.toml", open_store(any_store_url)
    file.write_text(SWEEP)
    environment = {**os.environ, "OTHER_PROC": str(tmp_path / "proc")}

    def start(name: str, before: str) -> subprocess.Popen[str]:
        options = ["--here", "--mlflow", "off", "--store", any_store_url, "--storage", str(tmp_path / name)]
        command = [sys.executable, "-c", before + RUN, "sweep", "run", str(file), *options]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)

    with start("one", "import sys\n") as first:
        while first.poll() is None and not store.count()["epochs"]:
            time.sleep(0.1)
        with start("two", second) as other:
            together = 0
            while first.poll() is None or other.poll() is None:
                drivers = read_drivers(store)
                assert all(one.alive for one in drivers)
                together += len(drivers) == 2
                time.sleep(0.5)
            output = [process.communicate() for process in (first, other)]
    assert (first.returncode, other.returncode) == (0, 0), output
    assert together and "waits for" in output[1][0], "the second came too late"
    with store.reading() as connection:
        attempts = connection.scalars(sa.select(AttemptRow.number)).all()
        assert connection.scalar(sa.select(sa.func.count()).select_from(ArchiveRow)) == 0
    assert len(attempts) == 4 and set(attempts) == {1} and store.count()["epochs"] == 4 * 40


@pytest.mark.integration
def test_a_driver_that_begins_right_after_a_kill_waits_for_two_beats_says_so_once_and_goes_on(
    tiny: Callable[..., SweepFile], store: Store, here: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned, screen = store_plan(resolve(tiny(models=["lem"], retrain=0)), store), io.StringIO()
    monkeypatch.setattr(leasing, "SECONDS", 9.0)
    monkeypatch.setattr(driver, "SECONDS", 9.0)
    dead = Leases(store, "tiny").__enter__()
    dead.take([trial.id for trial in missing_trials(planned, store)])
    with store.transaction() as connection:  # as if its process had been another that ended
        connection.execute(sa.update(DriverRow).values(process_started=DriverRow.process_started + 1))
    start = time.monotonic()
    view = driver.resume_sweep(planned, store, here, None, Console(file=screen, width=300))
    lines = [line for line in screen.getvalue().splitlines() if "waits for" in line]
    assert len(lines) == 1 and lines[0].endswith(f"has leased; {os.getpid()} died, and its leases end within 3 s")
    assert view.counts() == "4 of 4 trials done (4 ok)" and 1.0 < time.monotonic() - start < 9.0
