"""Sweeps whose writes the system refuses, told to by strace: they wait or end in a line, and nothing is lost."""

from __future__ import annotations

import io
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from interrupted_drivers import read_results
from rich.console import Console
from tracked import fill, points

from longwave.platform.cli.main import main
from longwave.platform.storage.integrity import describe_damage
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.reading import check_sweep
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.run import driver

STRACE = shutil.which("strace")
WORKS = STRACE and subprocess.run([STRACE, "-f", "--seccomp-bpf", "-qq", "true"], capture_output=True).returncode == 0
pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not WORKS, reason="needs strace, and the right to trace: apt-get install strace"),
]
SWEEP = (
    'name = "tiny"\ntask = "adding"\nvariant = "N=20"\nmodels = ["lem"]\ntrials = 2\nretrain = 1\nhidden = 8\n'
    "batch = 10\nsteps = 5\nepochs = 12\n"
)
slow = pytest.mark.slow


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("undisturbed")
    with Store(f"sqlite:///{folder}/s.db") as store:
        file = check_sweep(tomllib.loads(SWEEP), "tiny.toml")
        driver.start_sweep(file, store, Workers(1, folder, here=True), None, Console(file=io.StringIO()))
        return read_results(store)


def refused(folder: Path, *requested: str, faults: Sequence[str], paths: Sequence[Path] = ()) -> tuple[int, str, str]:
    """Run the command in a process some of whose system calls fail; return its exit status and what it said.

    Args:
        folder: Of its files.
        requested: Its arguments.
        faults: System calls, the error, and which of the calls of a thread get it, as strace says it. SQLite alone
            calls pwrite64 and fdatasync, and what makes checkpoints durable fsync.
        paths: Of the files whose calls these are; of all without any.
    """
    message = [word for path in paths for word in ("-P", str(path))]
    message += [word for fault in faults for word in ("-e", f"inject={fault}")]
    traced = f"{STRACE} -f --seccomp-bpf -qq -e trace=pwrite64,fsync,fdatasync".split()
    command = [*traced, "-o", str(folder / "trace"), *message, sys.executable, "-m", "longwave", *requested]
    own = {**os.environ, "LONGWAVE_CHECKPOINT_SECONDS": "0"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=own)
    trace = (folder / "trace").read_text().splitlines()
    for call in (fault.partition(":")[0] for fault in faults):
        assert any(call in line and "INJECTED" in line for line in trace), f"no {call} was refused"
    return done.returncode, " ".join(done.stdout.split()), done.stderr


def sweep(folder: Path, store: Store, how: str = "run") -> list[str]:
    """Return the arguments that run the sweep in that process."""
    (folder / "tiny.toml").write_text(SWEEP)
    what = str(folder / "tiny.toml") if how == "run" else "tiny"
    return ["sweep", how, what, "--here", "--mlflow", "off", "--store", store.url, "--storage", str(folder / "storage")]


@pytest.mark.parametrize(
    ("error", "why"),
    [
        ("ENOSPC", "its disk is full"),
        pytest.param("EIO", "its folder or disk does not allow it", marks=slow),  # as the one before
    ],
)
def test_a_store_whose_writes_are_refused_for_a_while_is_waited_for_and_checkpoints_that_are_stop_nothing(
    store: Store, tmp_path: Path, error: str, why: str, undisturbed: dict[str, Any]
) -> None:
    faults = [f"pwrite64:error={error}:when=30..32", f"fsync:error={error}:when=3..9"]
    code, output, err = refused(tmp_path, *sweep(tmp_path, store), faults=faults)
    assert code == 0 and why in output and "waiting up to 600 s" in output
    goes_on = "A checkpoint could not be written; training continues with the previous one: "
    assert err and all(line.startswith(goes_on) for line in err.splitlines()), err
    assert read_results(store) == undisturbed and describe_damage(store.engine) == ""
    assert not list((tmp_path / "storage").rglob("*.safetensors"))


@pytest.mark.parametrize("fault", ["error=EIO:when=12", pytest.param("error=ENOSPC:when=20+", marks=slow)])
def test_a_store_whose_disk_may_have_lost_what_was_written_ends_the_sweep_in_a_line_and_it_goes_on_later(
    store: Store, tmp_path: Path, fault: str, undisturbed: dict[str, Any]
) -> None:
    wal = tmp_path / "store.db-wal"
    code, output, err = refused(tmp_path, *sweep(tmp_path, store), faults=[f"fdatasync:{fault}"], paths=[wal])
    assert code == 2 and "Traceback" not in output and re.fullmatch(r"longwave: The store .* cannot be used: .*\n", err)
    assert main(sweep(tmp_path, store, "resume")) == 0
    assert read_results(store) == undisturbed and describe_damage(store.engine) == ""


@slow  # MLflow is loaded four times
@pytest.mark.parametrize("fault", ["error=ENOSPC:when=8+", "error=EIO:when=8+"])
def test_a_copy_whose_file_is_refused_is_a_line_and_is_sent_later(store: Store, tmp_path: Path, fault: str) -> None:
    configs, file = fill(store, 3, 5), tmp_path / "mlflow.db"
    requested = ["mlflow", "sync", "filled", "--store", store.url, "--server", f"sqlite:///{file}"]
    again = [sys.executable, "-W", "ignore", "-m", "longwave", *requested]
    blank = f"from longwave.platform.sweeps.trackers.mlflow.client import connect; connect('sqlite:///{file}')"
    subprocess.run([sys.executable, "-W", "ignore", "-c", blank], check=True, capture_output=True)
    paths = [file.with_name(file.name + end) for end in ("", "-wal", "-journal")]
    code, output, err = refused(tmp_path, *requested, faults=[f"pwrite64:{fault}"], paths=paths)
    assert code == 2 and "Traceback" not in output + err
    assert re.search(r"longwave: MLflow at .* did not accept results: .*\n$", err), err
    done = subprocess.run(again, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    with closing(sqlite3.connect(file)) as connection:
        curves = "SELECT t.value, m.value FROM runs r JOIN tags t USING (run_uuid) JOIN metrics m USING (run_uuid) "
        where = "WHERE r.lifecycle_stage = 'active' AND t.key = 'trial' AND m.key = 'train/loss'"
        actual = connection.execute(curves + where).fetchall()
    assert sorted(actual) == sorted((c.id, p.loss) for c in configs for p in points(c))
