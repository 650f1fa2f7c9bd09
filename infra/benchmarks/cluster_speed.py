"""Speed of two nodes relative to one, in one run."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from local_cluster import LocalCluster, local_cluster

from longwave.platform.bench.sweep import some_configs
from longwave.platform.cli.app import ListFormat
from longwave.platform.cli.main import main
from longwave.platform.errors import ConfigError, WorkerError
from longwave.platform.records.report import Ending, Report
from longwave.platform.render.terminal import print_json, print_table, show_waiting
from longwave.platform.sweeps.place.devices import Slot
from longwave.platform.sweeps.place.workers import Job, Workers
from longwave.platform.sweeps.run.executor import run_packs, running_workers

LOOK_SECONDS = 0.5


@dataclass(frozen=True)
class Scaling:
    """One run of the benchmark.

    Attributes:
        name: Which nodes trained.
        nodes: Their number.
        seconds: From the first pack's start to the last one's end, including starts of workers.
        hourly: Trials per hour.
        ratio: ``hourly`` over the mean of one node's.
        share: Share of their cores that the nodes got; well below 1 means that other processes used them too.
        each: Core seconds per trial.
    """

    name: str
    nodes: int
    seconds: float
    hourly: float
    ratio: float
    share: float
    each: float


def measure_scaling(model: str, packs: int, members: int, epochs: int) -> list[Scaling]:
    """Return a line for the first node, both, and the second; each has one core of this machine and trains all packs.

    Raises:
        ConfigError: This machine has one core.
        WorkerError: A pack did not finish.
    """
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise ConfigError("The benchmark needs two cores, one for each node; this machine has one.")
    configs = [replace(config, epochs=epochs) for config in some_configs(model, packs * members)]
    jobs = {f"pack{k}": Job(configs[k * members : (k + 1) * members]) for k in range(packs)}
    warm = {"warm": Job([replace(config, epochs=1) for config in configs[:members]])}
    nodes = {"first": {"core": "first"}, "both": {}, "second": {"core": "second"}}
    seconds, used = dict[str, float](), dict[str, float]()
    with local_cluster({"OMP_NUM_THREADS": "1", "RAY_worker_niceness": "0"}) as cluster:
        for core, name in zip(cores, ("first", "second"), strict=False):
            cluster.add(1, cores=(core,), labels={"core": name})
        with running_workers(Workers(2, Path(), cluster.address, cpu=True)):
            for name in ("first", "second"):
                _time_jobs(warm, 1, cluster.address, nodes[name])
            for name, labels in nodes.items():
                with _count_core_seconds(cluster) as meter:
                    seconds[name] = _time_jobs(jobs, 1 + (not labels), cluster.address, labels)
                used[name] = meter()
    alone, lines = (seconds["first"] + seconds["second"]) / 2, []
    for name, s in seconds.items():
        count = 1 + (name == "both")
        share, each = used[name] / (count * s), used[name] / len(configs)
        lines.append(Scaling(name, count, s, 3600 * len(configs) / s, alone / s, share, each))
    return lines


class _PackEnds:
    """A sink that records only the ends of packs."""

    def __init__(self) -> None:
        self.over: set[str] = set()

    def started(self, pack: str, slot: Slot) -> None:
        """Do nothing."""

    def report(self, pack: str, report: Report) -> None:
        """Do nothing."""

    def show_notice(self, line: str) -> None:
        """Do nothing."""

    def ended(self, pack: str, how: Ending, why: str = "") -> None:
        """Record the pack; raise WorkerError unless it finished."""
        if how != "over":
            raise WorkerError(f"The pack {pack} {how}: {why}.")
        self.over.add(pack)

    def flush(self) -> None:
        """Do nothing."""


@contextmanager
def _count_core_seconds(cluster: LocalCluster) -> Iterator[Callable[[], float]]:
    """Yield a function that returns, after the block, the nodes' core seconds in it, polled often as workers end."""
    before, over = cluster.core_seconds(), threading.Event()
    latest = dict(before)

    def look() -> None:
        while not over.wait(LOOK_SECONDS):
            latest.update(cluster.core_seconds())

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield lambda: sum(seconds - before.get(process, 0.0) for process, seconds in latest.items())
    finally:
        over.set()
        thread.join()


def _time_jobs(jobs: Mapping[str, Job], count: int, address: str, labels: Mapping[str, str]) -> float:
    sink, began = _PackEnds(), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        run_packs([jobs], sink, Workers(count, Path(folder), address, cpu=True, labels=labels))
    seconds = time.perf_counter() - began
    if sink.over != jobs.keys():
        raise WorkerError(f"Packs {sorted(jobs.keys() - sink.over)} did not end.")
    return seconds


def print_report(measured: Sequence[Scaling], format: str) -> None:
    """Print how packs scale with nodes."""
    if format == "json":
        print_json([asdict(line) for line in measured])
        return
    print_table(
        ["nodes", "s", "trials an hour", "× one node", "share of cores", "core s a trial"],
        [
            (m.name, f"{m.seconds:.1f}", f"{m.hourly:.0f}", f"{m.ratio:.2f}", f"{m.share:.0%}", f"{m.each:.2f}")
            for m in measured
        ],
    )


command = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)


@command.command()
def measure(
    packs: Annotated[int, typer.Option(min=2, help="Packs of each turn.")] = 8,
    members: Annotated[int, typer.Option(min=1, help="Trials of a pack.")] = 4,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of a trial.")] = 40,
    model: Annotated[str, typer.Option(help="Which model.")] = "lem",
    format: Annotated[ListFormat, typer.Option(help="table or json")] = ListFormat.table,
) -> None:
    """Measure how packs scale from one node to two: a Ray head here and two nodes, each on its own core.

    The same packs are trained by the first node, by both, and by the second; the ratio is relative to the mean of the
    two alone.
    """
    with show_waiting("Measuring"):
        measured = measure_scaling(model, packs, members, epochs)
    print_report(measured, format.value)


if __name__ == "__main__":
    sys.exit(main(command=command))
