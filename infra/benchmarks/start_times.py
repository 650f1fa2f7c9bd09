"""Time of a sweep to its first epoch, new or resumed, and cost of many small trials.

The start time of Ray itself is measured too.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from longwave.platform.bench.sweep import TASK, some_configs
from longwave.platform.cli.app import ListFormat
from longwave.platform.cli.main import main
from longwave.platform.errors import WorkerError
from longwave.platform.records.report import Ending, Report
from longwave.platform.registry import get_task
from longwave.platform.render.terminal import print_json, print_table, show_waiting
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.reading import check_sweep
from longwave.platform.sweeps.on_ray.client import environment
from longwave.platform.sweeps.place.devices import Slot
from longwave.platform.sweeps.place.workers import Job, Workers
from longwave.platform.sweeps.run import driver
from longwave.platform.sweeps.run.executor import run_packs, running_workers
from longwave.platform.training.journal import VARIABLE

FLOOR = """
import logging, ray
ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
@ray.remote
class Ready:
    def yes(self): return True
ray.get(Ready.remote().yes.remote())
print("ready", flush=True)
"""
SMALL = """
name = "small"
task = "adding"
variant = "N=20"
models = ["{model}"]
trials = 1
retrain = 0
hidden = 8
batch = 10
steps = 1
epochs = 1000000
"""
"""A sweep of short steps that never ends."""
TRIALS = 500
NO_FLOOR = f"{TRIALS} trials of one step, in packs, Ray up"
PATIENCE = 300.0
"""Seconds within which a sweep must have begun."""


@dataclass(frozen=True)
class Start:
    """One line: what was started, the shortest time until it was ready, and its excess over the lower bound.

    ``over`` is None if Ray was already running.
    """

    what: str
    seconds: float
    over: float | None


def measure_starts(model: str, repeats: int) -> list[Start]:
    """Return the seconds of ``ray.init`` with one ready worker, which is the floor, and of sweeps.

    That is of a sweep's first epoch; of the first step of a killed driver's sweep on its resume, from the start of the
    process on; and of 500 trials of one step in packs, with Ray up. They are measured in turn, so a change in the
    machine's load affects all.

    Args:
        model: The model, trained on FitzHugh-Nagumo.
        repeats: Number of turns.
    """
    get_task(TASK).load("")
    config = replace(some_configs(model, 1)[0], epochs=1)
    timers: dict[str, Callable[[], float]] = {
        "ray.init with one ready worker": _measure_floor,
        "first epoch, on Ray": lambda: _first_epoch(Job([config]), here=False),
        "first epoch, --here": lambda: _first_epoch(Job([config]), here=True),
        "first epoch, --here, from the start of the command": lambda: _measure_command(model),
        "first new step of a resume, on Ray": lambda: _measure_resume(model, []),
        "first new step of a resume, --here": lambda: _measure_resume(model, ["--here"]),
        NO_FLOOR: lambda: _measure_many(model),
    }
    best = dict.fromkeys(timers, float("inf"))
    for _ in range(repeats):
        for name, seconds in timers.items():
            best[name] = min(best[name], seconds())
    floor = best["ray.init with one ready worker"]
    return [Start(name, seconds, None if name == NO_FLOOR else seconds - floor) for name, seconds in best.items()]


def _measure_floor() -> float:
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-c", FLOOR], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment()
    ) as process:
        assert process.stdout
        line = process.stdout.readline()
        seconds = time.perf_counter() - began
    if line != b"ready\n":
        raise WorkerError("Ray did not start. Run ray.init() in Python to see why.")
    return seconds


class _Clock:
    """A sink that records the time of the first epoch, and how the pack ended and why."""

    at = 0.0
    end = "", ""

    def started(self, pack: str, slot: Slot) -> None:
        """Do nothing."""

    def report(self, pack: str, report: Report) -> None:
        """Record the time of the first epoch."""
        if report.points and not self.at:
            self.at = time.perf_counter()

    def ended(self, pack: str, how: Ending, why: str = "") -> None:
        """Record how the pack ended."""
        self.end = how, why

    def show_notice(self, line: str) -> None:
        """Do nothing."""

    def flush(self) -> None:
        """Do nothing."""


def _first_epoch(job: Job, here: bool) -> float:
    clock, began = _Clock(), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        workers = Workers(1, Path(folder), here=here)
        with running_workers(workers):
            run_packs([{"start": job}], clock, workers)
    if clock.end[0] != "over":
        raise WorkerError(f"A pack to measure did not train to its end: {': '.join(clock.end)}.")
    return clock.at - began


def _measure_command(model: str) -> float:
    """Return the seconds from the start of ``longwave sweep run --here`` to its first epoch."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        return _Small(Path(name), model, ["--here"]).until_new("run", saved=False)


def _measure_resume(model: str, options: list[str]) -> float:
    """Return the seconds from the start of a process that resumes a killed driver's sweep to its first new step."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        sweep = _Small(Path(name), model, options)
        sweep.until_new("run", saved=True)
        for log in (Path(name) / "journal").iterdir():
            log.unlink()
        return sweep.until_new("resume", saved=False)


class _Small:
    """A sweep that is run by the command in its own folder, and killed."""

    def __init__(self, folder: Path, model: str, options: list[str]) -> None:
        self.folder = folder
        (folder / "small.toml").write_text(SMALL.format(model=model))
        where = ["--store", f"sqlite:///{folder / 'store.db'}", "--storage", str(folder), "--mlflow", "off"]
        self.options = [*options, *where, "--workers", "1"]

    def until_new(self, verb: str, saved: bool) -> float:
        """Return the seconds until a new step and, with ``saved``, a checkpoint; then kill it."""
        target = str(self.folder / "small.toml") if verb == "run" else "small"
        program = [sys.executable, "-m", "longwave", "sweep", verb, target, *self.options]
        env = {**os.environ, VARIABLE: str(self.folder / "journal"), "LONGWAVE_CHECKPOINT_SECONDS": "0.1"}
        began = time.monotonic()
        with subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env) as process:
            while not (_has_stepped(self.folder) and (not saved or [*self.folder.rglob("*.safetensors")])):
                if process.poll() is not None or time.monotonic() - began > PATIENCE:
                    process.kill()
                    raise WorkerError(f"A sweep to measure did not begin: longwave sweep {verb}.")
                time.sleep(0.01)
            seconds = time.monotonic() - began
            process.kill()
        return seconds


def _has_stepped(folder: Path) -> bool:
    """Return whether a journal has a new epoch of its latest training."""
    for log in folder.glob("journal/*.jsonl"):
        began, last = None, 0
        for line in log.read_text().splitlines():
            record = json.loads(line)
            began, last = record.get("began", began), record.get("began", record.get("epoch", last))
        if began is not None and last > began:
            return True
    return False


def _measure_many(model: str) -> float:
    """Return the seconds of a sweep of many trials of one step."""
    with tempfile.TemporaryDirectory() as name, Store(f"sqlite:///{name}/store.db") as store:
        workers = Workers(os.cpu_count() or 1, Path(name))
        content = {"task": "adding", "variant": "N=20", "models": [model], "hidden": 8, "batch": 10, "steps": 1}
        with running_workers(workers):
            for count, label in ((1, "first"), (TRIALS, "many")):
                more = {"name": label, "trials": count, "retrain": 0, "epochs": 1, "seed": count}
                file = check_sweep(content | more, label)
                began = time.monotonic()
                driver.start_sweep(file, store, workers, None, Console(file=io.StringIO()))
        return time.monotonic() - began


def print_report(measured: Sequence[Start], format: str) -> None:
    """Print the start times."""
    if format == "json":
        print_json([asdict(line) for line in measured])
        return
    lines = [(m.what, f"{m.seconds:.2f}", "" if m.over is None else f"{m.over:+.2f}") for m in measured]
    print_table(["what", "s", "s above the lower bound"], lines, prose=[0])


command = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)


@command.command()
def measure(
    model: Annotated[str, typer.Option(help="Which model.")] = "lem",
    repeats: Annotated[int, typer.Option(min=1, help="Turns of each line; the fastest counts.")] = 3,
    format: Annotated[ListFormat, typer.Option(help="table or json")] = ListFormat.table,
) -> None:
    """Measure the time to the first epoch of a new or resumed sweep, on Ray and without, and of the start of Ray."""
    with show_waiting("Measuring"):
        measured = measure_starts(model, repeats)
    print_report(measured, format.value)


if __name__ == "__main__":
    sys.exit(main(command=command))
