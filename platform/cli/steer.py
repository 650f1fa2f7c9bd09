"""Commands that watch and steer sweeps: sweep status, list, watch, edges, pause, continue, stop, retry."""

from __future__ import annotations

from typing import Annotated

import typer

from longwave.platform.cli.app import ListFormat, StoreOption
from longwave.platform.cli.names import a_sweep
from longwave.platform.cli.sweep import PriceOption, sweep

NameArgument = Annotated[str, typer.Argument(help="Name of a sweep in the store.", autocompletion=a_sweep)]
SECONDS = 1.0
"""How often ``sweep watch`` looks."""
PATIENCE = 15
"""Looks for which ``sweep watch`` waits for a driver, which is heard of only once it has planned."""


@sweep.command("status")
def status(
    name: NameArgument,
    format: Annotated[ListFormat, typer.Option(help="table or json")] = ListFormat.table,
    price: PriceOption = "",
    store: StoreOption = None,
) -> None:
    """Print how far a sweep is, who runs it, what it has taken, and how long it will take.

    Example: longwave sweep status demo --format json
    """
    from longwave.platform.paths import store_url
    from longwave.platform.render import sweeps
    from longwave.platform.storage.store import Store
    from longwave.platform.sweeps.forecast import prices
    from longwave.platform.sweeps.standing import standing

    each = prices(price)
    with Store(store_url(store), create=False) as known:
        sweeps.status(standing(known, name), format.value, each)


@sweep.command("list")
def list_(
    format: Annotated[ListFormat, typer.Option(help="table or json")] = ListFormat.table, store: StoreOption = None
) -> None:
    """List the sweeps of the store, and how they stand.

    Example: longwave sweep list
    """
    from longwave.platform.paths import store_url
    from longwave.platform.render import sweeps
    from longwave.platform.storage.store import Store
    from longwave.platform.sweeps.standing import standing

    with Store(store_url(store), create=False) as known:
        sweeps.overview([standing(known, name) for name in known.sweeps()], format.value)


@sweep.command("watch")
def watch(name: NameArgument, store: StoreOption = None) -> None:
    """Show how a sweep stands until it is over or interrupted; off a terminal, a line whenever that changes.

    It waits a little for a process that runs the sweep.

    Example: longwave sweep watch demo
    """
    import time
    from dataclasses import replace

    from longwave.platform.paths import store_url
    from longwave.platform.render import sweeps
    from longwave.platform.storage.store import Store
    from longwave.platform.sweeps.standing import standing

    with Store(store_url(store), create=False) as known, sweeps.watching() as show:
        looks, seen = 0, False
        while (found := standing(known, name)).state != "over":
            seen = seen or found.state != "interrupted"
            if found.state != "interrupted":
                show(found)
            elif seen or looks >= PATIENCE:
                break
            else:
                show(replace(found, state="nothing runs it yet, waiting for its driver"))
            looks += 1
            time.sleep(SECONDS)
        show(found)


@sweep.command("edges")
def edges(
    name: NameArgument,
    widened: Annotated[bool, typer.Option("--widened", help="Print a second search as TOML.")] = False,
    format: Annotated[ListFormat, typer.Option(help="table or json")] = ListFormat.table,
    store: StoreOption = None,
) -> None:
    """List the numbers of winners that sit at an edge of the range they were drawn from. Nothing is trained.

    An edge is the outer 5 % of a range at each end, of its logarithm where it is drawn so. With --widened, each such
    range is wider for all models alike: tenfold at each end where it is logarithmic, else by its own width. In a copy
    of the sweep file, of another name, it follows on the first search, which is not trained again.

    Example: longwave sweep edges demo
    """
    from longwave.platform.paths import store_url
    from longwave.platform.render import sweeps
    from longwave.platform.storage.store import Store
    from longwave.platform.sweeps.edges import at_edges, tables, wider
    from longwave.platform.sweeps.sweep import looked_up, stored_sweep

    with Store(store_url(store), create=False) as known:
        planned = looked_up(stored_sweep(known, name))  # an imported one has no spaces of its own
        found, without = at_edges(planned, known, name)
    if widened:
        typer.echo(tables(wider(planned, found), max(planned.file.trials // 2, 1)), nl=False)
    else:
        sweeps.edges(name, found, without, format.value)


@sweep.command("pause")
def pause(name: NameArgument, store: StoreOption = None) -> None:
    """Have a sweep's drivers save checkpoints and wait. They keep their leases' place until told to go on.

    Example: longwave sweep pause demo
    """
    _tell(name, store, "pause", f"It goes on with: longwave sweep continue {name}")


@sweep.command("continue")
def continue_(name: NameArgument, store: StoreOption = None) -> None:
    """Let a paused sweep go on.

    Example: longwave sweep continue demo
    """
    _tell(name, store, "", "A driver that waits goes on within seconds; none is started by this.")


@sweep.command("stop")
def stop(name: NameArgument, store: StoreOption = None) -> None:
    """Have a sweep's drivers save checkpoints and end. What is done is kept.

    Example: longwave sweep stop demo
    """
    _tell(name, store, "stop", f"Go on with: longwave sweep resume {name}")


@sweep.command("retry")
def retry(name: NameArgument, store: StoreOption = None) -> None:
    """Make the failed trials of a sweep open again. How they failed stays with their attempts.

    Example: longwave sweep retry demo
    """
    from longwave.platform.paths import store_url
    from longwave.platform.storage.store import Store

    with Store(store_url(store), create=False) as known:
        known.sweep(name)
        count = known.reopen_failed(name)
    typer.echo(f"{name}: {count} failed trials are open again. Train them with: longwave sweep resume {name}")


def _tell(name: str, store: str | None, state: str, then: str) -> None:
    """Write what a sweep's drivers are to do, and say how many there are to hear it."""
    from longwave.platform.paths import store_url
    from longwave.platform.storage.leases import drivers
    from longwave.platform.storage.store import Store

    with Store(store_url(store), create=False) as known:
        known.set_state(name, state)
        alive = sum(d.alive for d in drivers(known, name))
    typer.echo(f"{name}: told {alive} running {'driver' if alive == 1 else 'drivers'}. {then}")
