"""``longwave bench board``: how long boards take over many runs, from SQLite and from PostgreSQL."""

from __future__ import annotations

import importlib
import random
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from longwave.platform.boards.board import board
from longwave.platform.boards.overview import overview
from longwave.platform.records.identity import digest
from longwave.platform.records.run import Run
from longwave.platform.records.trial import Phase, TrialConfig
from longwave.platform.storage.database import insert_new
from longwave.platform.storage.schema import AskRow, EnvironmentRow, SweepRow, TrialRow, utc_now
from longwave.platform.storage.store import Store

TASKS, MODELS, ROWS, SEEDS = 30, 22, 2, 5
"""A board of the size we expect: each model on each task with two configurations, each retrained five times."""
GOAL = 300.0
"""Milliseconds that all boards may take."""
CHUNK = 5000


@dataclass(frozen=True)
class BoardTime:
    """One line of the benchmark.

    Attributes:
        name: What was measured.
        shape: How many runs, rows and tasks.
        path: The database.
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
    """Return what boards of a generated store of about ``runs`` runs take; PostgreSQL where pgserver is installed."""
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        for url in _urls(Path(folder)):
            with Store(url) as store:
                made = fill(store, runs)
            with Store(url, create=False) as store:
                measured += _measure(store, made, repeats)
    return measured


def fill(store: Store, runs: int, tasks: int = TASKS, models: int = MODELS) -> int:
    """Fill an empty store with a sweep a task, of about ``runs`` runs in all; return how many they are.

    Models differ by a point of accuracy each, seeds by two; one run of twenty diverges. The same sizes give the same
    store.
    """
    rng = random.Random(0)
    search = max(1, runs // (tasks * models) - ROWS * SEEDS)
    facts = {"commit": "0" * 40, "device": "generated", "torch": "none"}
    place, now, count = digest(facts), utc_now(), 0
    with store.transaction() as connection:
        insert_new(connection, EnvironmentRow, [{"id": place, "facts": facts}])
        for task in (f"task {k:02}" for k in range(tasks)):
            insert_new(connection, SweepRow, [{"name": task, "content": {}, "created": now}])
            trials = [
                {**_trial(config, level, rng), "environment": place, "ended": now}
                for level in range(models)
                for config in _configs(task, f"model {level:02}", search, rng)
            ]
            asks = [{"sweep": task, "trial": trial["id"], "position": k} for k, trial in enumerate(trials)]
            for table, lines in ((TrialRow, trials), (AskRow, asks)):
                for k in range(0, len(lines), CHUNK):
                    insert_new(connection, table, lines[k : k + CHUNK])
            count += len(trials)
        connection.execute(sa.text("ANALYZE"))
    return count


def _configs(task: str, model: str, search: int, rng: random.Random) -> Iterator[TrialConfig]:
    """Yield the trials of one model: its search, then its retrainings."""
    searched: list[tuple[Phase, int]] = [("search", 1)] * search
    again: list[tuple[Phase, int]] = [("retrain", SEEDS)] * ROWS
    for phase, seeds in searched + again:
        params = {name: rng.random() for name in ("lr", "dt", "gamma", "epsilon")}
        for _ in range(seeds):
            seed = rng.getrandbits(31)
            yield TrialConfig(task, "", "generated", model, {"scheme": "a"}, params, 128, 32, 30, phase, seed)


def _trial(config: TrialConfig, level: int, rng: random.Random) -> dict[str, Any]:
    """Return a trial's row with its end."""
    score, lost = 50 + level + rng.gauss(0, 2), rng.random() < 0.05
    if lost:
        run = Run(config.id, "diverged", "loss is nan in epoch 3", epochs=3, seconds=1.0)
    else:
        run = Run(config.id, "ok", "", 30, 25, score, score if config.phase == "retrain" else None, 10.0, 16, 60000)
    about = {
        "task": config.task,
        "model": config.model,
        "metric": "accuracy",
        "unit": "%",
        "goal": "max",
        "published": [""],
        "called": [""],
        "departures": ["epochs 30 (published 400)"],
        "trivial": {"majority": 10.0, "linear": 30.0},
    }
    ended = {k: v for k, v in asdict(run).items() if k not in ("trial", "environment")}
    named = {name: getattr(config, name) for name in ("id", "task", "model", "phase", "row")}
    return {**named, **ended, "config": config.to_dict(), "about": about}


def _measure(store: Store, runs: int, repeats: int) -> list[BoardTime]:
    task = store.tasks()[0]
    rows = board(store)
    shape = f"{runs} runs, {sum(row.kind == 'reproduced' for row in rows)} rows, {len(store.tasks())} tasks"
    what: dict[str, Callable[[], object]] = {
        "boards of all tasks": lambda: board(store),
        "overview of all tasks": lambda: overview(board(store)),
        "board of one task": lambda: board(store, task),
    }
    path = store.engine.dialect.name
    store.close()
    lines = []
    for name, call in what.items():
        times = [_ms(call) for _ in range(repeats)]
        lines.append(BoardTime(name, shape, path, min(times), times[0], min(times) / GOAL))
    return lines


def _ms(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - start)


def _urls(folder: Path) -> Iterator[str]:
    """Yield the URLs of empty databases: SQLite's, and that of a PostgreSQL server of its own."""
    yield f"sqlite:///{folder / 'store.db'}"
    with _postgresql(folder / "postgresql") as url:
        if url:
            yield url


@contextmanager
def _postgresql(folder: Path) -> Iterator[str | None]:
    """Give the URL of an empty PostgreSQL database; None where pgserver, a package with the server, is absent."""
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
