"""Curve points per second in batches, and keyed commits per second by several processes."""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from longwave.platform.bench.board import empty_databases, fill_store
from longwave.platform.cli.app import ListFormat
from longwave.platform.cli.main import main
from longwave.platform.records.run import Point
from longwave.platform.render.terminal import print_json, print_table, show_waiting
from longwave.platform.storage.database import Database, insert_new
from longwave.platform.storage.schema import CurveRow
from longwave.platform.storage.store import Store

BATCH = 500
"""Curve points per commit: an epoch of a large pack."""
REQUIRED = {"points": 5_000.0, "commits": 1_000.0}
"""Lower bounds per second."""


@dataclass(frozen=True)
class StoreSpeed:
    """One line of the benchmark.

    Attributes:
        name: What was measured.
        path: The database.
        writers: Processes that wrote.
        rows: Rows they wrote in total, all present at the end.
        per_second: ``points`` or ``commits`` per second.
        ratio: ``per_second`` over its lower bound.
    """

    name: str
    path: str
    writers: int
    rows: int
    per_second: float
    ratio: float


def store_benchmark(points: int, commits: int, writers: int) -> list[StoreSpeed]:
    """Return the write speed of a store, on SQLite and, with pgserver, on PostgreSQL.

    Args:
        points: Curve points of one process, ``BATCH`` per commit.
        commits: Commits of all processes, each of one row under its own key.
        writers: Processes of the second measurement.
    """
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        for url in empty_databases(Path(folder)):
            with Store(url) as store:
                fill_store(store, 100, 1, 1)
                trials = [t.config.id for t in store.trials(store.tasks()[0])][:writers]
                path = store.engine.dialect.name
            seconds = _write_points(url, trials[0], 1, points, BATCH)
            measured.append(_make_line("points", path, 1, points, seconds))
            each = commits // writers
            with _write_together(url, trials, each) as took:
                measured.append(_make_line("commits", path, writers, each * writers, took))
            with Store(url, create=False) as store:
                assert len(store.curves(trials)) == points + each * writers
    return measured


def _make_line(name: str, path: str, writers: int, rows: int, seconds: float) -> StoreSpeed:
    per_second = rows / seconds
    return StoreSpeed(name, path, writers, rows, per_second, per_second / REQUIRED[name])


def _write_points(url: str, trial: str, first: int, rows: int, batch: int) -> float:
    """Write epochs of a trial, ``batch`` per commit; return the seconds."""
    made = [asdict(Point(trial, first + k, 1.0, 1.0, 1.0, 1.0)) for k in range(rows)]
    with Database(url, create=False) as database:
        start = time.perf_counter()
        for k in range(0, rows, batch):
            database.with_retry(lambda part=made[k : k + batch]: _commit_rows(database, part))  # type: ignore[misc]
        return time.perf_counter() - start


def _commit_rows(database: Database, rows: list[dict[str, object]]) -> None:
    with database.transaction() as connection:
        insert_new(connection, CurveRow, rows)


@contextmanager
def _write_together(url: str, trials: list[str], rows: int) -> Iterator[float]:
    """Yield the seconds that concurrent processes, one per trial, take to write rows, one commit each."""
    spawn = multiprocessing.get_context("spawn")
    ready, processes = spawn.Barrier(len(trials) + 1), []
    for trial in trials:
        processes.append(spawn.Process(target=_write_alone, args=(url, trial, rows, ready)))
        processes[-1].start()
    ready.wait(120)
    start = time.perf_counter()
    ready.wait(600)
    yield time.perf_counter() - start
    for process in processes:
        process.join(60)


def _write_alone(url: str, trial: str, rows: int, ready: object) -> None:
    wait = ready.wait  # type: ignore[attr-defined]
    made = [asdict(Point(trial, 1_000_000 + k, 1.0, 1.0, 1.0, 1.0)) for k in range(rows)]
    with Database(url, create=False) as database:
        wait(120)
        for row in made:
            database.with_retry(lambda part=[row]: _commit_rows(database, part))  # type: ignore[misc]
        wait(600)


def print_report(lines: Sequence[StoreSpeed], format: str) -> None:
    """Print the write speed of a store."""
    if format == "json":
        print_json([asdict(line) for line in lines])
        return
    rows = [(s.name, s.path, s.writers, s.rows, f"{s.per_second:.0f}", f"{s.ratio:.2f}") for s in lines]
    print_table(["what", "database", "writers", "rows", "per second", "of the bound"], rows, prose=[0, 1])


command = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)


@command.command()
def measure(
    points: Annotated[int, typer.Option(min=500, help="Curve points that one process writes in batches.")] = 20_000,
    commits: Annotated[int, typer.Option(min=100, help="Commits of one row by all writers together.")] = 8_000,
    writers: Annotated[int, typer.Option(min=1, max=64, help="Processes that commit at once.")] = 8,
    format: Annotated[ListFormat, typer.Option(help="table or json")] = ListFormat.table,
) -> None:
    """Measure the write speed of a store: curve points in batches, and commits of one row by several processes."""
    with show_waiting("Measuring"):
        measured = store_benchmark(points, commits, writers)
    print_report(measured, format.value)


if __name__ == "__main__":
    sys.exit(main(command=command))
