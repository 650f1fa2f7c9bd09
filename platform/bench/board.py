"""``longwave bench board``: how long boards take over many runs, from SQLite and from PostgreSQL."""

from __future__ import annotations

import importlib
import random
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from longwave.platform.boards.overview import overviews
from longwave.platform.records.about import About
from longwave.platform.records.run import Run
from longwave.platform.records.stored import StoredSweep, Trial
from longwave.platform.records.trial import Phase, TrialConfig
from longwave.platform.storage.base import utc_now
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store

TASKS, MODELS, ROWS, SEEDS = 30, 22, 2, 5
"""A board of the size we expect: each model on each task with two configurations, each retrained five times."""
GOAL = 300.0
"""Milliseconds that all boards may take."""


@dataclass(frozen=True)
class BoardTime:
    """One line of the benchmark.

    Attributes:
        name: What was measured.
        shape: How many runs, rows and tasks.
        path: SQLite or PostgreSQL.
        ms: Milliseconds of the fastest repeat; ``first`` those of the first.
        ratio: ``ms`` over ``GOAL``.
    """

    name: str
    shape: str
    path: str
    ms: float
    first: float
    ratio: float


def board_benchmark(runs: int, repeats: int) -> list[BoardTime]:
    """Return how long boards of a generated store of about ``runs`` runs take; on PostgreSQL too if pgserver is
    installed."""
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        for url in empty_databases(Path(folder)):
            with Store(url) as store:
                count = fill_store(store, runs)
            with Store(url, create=False) as store:
                measured += _measure_store(store, count, repeats)
    return measured


def fill_store(store: Store, runs: int, tasks: int = TASKS, models: int = MODELS) -> int:
    """Fill an empty store with one sweep per task, about ``runs`` runs in all; return their number.

    Models are one point of accuracy apart, seeds have a standard deviation of two points, and one run in twenty
    diverges. The same sizes give the same store.
    """
    rng = random.Random(0)
    search = max(1, runs // (tasks * models) - ROWS * SEEDS)
    facts = {"commit": "0" * 40, "device": "generated", "torch": "none"}
    count = 0
    for task in (f"task {k:02}" for k in range(tasks)):
        trials = [
            _make_trial(config, level, facts, rng)
            for level in range(models)
            for config in _make_configs(task, f"model {level:02}", search, rng)
        ]
        sweep = StoredSweep(task, {})
        cells: dict[str, int | None] = {
            model: k for k, model in enumerate(dict.fromkeys(t.config.model for t in trials))
        }
        planned = ([t.config.id for t in trials], [cells[t.config.model] for t in trials])
        store.import_trials(["generated"], [(trial, ()) for trial in trials], [(sweep, *planned)])
        count += len(trials)
    store.analyse()
    return count


def _make_configs(task: str, model: str, search: int, rng: random.Random) -> Iterator[TrialConfig]:
    """Yield the trials of one model: its search, then its retrainings."""
    searched: list[tuple[Phase, int]] = [("search", 1)] * search
    retrained: list[tuple[Phase, int]] = [("retrain", SEEDS)] * ROWS
    for phase, seeds in searched + retrained:
        params = {name: rng.random() for name in ("lr", "dt", "gamma", "epsilon")}
        for _ in range(seeds):
            seed = rng.getrandbits(31)
            yield TrialConfig(
                task, "", "generated", model, {"scheme": "a"}, params, 128, 32, 30, phase, seed,
                task_version="1", model_version="1",
            )  # fmt: skip


def _make_trial(config: TrialConfig, level: int, facts: Mapping[str, str], rng: random.Random) -> Trial:
    """Return a trial that has ended."""
    score, diverged = 50 + level + rng.gauss(0, 2), rng.random() < 0.05
    if diverged:
        run = Run(config.id, "diverged", "loss is nan in epoch 3", epochs=3, seconds=1.0, environment=facts)
    else:
        test = score if config.phase == "retrain" else None
        run = Run(config.id, "ok", "", 30, 25, score, test, 10.0, 16, 60000, facts)
    about = About(
        config.task, config.model, "accuracy", "%", "max", trivial={"majority": 10.0, "linear": 30.0},
        departures=("epochs 30 (published 400)",),
    )  # fmt: skip
    return Trial(config, about, run.status, None, run, utc_now(), "generated")


def _measure_store(store: Store, runs: int, repeats: int) -> list[BoardTime]:
    task = store.tasks()[0]
    rows = read_board(store)
    shape = f"{runs} runs, {sum(row.kind == 'retrained' for row in rows)} rows, {len(store.tasks())} tasks"
    calls: dict[str, Callable[[], object]] = {
        "boards of all tasks": lambda: read_board(store),
        "overview of all tasks": lambda: overviews(read_board(store)),
        "board of one task": lambda: read_board(store, task),
    }
    path = store.engine.dialect.name
    store.close()
    lines = []
    for name, call in calls.items():
        times = [_milliseconds(call) for _ in range(repeats)]
        lines.append(BoardTime(name, shape, path, min(times), times[0], min(times) / GOAL))
    return lines


def _milliseconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - start)


def empty_databases(folder: Path) -> Iterator[str]:
    """Yield the URLs of empty databases: SQLite, and a temporary PostgreSQL server."""
    yield f"sqlite:///{folder / 'store.db'}"
    with _start_postgresql(folder / "postgresql") as url:
        if url:
            yield url


@contextmanager
def _start_postgresql(folder: Path) -> Iterator[str | None]:
    """Yield the URL of an empty PostgreSQL database; None without pgserver, the package that contains the server."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            server = importlib.import_module("pgserver").get_server(folder)
    except ImportError:
        yield None
        return
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
