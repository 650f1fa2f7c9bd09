"""Output of plans, costs and progress of sweeps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import datetime
from typing import TYPE_CHECKING

from rich.live import Live
from rich.text import Text

from longwave.platform.paths import format_sweep_command
from longwave.platform.records.probe import CPU
from longwave.platform.render import terminal
from longwave.platform.render.harmless import one_line
from longwave.platform.sweeps.place import devices
from longwave.platform.sweeps.place.cluster import total_cost
from longwave.platform.sweeps.run.time_left import LOG_SECONDS, duration_text
from longwave.platform.wording import describe_count

if TYPE_CHECKING:
    from longwave.platform.storage.leases import Driver
    from longwave.platform.sweeps.place.cluster import Cluster, SweepEstimate
    from longwave.platform.sweeps.plan.cells import Sweep
    from longwave.platform.sweeps.plan.range_edges import AtEdge
    from longwave.platform.sweeps.run.status import SweepStatus

SHOWN = 5
"""Number of reasons for failures to print."""
IN_SHORT = ("planned", "running", "done", "ok")
"""Counts to print for each cell."""


def print_estimate(
    sweep: Sweep, cluster: Cluster, estimate: SweepEstimate, price: Mapping[str, float], format: str
) -> None:
    """Print where a sweep's packs are placed, and the expected cost."""
    if format == "json":
        packs = [
            {"packs": count, "members": members, "kind": kind, "devices": devices}
            for (kind, devices, members), count in estimate.placed.items()
        ]
        machines = [asdict(machine) for machine in cluster.pool.nodes]
        sums = {"seconds": estimate.seconds, "held": estimate.held, "cost": total_cost(estimate.held, price)}
        terminal.print_json({"machines": machines, "packs": packs, **sums, "unknown": estimate.unknown})
        return
    file = sweep.file
    lines = [
        (count, members, f"{devices:.4g} {'core' if kind == CPU else kind}")
        for (kind, devices, members), count in sorted(estimate.placed.items())
    ]
    terminal.print_line(f"{file.name} on {devices.describe_pool(cluster.pool)}")
    terminal.print_table(["packs", "members", "each on"], lines, right=(0, 1))
    print_hours(sweep, estimate, price)


def print_hours(sweep: Sweep, estimate: SweepEstimate, price: Mapping[str, float]) -> None:
    """Print the expected cost of a sweep, and which models have no estimate."""
    file = sweep.file
    at_most = "at most " if file.stops_early or file.budget.trials else "about "
    if estimate.seconds:
        qualifier = "more than " if estimate.unknown else at_most
        summary = f"{qualifier}{duration_text(estimate.seconds)}, {_held_text(estimate.held, price)}"
        terminal.print_line(f"  Expected: {summary}.")
    if estimate.unknown:
        models = ", ".join(sorted(estimate.unknown))
        terminal.print_line(f"  No timing is stored for some packs on these devices: {models}.")
        terminal.print_line("  Measure them, which may take a while, with: --cluster --probe")
    else:
        terminal.print_line("  Start-up is not included, and trials that may end early count in full.")


def print_status(status: SweepStatus, format: str, price: Mapping[str, float]) -> None:
    """Print a sweep's progress and cost, and the progress of its cells if there are several."""
    if format == "json":
        terminal.print_json({**status.to_dict(), "cost": total_cost(status.spent.used, price)})
        return
    counts = status.counts
    terminal.print_table(
        [*counts], [[*counts.values()]], title=f"{status.name}: {describe_count(status.trials, 'trial')}"
    )
    if len(status.cells) > 1:
        lines = [(label, *(line[n] for n in IN_SHORT)) for label, line in status.cells.items()]
        terminal.print_table(["cell", *IN_SHORT], lines, prose=[0])
    terminal.print_unwrapped(f"  {status_line(status)}")
    if status.spent.used:
        for cost in cost_lines(status, price):
            terminal.print_line(f"  {cost}")
    for driver in status.drivers:
        terminal.print_line(f"  {_driver_text(driver)}")
    for reason, count in sorted(status.failures.items(), key=lambda item: -item[1])[:SHOWN]:
        terminal.print_line(one_line(f"  {count} failed: {reason}"))
    if status.failures:
        terminal.print_unwrapped(f"  Queue them again with: {format_sweep_command('retry', status.name, status.store)}")


def print_overview(statuses: Sequence[SweepStatus], format: str) -> None:
    """Print one line per sweep."""
    if format == "json":
        terminal.print_json([status.to_dict() for status in statuses])
        return
    heads = ["sweep", "state", "trials", "done", "failed", "epochs", "left"]
    lines = [
        (s.name, s.state, s.trials, s.counts["done"], s.counts["failed"], _epochs_text(s), duration_text(s.left))
        for s in statuses
    ]
    terminal.print_table(heads, lines, right=(2, 3, 4, 5, 6), drop=(5, 4, 6))


def print_edges(name: str, at_edges: Sequence[AtEdge], without_winner: Sequence[str], format: str) -> None:
    """Print the winners' values at an edge of their range, and the cells without a winner."""
    if format == "json":
        terminal.print_json({"edges": [edge.to_dict() for edge in at_edges], "without": list(without_winner)})
        return
    lines = [(e.cell, e.name, f"{e.value:.3g}", f"{e.low:g}", f"{e.high:g}", e.end) for e in at_edges]
    if lines:
        terminal.print_table(["cell", "parameter", "winner", "low", "high", "edge"], lines, right=(2, 3, 4), prose=[0])
    values_lie = "winning value lies" if len(lines) == 1 else "winning values lie"
    terminal.print_line(f"{name}: {len(lines)} {values_lie} at an edge of the search range.")
    if without_winner:
        terminal.print_line(f"  Without a winner: {', '.join(without_winner)}.")


@contextmanager
def watch_status() -> Iterator[Callable[[SweepStatus], None]]:
    """Yield a function that shows a sweep's progress: in place on a terminal, else as a line after each change. Lines
    begin with the time, and are printed at least once a minute.
    """
    console, last, printed = terminal.Terminal(), "", 0.0
    if console.is_terminal:
        try:
            with Live(console=console, auto_refresh=False, transient=True) as live:

                def renew(status: SweepStatus) -> None:
                    nonlocal last
                    lines = [f"{status.name}: {status_line(status)}", *map(_driver_text, status.drivers)]
                    last = "\n".join(lines)
                    live.update(Text(last, no_wrap=True, overflow="ellipsis"), refresh=True)

                yield renew
        finally:
            if last:
                terminal.print_unwrapped(last)  # with the whole of a command
        return

    def say(status: SweepStatus) -> None:
        nonlocal last, printed
        dead_drivers = [_driver_text(d) for d in status.drivers if not d.alive]
        message = f"{status.name}: {'; '.join([status_line(replace(status, left=None)), *dead_drivers])}"
        if message != last or time.monotonic() - printed > LOG_SECONDS:
            terminal.print_unwrapped(f"{datetime.now():%Y-%m-%d %H:%M:%S} {message}")
            last, printed = message, time.monotonic()

    yield say


def status_line(status: SweepStatus) -> str:
    """Return one line: state, trials, epochs, time left."""
    done = f"{status.counts['done']} of {describe_count(status.trials, 'trial')} done"
    epochs = f"{_epochs_text(status)} epochs" if status.expected else ""
    time_left = (
        f"about {duration_text(status.left)} left" if status.left is not None and status.state == "running" else ""
    )
    resume = format_sweep_command("resume", status.name, status.store)
    hint = f"resume it with: {resume}" if status.state == "interrupted" else ""
    return ", ".join(part for part in (status.state, done, epochs, time_left, hint) if part)


def cost_lines(status: SweepStatus, price: Mapping[str, float]) -> Iterator[str]:
    """Yield a sweep's cost, or that so far, and the estimate for its finished packs."""
    spent = status.spent
    took = "took" if status.state == "over" else "so far it took"
    yield f"{took} {duration_text(spent.ran)}, {_held_text(spent.used, price)}"
    estimated = {kind: seconds for kind, seconds in spent.expected.items() if kind}
    if estimated:
        yield f"estimated for the finished packs: {_held_text(estimated, price)}"
    if not_estimated := round(spent.expected.get("", 0.0)):
        yield f"{not_estimated} {'pack has' if not_estimated == 1 else 'packs have'} no cost estimate"


def _held_text(seconds_by_kind: Mapping[str, float], price: Mapping[str, float]) -> str:
    """Return device time, and its cost if prices are known: ``1.5 A100 hours, cost 3.75``."""
    names = {kind: "core" if kind == CPU else kind for kind in seconds_by_kind}
    texts = {kind: f"{seconds / 3600:.3g}" for kind, seconds in seconds_by_kind.items()}
    hours = [f"{text} {names[kind]} hour{'' if text == '1' else 's'}" for kind, text in texts.items()]
    cost = total_cost(seconds_by_kind, price)
    return ", ".join([*hours, *([f"cost {cost:.2f}"] if cost is not None else [])])


def _epochs_text(status: SweepStatus) -> str:
    return f"{status.epochs}/{status.expected}" if status.expected else ""


def _driver_text(driver: Driver) -> str:
    process_text = f"process {driver.process} on {driver.host}"
    if not driver.alive:
        return f"{process_text} has died (last heartbeat {duration_text(driver.silent)} ago)"
    note = f": {driver.note}" if driver.note else ""
    origin = f"{process_text}, last heartbeat {duration_text(driver.silent)} ago"
    return f"running for {duration_text(driver.seconds)} ({origin}){note}"
