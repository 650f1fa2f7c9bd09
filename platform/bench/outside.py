"""The overhead of a small sweep: the time of the command minus that of its trainings."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from longwave.platform.bench.sweep import TASK
from longwave.platform.errors import WorkerError
from longwave.platform.storage.store import Store

FILE = """
name = "{name}"
task = "{task}"
models = ["{model}"]
trials = {trials}
epochs = {epochs}
retrain = 0
seed = {seed}
"""


@dataclass(frozen=True)
class Outside:
    """Time and overhead of one way to run a small sweep, as medians over the repeats.

    Attributes:
        way: The command.
        trials, epochs: Of the sweep.
        seconds: Wall time.
        processor: CPU seconds of all its processes, training included.
        training: Training seconds that its trials recorded, divided by the number of packs that run at once.
        outside: ``seconds`` minus ``training``.
    """

    way: str
    trials: int
    epochs: int
    seconds: float
    processor: float
    training: float
    outside: float


def measure_outside(model: str, trials: int, epochs: int, repeats: int) -> list[Outside]:
    """Return the command's overhead with one process, in this process, and on Ray, with an existing store.

    The ways are measured in turns, so a change in the machine's load affects all of them.

    Args:
        model: The model to train, on FitzHugh-Nagumo.
        trials, epochs: Of each sweep.
        repeats: Turns, after a first one that is not counted because it creates the stores.
    """
    count = os.cpu_count() or 1
    ways: Mapping[str, tuple[Sequence[str], int]] = {
        "sweep run": ((), 1),
        "sweep run --here": (("--here",), 1),
        f"sweep run --workers {count}": (("--workers", str(count)), count),
    }
    times: dict[str, list[tuple[float, float, float]]] = {way: [] for way in ways}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for turn in range(repeats + 1):
            for k, (way, (options, packs)) in enumerate(ways.items()):
                seed, sizes = turn * len(ways) + k, {"trials": trials, "epochs": epochs}
                text = FILE.format(name=f"small{seed}", task=TASK, model=model, seed=seed, **sizes)
                seconds, processor, training = _run_command(Path(folder), f"small{seed}", text, options)
                times[way].append((seconds, processor, training / packs))
    lines = {way: [median(column) for column in zip(*turns[1:], strict=True)] for way, turns in times.items()}
    return [
        Outside(way, trials, epochs, wall, cpu_seconds, trained, wall - trained)
        for way, (wall, cpu_seconds, trained) in lines.items()
    ]


def _run_command(home: Path, name: str, text: str, options: Sequence[str]) -> tuple[float, float, float]:
    """Return wall seconds, CPU seconds and recorded training seconds of a sweep's command."""
    file = home / f"{name}.toml"
    file.write_text(text)
    command = [sys.executable, "-m", "longwave", "sweep", "run", str(file), *options]
    env = {name: value for name, value in os.environ.items() if name not in ("LONGWAVE_STORE", "MLFLOW_TRACKING_URI")}
    began, used = time.perf_counter(), _processor_seconds()
    done = subprocess.run(command, capture_output=True, text=True, env={**env, "LONGWAVE_HOME": str(home)})
    seconds, used = time.perf_counter() - began, _processor_seconds() - used
    if done.returncode:
        raise WorkerError(f"A sweep to measure failed: {done.stderr.strip() or done.stdout.strip()}")
    with Store(f"sqlite:///{home / 'longwave.db'}", create=False) as store:
        return seconds, used, sum(trial.run.seconds for trial in store.trials(name) if trial.run)


def _processor_seconds() -> float:
    """Return the CPU seconds of all child processes that have ended, and of theirs."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
