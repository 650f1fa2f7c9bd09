"""Commands that train: sweep run, sweep resume and demo.

Modules that need torch or SQLAlchemy are imported after the workers have been started, because both take seconds.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from longwave.platform.cli.names import NameArgument
from longwave.platform.cli.options import FileArgument, RunOptions, takes_options
from longwave.platform.paths import format_sweep_command, store_option, store_url
from longwave.platform.sweeps.file.reading import read_sweep
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.run.executor import running_workers
from longwave.platform.sweeps.run.metrics import DriverMetrics
from longwave.platform.sweeps.trackers.background import tracking

if TYPE_CHECKING:
    from collections.abc import Sequence

    from longwave.platform.storage.store import Store
    from longwave.platform.sweeps.place.workers import Workers
    from longwave.platform.sweeps.plan.cells import Sweep
    from longwave.platform.sweeps.trackers.tracker import TrackerName


@takes_options
def run_sweep(file: FileArgument, options: RunOptions) -> int:
    """Run a sweep: search, retrain the winners, store everything. Run again, it trains only what is missing.

    Example: longwave sweep run infra/sweeps/demo.toml --workers 2
    """
    return _train_file(file, options)


@takes_options
def run_demo(options: RunOptions) -> None:
    """Run the demo, in a few minutes, and print its board.

    Five models learn the adding problem, each with a search, a race and retrainings.

    Example: longwave demo
    """
    from longwave.platform.cli.boards import show_boards

    _train_file(Path(__file__).with_name("demo.toml"), options)
    show_boards(["adding"], store=options.store)


def _train_file(file: Path, options: RunOptions) -> int:
    checked, trackers = with_kept_weights(read_sweep(file), options.keep_weights), options.trackers()
    workers, numbers = options.workers_of(checked.name), DriverMetrics(checked.name)
    with numbers.served(options.metrics), running_workers(workers), tracking(trackers):
        from longwave.platform.render.terminal import show_waiting
        from longwave.platform.storage.store import Store
        from longwave.platform.sweeps.place.packing import check_memory
        from longwave.platform.sweeps.plan.resolve import resolve
        from longwave.platform.sweeps.plan.stored import store_plan

        with show_waiting("Preparing data"):
            resolved = check_memory(resolve(checked), workers)
        with Store(store_url(options.store)) as store:
            with show_waiting("Planning"):
                planned = store_plan(resolved, store)
            return train_sweep(planned, store, workers, trackers, numbers)


@takes_options
def resume_sweep(name: NameArgument, options: RunOptions) -> int:
    """Resume a sweep that was interrupted. Finished trials are not trained again.

    Example: longwave sweep resume demo
    """
    from longwave.platform.storage.store import Store
    from longwave.platform.sweeps.plan.stored import read_sweep_plan

    workers, trackers, numbers = options.workers_of(name), options.trackers(), DriverMetrics(name)
    with Store(store_url(options.store), create=False) as store, numbers.served(options.metrics):
        planned = read_sweep_plan(store, name)
        planned = replace(planned, file=with_kept_weights(planned.file, options.keep_weights))
        return train_sweep(planned, store, workers, trackers, numbers)


def with_kept_weights(file: SweepFile, keep_weights: bool) -> SweepFile:
    """Return a sweep's settings, with ``keep_weights`` set if the command line requests it."""
    return file.model_copy(update={"keep_weights": True}) if keep_weights else file


def train_sweep(
    sweep: Sweep, store: Store, workers: Workers, trackers: Sequence[TrackerName], numbers: DriverMetrics
) -> int:
    """Train what is missing of a sweep, print the number of trials by outcome, and return the exit status: 1 if every
    trial failed.
    """
    from longwave.platform.render.terminal import Terminal
    from longwave.platform.sweeps.run import driver

    console, name = Terminal(), sweep.file.name
    status = format_sweep_command("status", name, store.url)
    view = driver.resume_sweep(sweep, store, workers, trackers, console, numbers)
    if any(trial.phase == "retrain" for trial in store.planned(name)):
        advice = f"See it with: longwave board {sweep.file.task or ''}".strip() + store_option(store.url)
    else:
        advice = f"No board shows it, as nothing was retrained. See it with: {status}"
    failed, said = view.count_failed(), f"{name}: {view.counts()}. {advice}"
    if failed:
        again = format_sweep_command("retry", name, store.url)
        said += f"\n{failed} failed; see why with: {status}. Queue them again with: {again}"
    console.print(said, highlight=False, soft_wrap=True)  # a command that Rich wraps cannot be copied
    return 1 if failed and failed == len(view.ends) else 0
