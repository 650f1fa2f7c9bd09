"""How sweeps stand, for people and for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.live import Live
from rich.text import Text

from longwave.platform.render import terminal
from longwave.platform.render.harmless import one_line

if TYPE_CHECKING:
    from longwave.platform.storage.leases import Driver
    from longwave.platform.sweeps.standing import SweepStatus

SHOWN = 5
"""Reasons of failed trials that are printed."""
IN_SHORT = ("planned", "running", "done", "ok")
"""Counts that are printed of each cell."""


def status(found: SweepStatus, format: str) -> None:
    """Print how a sweep stands, and each of its cells, if it has several."""
    if format == "json":
        terminal.as_json(found.to_dict())
        return
    counts = found.counts
    terminal.table([*counts], [[*counts.values()]], title=f"{found.name}: {found.trials} trials asked for")
    if len(found.cells) > 1:
        lines = [(label, *(line[n] for n in IN_SHORT)) for label, line in found.cells.items()]
        terminal.table(["cell", *IN_SHORT], lines)
    terminal.say(f"  {line(found)}")
    for driver in found.drivers:
        terminal.say(f"  {_driver(driver)}")
    for reason, count in sorted(found.failures.items(), key=lambda item: -item[1])[:SHOWN]:
        terminal.say(one_line(f"  {count} failed: {reason}"))
    if found.failures:
        terminal.say(f"  Try them again with: longwave sweep retry {found.name}")


def overview(found: Sequence[SweepStatus], format: str) -> None:
    """Print a line for each sweep."""
    if format == "json":
        terminal.as_json([standing.to_dict() for standing in found])
        return
    heads = ["sweep", "state", "trials", "done", "failed", "epochs", "left"]
    lines = [
        (s.name, s.state, s.trials, s.counts["done"], s.counts["failed"], _epochs(s), duration(s.left)) for s in found
    ]
    terminal.table(heads, lines, right=(2, 3, 4, 5, 6))


@contextmanager
def watching() -> Iterator[Callable[[SweepStatus], None]]:
    """Give a function that shows how a sweep stands now: in place on a terminal, else a line where it changed."""
    console, last = terminal.console, [""]
    if console.is_terminal:
        with Live(console=console, auto_refresh=False) as live:

            def renew(found: SweepStatus) -> None:
                told = [line(found), *map(_driver, found.drivers)]
                live.update(Text("\n".join([f"{found.name}: {told[0]}", *told[1:]])), refresh=True)

            yield renew
        return

    def say(found: SweepStatus) -> None:
        gone = [_driver(d) for d in found.drivers if not d.alive]
        told = f"{found.name}: {'; '.join([line(replace(found, left=None)), *gone])}"
        if told != last[0]:
            terminal.say(told)
        last[0] = told

    yield say


def line(found: SweepStatus) -> str:
    """Return one line: state, trials, epochs, time left."""
    done = f"{found.counts['done']} of {found.trials} trials done"
    epochs = f"{_epochs(found)} epochs" if found.expected else ""
    left = f"about {duration(found.left)} left" if found.left is not None and found.state == "running" else ""
    more = f"go on with: longwave sweep resume {found.name}" if found.state == "interrupted" else ""
    return ", ".join(part for part in (found.state, done, epochs, left, more) if part)


def duration(seconds: float | None) -> str:
    """Return a time as people say it; empty for None."""
    if seconds is None:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def _epochs(found: SweepStatus) -> str:
    return f"{found.epochs}/{found.expected}" if found.expected else ""


def _driver(driver: Driver) -> str:
    where = f"process {driver.process} on {driver.host}"
    if not driver.alive:
        return f"{where} is gone, last heard of {duration(driver.silent)} ago"
    note = f": {driver.note}" if driver.note else ""
    return f"{where} runs it since {duration(driver.seconds)}, heard of {duration(driver.silent)} ago{note}"
