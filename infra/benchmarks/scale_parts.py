"""The processes of ``scale.py``: planner, drivers, an observer, and the audit of the store.

Each function runs in a separate process, so that its memory and time can be measured separately.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from unittest.mock import patch

from rich.console import Console
from scale_shares import Shares
from virtual_workers import trial_curve, trial_end

from longwave.platform.processes import peak_memory
from longwave.platform.records.report import Report
from longwave.platform.records.run import ENDED
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.reading import check_sweep
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.plan.stored import plan_trials, read_sweep_plan, store_plan
from longwave.platform.sweeps.run import driver
from longwave.platform.sweeps.run.executor import running_workers
from longwave.platform.sweeps.run.metrics import DriverMetrics
from longwave.platform.sweeps.run.status import sweep_status

NAME, TASK, SIMULATED = "scale", "adding", "virtual_workers"
MODELS, HIDDEN = ("lem", "gru"), (4, 8, 12, 16, 20)
CELLS = len(MODELS) * len(HIDDEN)
LOOK_SECONDS = 1.0
"""Seconds between two queries of the observer."""
AT_ONCE = 5_000
"""Trials compared at once with their workers' reports."""


@dataclass(frozen=True)
class ScaleSize:
    """The size of a simulated sweep.

    Attributes:
        trials: Search trials of ``CELLS`` cells; retrainings of the winners are added.
        workers: Virtual ones.
        pack: Trials per pack.
        epochs: Of a trial.
        earlier: Runs of other sweeps already in the store.
    """

    trials: int
    workers: int
    pack: int
    epochs: int
    earlier: int

    @property
    def file(self) -> SweepFile:
        """The sweep."""
        content = {"name": NAME, "task": TASK, "variant": "N=20", "models": list(MODELS), "batch": 10, "steps": 1}
        content |= {"trials": max(1, self.trials // CELLS), "epochs": self.epochs, "pack": self.pack, "retrain": 5}
        return check_sweep({**content, "grid": {"hidden": list(HIDDEN)}}, NAME)


class CountingRecorder(DriverMetrics):
    """A driver's metrics, with further ones for its benchmark.

    Args:
        then: Called when ``half`` trials have ended.
        half: Number of trials; None for never.
    """

    def __init__(self, then: Callable[[], None] = lambda: None, half: int | None = None) -> None:
        super().__init__(NAME)
        self.then, self.half = then, half
        self.first, self.first_cpu, self.epochs, self.reports, self.ends = 0.0, 0.0, 0, 0, 0
        self.latencies: dict[str, list[float]] = defaultdict(list)

    def observe_transaction(self, kind: str, seconds: float) -> None:
        """Record the duration of a transaction, by kind."""
        super().observe_transaction(kind, seconds)
        self.latencies[kind].append(seconds)

    def started(self, pack: str, trials: Sequence[str]) -> None:
        """Note when the first pack has a worker."""
        if not self.first:
            self.first, self.first_cpu = time.perf_counter(), time.process_time()
        super().started(pack, trials)

    def report(self, pack: str, report: Report) -> None:
        """Count reported epochs, per trial; an epoch that is reported twice counts twice."""
        super().report(pack, report)
        self.epochs += len(report.points)
        self.reports += 1
        self.ends += len(report.runs)
        if self.half is not None and self.ends >= self.half:
            self.then()


def measure_plan(url: str, size: ScaleSize) -> dict[str, Any]:
    """Plan the sweep; return the seconds from its settings to the last trial in the store, the MiB with all libraries
    imported before the first trial, and the peak.
    """
    from longwave.platform.sweeps.plan.resolve import resolve

    with Store(url) as store:
        began = time.perf_counter()
        sweep = store_plan(resolve(size.file), store)
        base = peak_mib()
        trials = plan_trials(sweep, store)
        return {"seconds": time.perf_counter() - began, "trials": len(trials), "base": base, "peak": peak_mib()}


def measure_run(
    url: str, size: ScaleSize, storage: str, half: int | None = None, die: Callable[[dict[str, Any]], None] = print
) -> dict[str, Any]:
    """Resume the sweep and run it to its end; return the measurements.

    Args:
        url, size: Of the store and the sweep.
        storage: Folder of checkpoints.
        half: Number of trials after which ``die`` gets the measurements; None for never.
        die: Ends this process.
    """
    workers, began, cpu = Workers(size.workers, Path(storage)), time.perf_counter(), time.process_time()

    def summarise() -> dict[str, Any]:
        seconds, used = time.perf_counter() - began, time.process_time() - cpu
        sums = {
            "seconds": seconds,
            "cpu": used,
            "epochs": recorder.epochs,
            "reports": recorder.reports,
            "peak": peak_mib(),
        }
        latencies = {kind: percentiles(took) for kind, took in recorder.latencies.items()}
        first = {"first": recorder.first - began, "first_cpu": recorder.first_cpu - cpu}
        return {**sums, **first, "latencies": latencies, "shares": shares.of_one()}

    recorder = CountingRecorder(lambda: die(summarise()), half)
    # Path of the simulated workers, which are not part of the package.
    environment = patch.dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    with environment, Shares() as shares, running_workers(workers, SIMULATED), Store(url, create=False) as store:
        driver.resume_sweep(read_sweep_plan(store, NAME), store, workers, None, Console(file=io.StringIO()), recorder)
    return summarise()


def killed_at_half(url: str, size: ScaleSize, storage: str, pipe: Connection) -> None:
    """Run the sweep until half of its trials have ended, report the measurements, and die of SIGKILL."""

    def die(summary: dict[str, Any]) -> None:
        pipe.send(summary)
        os.kill(os.getpid(), signal.SIGKILL)

    measure_run(url, size, storage, size.trials // 2, die)


def measure_questions(url: str, pipe: Connection) -> None:
    """Run typical queries while a sweep runs, until a message arrives; then report the time of each."""
    took: dict[str, list[float]] = defaultdict(list)
    with Store(url, create=False) as store:
        other = next(iter(store.tasks()), TASK)
        questions: dict[str, Callable[[], object]] = {
            "sweep status": lambda: sweep_status(store, NAME),
            "boards of all tasks": lambda: read_board(store),
            "dashboard, page of a task": lambda: (read_board(store, other), store.retrainings(other)),
            "dashboard, page of the sweep's task": lambda: (read_board(store, TASK), store.retrainings(TASK)),
        }
        while not took or not pipe.poll(LOOK_SECONDS):
            for name, ask in questions.items():
                began = time.perf_counter()
                store.with_retry(ask)
                took[name].append(time.perf_counter() - began)
    pipe.send({name: percentiles(seconds) for name, seconds in took.items()})


def audit_results(url: str) -> dict[str, int]:
    """Return how many trials were ``lost``, without the end and curve reported by their workers, and ``duplicated``.

    Reports depend only on the trial, so they are recomputed here. A trial was trained twice if an attempt follows one
    that finished it, or if two finished it.
    """
    lost = duplicated = 0
    with Store(url, create=False) as store:
        ids = [a.id for a in store.planned(NAME)]
        for k in range(0, len(ids), AT_ONCE):
            part = ids[k : k + AT_ONCE]
            curves: dict[str, list[float]] = {trial: [] for trial in part}
            for point in store.curves(part):
                curves[point.trial].append(point.valid)
            for trial in store.trials_by_id(part):
                expected, run = trial_end(trial.config, 1, 0.0), trial.run
                same = run and (run.status, run.epochs, run.valid, run.test) == (
                    expected.status,
                    expected.epochs,
                    expected.valid,
                    expected.test,
                )
                lost += not same or curves[trial.config.id] != trial_curve(trial.config)
            ends = store.attempts(part)
            duplicated += sum(sum(how in ENDED for how in ends[i]) > 1 or ends[i][-1] not in ENDED for i in ends)
        return {"trials": len(ids), "lost": lost, "duplicated": duplicated}


def send_result(*call: Any) -> None:
    """Send the result of a function: ``send_result(function, *arguments, pipe)``."""
    work, *arguments, pipe = call
    pipe.send(work(*arguments))


def percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """Return the ``count`` of times, and in ms their 50th, 95th and 99th percentile and the longest."""
    ranked = sorted(seconds)
    at = {f"p{p}": ranked[min(len(ranked) - 1, len(ranked) * p // 100)] for p in (50, 95, 99)}
    return {"count": len(ranked), **{name: 1000 * value for name, value in {**at, "most": ranked[-1]}.items()}}


def peak_mib(process: int | None = None) -> float:
    """Return the peak memory of a process, or of this one, in MiB; 0 if the system does not report it."""
    return (peak_memory(process) or 0) / 2**20
