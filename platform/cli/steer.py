"""Commands that watch and steer sweeps: sweep status, list, watch, pause, continue, stop, retry."""

from __future__ import annotations

import time
from dataclasses import replace

import typer

from longwave.platform.cli.app import ListFormat, ListFormatOption, PriceOption, StoreOption
from longwave.platform.cli.names import NameArgument
from longwave.platform.paths import store_url
from longwave.platform.render import sweeps
from longwave.platform.storage.leases import read_drivers
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.place.cluster import parse_prices
from longwave.platform.sweeps.run.status import sweep_status

SECONDS = 1.0
"""How often ``sweep watch`` looks."""
PATIENCE = 15
"""Looks for which ``sweep watch`` waits for a driver, which the store knows only once it has planned."""


def show_status(
    name: NameArgument,
    format: ListFormatOption = ListFormat.table,
    price: PriceOption = "",
    store: StoreOption = None,
) -> None:
    """Print a sweep's progress, its processes, its cost so far and the time left.

    Example: longwave sweep status demo --format json
    """
    each = parse_prices(price)
    with Store(store_url(store), create=False) as known:
        sweeps.print_status(sweep_status(known, name), format.value, each)


def list_sweeps(format: ListFormatOption = ListFormat.table, store: StoreOption = None) -> None:
    """List the sweeps of the store with their progress.

    Example: longwave sweep list
    """
    with Store(store_url(store), create=False) as known:
        sweeps.print_overview([sweep_status(known, name) for name in known.sweeps()], format.value)


def watch_sweep(name: NameArgument, store: StoreOption = None) -> None:
    """Show a sweep's progress until it is over or interrupted. Off a terminal, it prints a line at each change.

    It waits a little for a process that runs the sweep.

    Example: longwave sweep watch demo
    """
    with Store(store_url(store), create=False) as known, sweeps.watch_status() as show:
        looks, seen = 0, False
        while (status := sweep_status(known, name)).state != "over":
            seen = seen or status.state != "interrupted"
            if status.state != "interrupted":
                show(status)
            elif seen or looks >= PATIENCE:
                break
            else:
                show(replace(status, state="nothing runs it yet, waiting for its driver"))
            looks += 1
            time.sleep(SECONDS)
        show(status)


def pause_sweep(name: NameArgument, store: StoreOption = None) -> None:
    """Pause a sweep: its drivers save checkpoints and wait. They keep their leases until ``sweep continue``.

    Example: longwave sweep pause demo
    """
    _send_state(name, store, "pause", f"Continue it with: longwave sweep continue {name}")


def continue_sweep(name: NameArgument, store: StoreOption = None) -> None:
    """Continue a paused sweep.

    Example: longwave sweep continue demo
    """
    _send_state(name, store, "", "A waiting driver continues within seconds; this command starts none.")


def stop_sweep(name: NameArgument, store: StoreOption = None) -> None:
    """Stop a sweep: its drivers save checkpoints and exit. Finished trials are kept.

    Example: longwave sweep stop demo
    """
    _send_state(name, store, "stop", f"Resume it with: longwave sweep resume {name}")


def retry_trials(name: NameArgument, store: StoreOption = None) -> None:
    """Queue the failed trials of a sweep again. The reasons of earlier failures are kept.

    Example: longwave sweep retry demo
    """
    with Store(store_url(store), create=False) as known:
        known.sweep(name)
        count = known.reopen_failed(name)
    typer.echo(f"{name}: {count} failed trials are queued again. Train them with: longwave sweep resume {name}")


def _send_state(name: str, store: str | None, state: str, then: str) -> None:
    """Write what a sweep's drivers are to do, and print how many of them are running."""
    with Store(store_url(store), create=False) as known:
        known.set_state(name, state)
        alive = sum(d.alive for d in read_drivers(known, name))
    typer.echo(f"{name}: sent to {alive} running {'driver' if alive == 1 else 'drivers'}. {then}")
