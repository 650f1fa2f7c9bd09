"""Progress of long commands: a bar on a terminal, a line every few seconds in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from longwave.platform.exchange.reading import StageReport
from longwave.platform.render.terminal import Terminal

SECONDS = 5.0
"""Seconds between two lines."""


@contextmanager
def show_stages() -> Iterator[StageReport]:
    """Yield a function to report the stages of a command, and show them on the error stream inside the block."""
    console = Terminal(stderr=True)
    with _draw_bar(console) if console.is_terminal else _print_lines() as report:
        yield report


@contextmanager
def _draw_bar(console: Terminal) -> Iterator[StageReport]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda stage, done, total: bar.update(task, description=stage, completed=done, total=total)


@contextmanager
def _print_lines() -> Iterator[StageReport]:
    """Print the current stage every ``SECONDS`` from a thread, because one step of a stage may take longer."""
    over, line = Event(), [""]

    def report(stage: str, done: int, total: int) -> None:
        line[0] = f"{stage}: {done:,} of {total:,}"

    def print_again() -> None:
        while not over.wait(SECONDS):
            print(line[0], file=sys.stderr, flush=True)

    thread = Thread(target=print_again, daemon=True)
    thread.start()
    try:
        yield report
    finally:
        over.set()
        thread.join()
