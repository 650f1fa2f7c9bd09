"""A sweep under fault injection: starting and killing its processes, and its records for the auditor."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import sqlalchemy as sa

from chaos.audit import FinalState, TrialRecord
from longwave.platform.errors import LongwaveError
from longwave.platform.processes import Births, birth_times, living_processes
from longwave.platform.storage.integrity import describe_damage
from longwave.platform.storage.lease_tables import AttemptRow
from longwave.platform.storage.leases import read_drivers
from longwave.platform.storage.schema import TrialRow
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.trackers.follow import send_sweep
from longwave.platform.sweeps.trackers.tracker import TrackerName
from longwave.platform.training.journal import VARIABLE

LIMIT = 900.0
"""Seconds in which an undisturbed driver must end."""
LOOK = 0.2
"""Seconds between two checks of a sweep's progress."""
GRACE = 60.0
"""Seconds after which nothing of a killed process may remain."""
ENV = {
    "OMP_NUM_THREADS": "1",
    "RAY_worker_niceness": "0",
    "LONGWAVE_CHECKPOINT_SECONDS": "0.3",
    "LONGWAVE_LEASE_SECONDS": "12",  # leases of a killed driver expire after a third of it
    "PYTHONWARNINGS": "ignore",
}


@dataclass
class Running:
    """A sweep in its own folder.

    Attributes:
        folder: Of all its files.
        file: The sweep file.
        options: Of ``sweep run``: ``--here``, ``--workers 2``, ``--ray ADDRESS``.
        url: Its store.
        storage: Folder of checkpoints.
        env: Further environment variables.
        blank: An empty MLflow file; without one, MLflow is not used.
        epochs: Of all its trials, without faults.
    """

    folder: Path
    file: Path
    options: Sequence[str]
    url: str = ""
    storage: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    blank: Path | None = None
    epochs: int = 0
    broken: list[str] = field(default_factory=list)
    _seen: Births = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.url = self.url or f"sqlite:///{self.folder / 'store.db'}"
        self.storage = self.storage or self.folder / "storage"
        (self.folder / "home").mkdir(parents=True, exist_ok=True)
        if self.blank:
            shutil.copy(self.blank, self.folder / "home/mlflow.db")

    @property
    def journal(self) -> Path:
        return self.folder / "journal"

    @property
    def server(self) -> str:
        return f"sqlite:///{self.folder / 'home/mlflow.db'}"

    def environment(self) -> dict[str, str]:
        settings = {"LONGWAVE_HOME": str(self.folder / "home"), VARIABLE: str(self.journal)}
        return {**os.environ, **ENV, **settings, **self.env}

    def start(self) -> subprocess.Popen[bytes]:
        """Start a driver, which trains what is missing."""
        no_copy = [] if self.blank else ["--mlflow", "off"]
        command = [sys.executable, "-m", "longwave", "sweep", "run", str(self.file), *self.options, *no_copy]
        with (self.folder / "driver.log").open("ab") as log:
            return subprocess.Popen(
                [*command, "--store", self.url, "--storage", str(self.storage)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self.environment(),
            )

    def ended(self, driver: subprocess.Popen[bytes], seconds: float, allowed: Sequence[int] = ()) -> bool:
        """Wait for a driver; return whether it has ended, and note an unexpected exit."""
        try:
            code = driver.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        if code != 0 and code not in allowed:
            self.broken.append(f"exit {code}: {self.last_output()}")
        return True

    def over_at(self, driver: subprocess.Popen[bytes], share: float, seconds: float) -> bool:
        """Wait until the trials' logs have this share of all epochs, then some seconds; return as ``ended``."""
        return self.over_before(driver, lambda: self._trained() >= share * self.epochs) or self.ended(driver, seconds)

    def over_before(self, driver: subprocess.Popen[bytes], condition: Callable[[], Any]) -> bool:
        """Wait for a condition; return whether the driver ended before."""
        while not condition():
            if self.ended(driver, LOOK):
                return True
        return False

    def sessions(self) -> set[str]:
        """Return the trainings that have reported an epoch."""
        return {line["session"] for log in read_logs(self.journal).values() for line in log if "epoch" in line}

    def _trained(self) -> int:
        return len({(trial, line.get("epoch")) for trial, log in read_logs(self.journal).items() for line in log})

    def finish(self, driver: subprocess.Popen[bytes] | None = None) -> None:
        """Let the sweep finish."""
        driver = driver or self.start()
        if driver.returncode is None and not self.ended(driver, LIMIT):
            self.broken.append(f"a driver did not end in {LIMIT:g} s: {self.last_output()}")
            kill_process(driver)

    def last_output(self) -> str:
        lines = (self.folder / "driver.log").read_text(errors="replace").strip().splitlines() or ["no output"]
        return lines[-1][:300]

    def processes(self) -> list[psutil.Process]:
        """Return all live processes of this sweep: by environment, by parent, or seen before."""
        for process in psutil.process_iter():
            if _episode_variable(process) == str(self.journal):
                with suppress(psutil.NoSuchProcess):
                    self._seen |= birth_times([process, *process.children(recursive=True)])
        return living_processes(self._seen)

    def quiet(self) -> list[psutil.Process]:
        """Wait until no process of the sweep is left; return those left after a minute."""
        end = time.monotonic() + GRACE
        while (remaining := self.processes()) and time.monotonic() < end:
            time.sleep(0.2)
        return remaining

    def workers(self) -> list[psutil.Process]:
        """Return Ray's workers in training."""
        return [p for p in self.processes() if "ray::ImplicitFunc" in _command_line(p)]

    def final_state(self, expected: Mapping[str, TrialRecord]) -> FinalState:
        """Return the final state of the sweep."""
        leftovers = self._leftovers()
        if self.blank:
            self._send()
        try:
            with Store(self.url, create=False) as store:
                records, again = read_store(store), _trained_again(store)
                leftovers += _open_work(store)
                if wrong := describe_damage(store.engine):
                    self.broken.append(f"the store is damaged: {wrong}")
        except LongwaveError as error:
            records, again = {}, []
            self.broken.append(str(error))
        copies = [*read_copies(self.folder / "home/mlflow.db")] if self.blank else []
        return FinalState(
            expected, records, copies, read_logs(self.journal), again, self.broken, leftovers, bool(self.blank)
        )

    def _send(self) -> None:
        try:
            with Store(self.url, create=False) as store:
                for sweep in store.sweeps():
                    send_sweep(store, sweep, self.storage or self.folder, TrackerName("mlflow", self.server))
        except LongwaveError as error:
            self.broken.append(f"mlflow sync: {error}")

    def _leftovers(self) -> list[str]:
        running = self.quiet()
        leftovers = [f"process {p.pid}: {_command_line(p)[:80]}" for p in running]
        for process in running:
            kill_process(process)
        return leftovers + [f"file {f.name}" for f in sorted((self.storage or self.folder).rglob("*.safetensors"))]


def clear_episode(folder: Path) -> None:
    """Kill processes that a killed harness left behind, and delete its files."""
    for process in Running(folder, folder, ()).processes():
        kill_process(process)
    if os.path.ismount(folder / "disk"):
        subprocess.run(["umount", "-l", folder / "disk"], check=True)
    shutil.rmtree(folder)


def kill_process(process: psutil.Process | subprocess.Popen[Any]) -> None:
    """Kill a process at once and wait for its end."""
    try:
        process.send_signal(signal.SIGKILL)
        process.wait(30)
    except psutil.NoSuchProcess:
        pass


def read_store(store: Store) -> dict[str, TrialRecord]:
    """Return a store's records of its trials."""
    with store.reading() as connection:
        rows = connection.execute(sa.select(TrialRow.__table__)).mappings().all()
    curves: dict[str, dict[int, tuple[float, float]]] = defaultdict(dict)
    for point in store.curves([row["id"] for row in rows]):
        curves[point.trial][point.epoch] = (point.loss, point.valid)
    names = ("epochs", "best_epoch", "valid", "test")
    packs = {r["id"]: f"{r['members']} of {r['pack']}" for r in rows}  # the rest of a pack may train as the pack
    return {r["id"]: TrialRecord(r["status"], curves[r["id"]], {n: r[n] for n in names}, packs[r["id"]]) for r in rows}


def _trained_again(store: Store) -> list[str]:
    """Return the trials with an attempt begun after their end, or with more than one finished attempt."""
    late = sa.select(AttemptRow.trial).join(TrialRow, TrialRow.id == AttemptRow.trial)
    ended = sa.select(AttemptRow.trial).where(AttemptRow.status.in_(("ok", "stopped", "diverged", "failed")))
    with store.reading() as connection:
        trials = [*connection.scalars(late.where(AttemptRow.started > TrialRow.ended))]
        trials += connection.scalars(ended.group_by(AttemptRow.trial).having(sa.func.count() > 1))
    return sorted(set(trials))


def _open_work(store: Store) -> list[str]:
    """Return drivers and attempts that are still alive according to the store."""
    with store.reading() as connection:
        attempts = connection.scalars(sa.select(AttemptRow.trial).where(AttemptRow.ended.is_(None))).all()
    drivers = [f"driver {d.process} of {d.sweep}" for d in read_drivers(store) if d.alive and not d.gone]
    return drivers + [f"an unfinished attempt at {trial}" for trial in attempts]


def read_logs(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return each trial's own log, without lines cut off by a kill."""
    trial_logs: dict[str, list[dict[str, Any]]] = {}
    for file in folder.glob("*.jsonl"):
        lines = trial_logs.setdefault(file.stem, [])
        for text in file.read_text(errors="replace").splitlines():
            try:
                lines.append(json.loads(text))
            except ValueError:
                continue
    return trial_logs


def read_copies(file: Path, tag: str = "trial", loss: str = "train/loss", valid: str = "valid/%") -> Iterator[Any]:
    """Yield the visible runs in MLflow's file: trial, record, number of duplicate values."""
    with closing(sqlite3.connect(file)) as connection:
        runs = connection.execute(
            "SELECT t.value, r.run_uuid, r.status FROM runs r JOIN tags t USING (run_uuid) "
            "WHERE r.lifecycle_stage = 'active' AND t.key = ?",
            (tag,),
        ).fetchall()
        for trial, run, status in runs:
            query = "SELECT step, value FROM metrics WHERE run_uuid = ? AND key LIKE ? ORDER BY step, timestamp"
            losses, valids = (connection.execute(query, (run, key)).fetchall() for key in (loss, valid))
            by = dict(valids)
            curve = {step: (value, by[step]) for step, value in losses if step in by}
            yield trial, TrialRecord(status, curve), len(losses) + len(valids) - len(dict(losses)) - len(by)


def _episode_variable(process: psutil.Process) -> str:
    try:
        return process.environ().get(VARIABLE, "") if process.status() != psutil.STATUS_ZOMBIE else ""
    except (psutil.Error, OSError):
        return ""


def _command_line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline()) or process.name()
    except psutil.Error:
        return ""
