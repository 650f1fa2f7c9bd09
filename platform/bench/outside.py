"""What a small sweep spends outside of its training: the time of the command, less that of its trials."""

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
    """How long one way to run a small sweep takes, in medians over the turns.

    Attributes:
        way: The command.
        trials, epochs: Of the sweep.
        seconds: From its start to its end.
        processor: Seconds of processors that all its processes took, training and all.
        training: Of these its trials trained, as they recorded it; of packs at a time each counts its part.
        outside: The rest.
    """

    way: str
    trials: int
    epochs: int
    seconds: float
    processor: float
    training: float
    outside: float


def measure_outside(model: str, trials: int, epochs: int, repeats: int) -> list[Outside]:
    """Return what the command spends outside of training, in one process, here and on Ray, in a store that is there.

    The ways are measured in turns, so a change in the machine's load meets all.

    Args:
        model: What is trained, on FitzHugh-Nagumo.
        trials, epochs: Of each sweep.
        repeats: Turns, after one that is not counted: it makes the store, and MLflow's.
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
    return [Outside(way, trials, epochs, each, used, own, each - own) for way, (each, used, own) in lines.items()]


def _run_command(home: Path, name: str, text: str, options: Sequence[str]) -> tuple[float, float, float]:
    """Return the seconds of a sweep's command, those of its processors, and those that its trials trained."""
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
    """Return the processor seconds of all processes that this one, or one that it started, has waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
