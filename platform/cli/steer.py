"""Commands that watch and control sweeps: sweep status, list, watch, pause, continue, stop and retry."""

from __future__ import annotations

import time
from dataclasses import replace

import typer

from longwave.platform.cli.app import ListFormat, ListFormatOption, PriceOption, StoreOption
from longwave.platform.cli.names import NameArgument
from longwave.platform.errors import LongwaveError, StoreUnavailable
from longwave.platform.paths import format_sweep_command, store_url
from longwave.platform.render import sweeps
from longwave.platform.storage.leases import read_drivers
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.place.cluster import parse_prices
from longwave.platform.sweeps.plan.stored import retry_failed
from longwave.platform.sweeps.run.status import SweepStatus, sweep_status
from longwave.platform.wording import describe_count

SECONDS = 1.0
"""Polling interval of ``sweep watch``."""
PATIENCE = 15
"""Polls for which ``sweep watch`` waits for a driver, which registers in the store only after planning."""


def show_status(
    name: NameArgument,
    format: ListFormatOption = ListFormat.table,
    price: PriceOption = "",
    store: StoreOption = None,
) -> None:
    """Print a sweep's progress, its processes, its cost so far and the time left.

    Example: longwave sweep status demo --format json
    """
    prices = parse_prices(price)
    with Store(store_url(store), create=False) as open_store:
        sweeps.print_status(sweep_status(open_store, name), format.value, prices)


def list_sweeps(format: ListFormatOption = ListFormat.table, store: StoreOption = None) -> None:
    """List the sweeps of the store with their progress. One whose record cannot be read comes last.

    Example: longwave sweep list
    """
    statuses, errors = list[SweepStatus](), list[LongwaveError]()
    with Store(store_url(store), create=False) as open_store:
        for name in open_store.sweeps():
            try:
                statuses.append(sweep_status(open_store, name))
            except StoreUnavailable:
                raise
            except LongwaveError as error:
                errors.append(error)
        sweeps.print_overview(statuses, format.value)
    if errors:
        raise errors[0]


def watch_sweep(name: NameArgument, store: StoreOption = None) -> None:
    """Show a sweep's progress until it is over or interrupted. If the output is not a terminal, it
    prints a line at each change.

    It waits a little for a process that runs the sweep.

    Example: longwave sweep watch demo
    """
    with Store(store_url(store), create=False) as open_store, sweeps.watch_status() as show:
        polls, was_running = 0, False
        while (status := sweep_status(open_store, name)).state != "over":
            was_running = was_running or status.state != "interrupted"
            if status.state != "interrupted":
                show(status)
            elif was_running or polls >= PATIENCE:
                break
            else:
                show(replace(status, state="nothing runs it yet, waiting for its driver"))
            polls += 1
            time.sleep(SECONDS)
        show(status)


def pause_sweep(name: NameArgument, store: StoreOption = None) -> None:
    """Pause a sweep: its drivers save checkpoints, release their trials and wait until `sweep continue`.

    Example: longwave sweep pause demo
    """
    _send_state(name, store, "pause", f"Continue it with: {format_sweep_command('continue', name, store_url(store))}")


def continue_sweep(name: NameArgument, store: StoreOption = None) -> None:
    """Continue a paused sweep.

    Example: longwave sweep continue demo
    """
    _send_state(name, store, "", "A waiting driver continues within seconds; this command starts none.")


def stop_sweep(name: NameArgument, store: StoreOption = None) -> None:
    """Stop a sweep: its drivers save checkpoints and exit. Finished trials are kept.

    Example: longwave sweep stop demo
    """
    _send_state(name, store, "stop", f"Resume it with: {format_sweep_command('resume', name, store_url(store))}")


def retry_trials(name: NameArgument, store: StoreOption = None) -> None:
    """Queue the failed trials of a sweep again. The reasons of earlier failures are kept.

    Failed trials of a search or a race stay failed once a later step was planned from them: another round of draws, the
    race, or the winner's retraining.

    Example: longwave sweep retry demo
    """
    with Store(store_url(store), create=False) as open_store:
        count = retry_failed(open_store, name)
        kept = len(open_store.failures(name))
    queued = f"{count} failed trial{' is' if count == 1 else 's are'} queued again"
    left = f"; not queued, because later trials followed from them: {kept}" if kept else ""
    step = f" Train with: {format_sweep_command('resume', name, store_url(store))}" if count else ""
    typer.echo(f"{name}: {queued}{left}.{step}")


def _send_state(name: str, store: str | None, state: str, next_step: str) -> None:
    """Write the state that a sweep's drivers must enter, and print how many of them read it; a sweep that is over stays
    as it is.
    """
    with Store(store_url(store), create=False) as open_store:
        alive = sum(d.alive for d in read_drivers(open_store, name))
        if not alive and sweep_status(open_store, name).state == "over":
            typer.echo(f"{name} is over: there is nothing to {state or 'continue'}.")
            return
        open_store.set_state(name, state)
    drivers = f"told {describe_count(alive, 'running driver')}" if alive else "there is no running driver"
    step = next_step if alive else f"Start one with: {format_sweep_command('resume', name, store_url(store))}"
    typer.echo(f"{name}: {drivers} to {state or 'continue'}. {step}")
