"""One driver, its store and a thousand simulated workers: which saturates first.

Everything but the workers is real: the plan, the leases, the pipes, the transactions, a driver that is killed after
half of the trials and another that continues.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import scale_page
import typer
from scale_parts import (
    ScaleSize,
    audit_results,
    killed_at_half,
    measure_plan,
    measure_questions,
    measure_run,
    send_result,
)

from longwave.files import atomic_file
from longwave.platform.bench.board import empty_databases, fill_store
from longwave.platform.cli.app import ListFormat, OutOption, in_a_folder
from longwave.platform.cli.main import main
from longwave.platform.errors import ConfigError, WorkerError
from longwave.platform.render.bench import print_targets
from longwave.platform.render.terminal import print_json, print_table, show_waiting
from longwave.platform.storage.store import Store

if TYPE_CHECKING:
    from longwave.platform.bench.report import Target

PLANNED, RESUMED, OVERHEAD, MEMORY = 60.0, 5.0, 2.0, 1024.0
"""Upper bounds: seconds to plan, seconds to the first pack of a resume, ms per epoch, MiB."""
PATIENCE = 600.0
"""Seconds within which a process must end on request."""
SPAWN = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class ScaleRun:
    """Measurements of one database.

    Attributes:
        path: The database.
        plan: ``seconds`` from settings to the last trial in the store, ``trials``, and MiB of that process:
            ``base`` before the first trial, ``peak``.
        first, second: The killed driver and the one that continued: ``seconds``, ``cpu`` seconds of its process,
            ``epochs`` and ``reports`` received, ``first`` and ``first_cpu``: seconds until the first pack had a worker,
            ``peak`` MiB, ``latencies`` of transactions in ms, ``shares`` of the main thread's time.
        asked: Times of queries from another process while the second driver runs, in ms.
        audit: ``trials`` of the sweep, and those ``lost`` and ``duplicated``.
        load: Load average of a minute, after each part.
    """

    path: str
    plan: Mapping[str, Any]
    first: Mapping[str, Any]
    second: Mapping[str, Any]
    asked: Mapping[str, Mapping[str, float]]
    audit: Mapping[str, int]
    load: Mapping[str, float]

    @property
    def overhead(self) -> float:
        """CPU ms of the second driver's process per reported epoch, from its start to its end."""
        return 1000 * float(self.second["cpu"]) / int(self.second["epochs"])

    @property
    def pace(self) -> float:
        """Epochs per second processed by the second driver, after its first pack had a worker."""
        return int(self.second["epochs"]) / (float(self.second["seconds"]) - float(self.second["first"]))

    @property
    def targets(self) -> list[Target]:
        """Targets, with measured values."""
        from longwave.platform.bench.report import Target  # imports torch, which no driver loads

        trials, workers = f"{self.plan['trials']} trials on {self.path}", "the simulated workers"
        peak = max(float(part["peak"]) for part in (self.first, self.second))
        return [
            Target(f"{trials}: seconds to plan them", float(self.plan["seconds"]), PLANNED, at_most=True),
            Target(
                f"{trials}: seconds to the first pack of a resume", float(self.second["first"]), RESUMED, at_most=True
            ),
            Target(f"{trials}: ms of a driver's CPU an epoch, {workers}", self.overhead, OVERHEAD, at_most=True),
            Target(f"{trials}: MiB to plan them", float(self.plan["peak"]), MEMORY, at_most=True),
            Target(f"{trials}: MiB of a driver that resumes", peak, MEMORY, at_most=True),
            Target(f"{trials}: lost or duplicated", self.audit["lost"] + self.audit["duplicated"], 0, at_most=True),
        ]


@dataclass(frozen=True)
class ScaleReport:
    """All measurements.

    Attributes:
        versions: Of packages and the machine, by name.
        size: Of the sweep.
        runs: One per database.
    """

    versions: Mapping[str, str]
    size: ScaleSize
    runs: Sequence[ScaleRun] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Whether nothing was lost or duplicated."""
        return all(run.audit["lost"] == run.audit["duplicated"] == 0 for run in self.runs)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data, with derived values."""
        runs = [asdict(run) | {"overhead": run.overhead, "pace": run.pace} for run in self.runs]
        judged = [target.to_dict() for run in self.runs for target in run.targets]
        versions, size = dict(self.versions), asdict(self.size)
        return {"versions": versions, "size": size, "sound": self.sound, "runs": runs, "targets": judged}


def scale_benchmark(size: ScaleSize, only: str = "", say: Callable[[str], None] = lambda _: None) -> ScaleReport:
    """Return the measurements of a simulated sweep, on SQLite and, with pgserver, on PostgreSQL.

    Args:
        size: Of the sweep.
        only: Prefix of the URLs of the databases to measure; empty for all.
        say: Called with the current measurement.
    """
    from longwave.platform.training.environment import describe

    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for url in empty_databases(Path(folder)):
            if url.startswith(only):
                runs.append(_measure_database(url, size, Path(folder), say))
    return ScaleReport(describe() | {"cores": str(os.cpu_count())}, size, runs)


def _measure_database(url: str, size: ScaleSize, folder: Path, say: Callable[[str], None]) -> ScaleRun:
    """Return the measurements of one database."""
    path, load = url.partition(":")[0], dict[str, float]()

    def part(name: str) -> None:
        load[name] = os.getloadavg()[0]
        say(f"{path}: {name}")

    storage = folder / f"storage-{path}"
    storage.mkdir()
    part("before")
    with Store(url) as store:
        if size.earlier:
            fill_store(store, size.earlier)
    plan = _in_own_process(measure_plan, url, size)
    part("planned")
    with _start_process(killed_at_half, url, size, str(storage)) as child:
        first = child()
    part("half done, then killed")
    with _start_process(measure_questions, url) as looker:
        second = _in_own_process(measure_run, url, size, str(storage))
        part("done")
        questions = looker(over=True)
    audit = _in_own_process(audit_results, url)
    part("compared with the workers' reports")
    return ScaleRun(path, plan, first, second, questions, audit, load)


def _in_own_process(work: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a function run in a separate process."""
    with _start_process(send_result, work, *arguments) as child:
        return child()


@contextmanager
def _start_process(target: Callable[..., None], *arguments: Any) -> Iterator[Callable[..., Any]]:
    """Start a process with a pipe as last argument; yield a function that returns its message.

    Raises:
        WorkerError: It ended without a message.
    """
    ours, theirs = SPAWN.Pipe()
    process = SPAWN.Process(target=target, args=(*arguments, theirs))
    process.start()
    theirs.close()

    def word(over: bool = False) -> Any:
        if over:
            ours.send("over")
        try:
            return ours.recv()
        except EOFError:
            raise WorkerError("A process of the benchmark ended without a message.") from None

    try:
        yield word
    finally:
        process.join(PATIENCE)
        process.kill()


def print_report(report: ScaleReport, format: str) -> None:
    """Print the measurements of a driver with simulated workers."""
    if format == "json":
        print_json(report.to_dict())
        return
    for run in report.runs:
        print_targets(run.targets)
        print_table(
            ["time of the driver's main thread", "share"], [(p, f"{s:.0%}") for p, s in run.second["shares"].items()]
        )
        times = {f"store, to {kind}": took for kind, took in run.second["latencies"].items()} | dict(run.asked)
        ms = [(n, t["count"], *(f"{t[at]:.1f}" for at in ("p50", "p95", "p99", "most"))) for n, t in times.items()]
        print_table(["ms, meanwhile", "times", "median", "95 %", "99 %", "longest"], ms)


command = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)


@command.command()
def measure(
    trials: Annotated[int, typer.Option(min=20, help="Trials of the sweep.")] = 100_000,
    workers: Annotated[int, typer.Option(min=1, help="Simulated workers.")] = 1_000,
    pack: Annotated[int, typer.Option(min=1, help="Trials a pack.")] = 10,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of a trial.")] = 5,
    earlier: Annotated[
        int, typer.Option(min=0, help="Approximate number of runs of other sweeps in the store.")
    ] = 10_000,
    database: Annotated[str, typer.Option(help="sqlite or postgresql; empty for both.")] = "",
    out: OutOption = None,
    page: Annotated[
        Path | None, typer.Option(callback=in_a_folder, help="Write a page about the measurements, in Markdown.")
    ] = None,
    format: Annotated[ListFormat, typer.Option(help="table or json")] = ListFormat.table,
) -> int:
    """Measure one driver under simulated workers: plan, leases, store and resume are real, the training is not.

    The driver is killed halfway and another continues. Exits with 1 if a trial is lost or trained twice.
    """
    if database not in ("", "sqlite", "postgresql"):
        raise ConfigError(f"--database must be sqlite or postgresql, got {database!r}.")
    with show_waiting("Measuring") as say:
        report = scale_benchmark(ScaleSize(trials, workers, pack, epochs, earlier), database, say)
    if not report.runs:
        raise ConfigError("--database postgresql needs pgserver. Install it with: pip install pgserver")
    if out is not None:
        with atomic_file(out) as partial:
            partial.write_text(json.dumps(report.to_dict(), indent=2, ensure_ascii=False), encoding="utf-8")
    if page is not None:
        with atomic_file(page) as partial:
            partial.write_text(scale_page.scale_report(report), encoding="utf-8")
    print_report(report, format.value)
    return 0 if report.sound else 1


if __name__ == "__main__":
    sys.exit(main(command=command))
