"""Commands that train: sweep run and resume. What needs torch is imported once workers start, which takes as long."""

from __future__ import annotations

from dataclasses import replace

from longwave.platform.cli.names import NameArgument
from longwave.platform.cli.options import FileArgument, RunOptions, takes_options
from longwave.platform.paths import mlflow_server, store_url
from longwave.platform.render import terminal
from longwave.platform.storage.store import Store
from longwave.platform.sweeps import driver
from longwave.platform.sweeps.config import SweepFile, read_sweep
from longwave.platform.sweeps.entry import Sweep
from longwave.platform.sweeps.executor import running
from longwave.platform.sweeps.metrics import DriverMetrics
from longwave.platform.sweeps.mirroring import mirroring
from longwave.platform.sweeps.sweep import stored_sweep
from longwave.platform.sweeps.workers import Workers


@takes_options
def run_sweep(file: FileArgument, options: RunOptions) -> None:
    """Run a sweep: search, retrain the winners, store everything. Run again, it does what is missing.

    Example: longwave sweep run infra/sweeps/demo.toml --workers 2
    """
    checked, server = keeping(read_sweep(file), options.keep_weights), mlflow_server(options.mlflow)
    workers, numbers = options.workers_of(checked.name), DriverMetrics(checked.name)
    with numbers.served(options.metrics), running(workers), mirroring(server):
        from longwave.platform.sweeps.memory import checked_memory
        from longwave.platform.sweeps.resolve import resolve
        from longwave.platform.sweeps.sweep import plan

        with terminal.waiting("Preparing data"):
            resolved = checked_memory(resolve(checked), workers)
        with Store(store_url(options.store)) as store:
            with terminal.waiting("Planning"):
                planned = plan(resolved, store)
            train(planned, store, workers, server, numbers)


@takes_options
def resume_sweep(
    name: NameArgument,
    options: RunOptions,
) -> None:
    """Go on with a sweep that was interrupted. What has ended is not trained again.

    Example: longwave sweep resume demo
    """
    workers, server, numbers = options.workers_of(name), mlflow_server(options.mlflow), DriverMetrics(name)
    with Store(store_url(options.store), create=False) as store, numbers.served(options.metrics):
        found = stored_sweep(store, name)
        train(replace(found, file=keeping(found.file, options.keep_weights)), store, workers, server, numbers)


def keeping(file: SweepFile, weights: bool) -> SweepFile:
    """Return a sweep's settings, with its weights kept where that is asked on the command line."""
    return file.model_copy(update={"keep_weights": True}) if weights else file


def train(sweep: Sweep, store: Store, workers: Workers, server: str | None, numbers: DriverMetrics) -> None:
    """Train what is missing of a sweep, and print how many trials ended how."""
    console, board = terminal.Terminal(), f"longwave board {sweep.file.task or ''}".strip()
    view = driver.resume(sweep, store, workers, server, console, numbers)
    console.print(f"{sweep.file.name}: {view.counts()}. See it with: {board}", highlight=False)
