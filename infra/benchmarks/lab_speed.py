"""Speed of the Lab on a store with many runs, as seen from a browser."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

import psutil
import typer
from chromium import (
    DESKTOP,
    FILTERS,
    PAINTED,
    QUIET,
    SEARCHED,
    filtered,
    find_chromium,
    opened,
    run_server,
)
from plain_page import measure_plain
from scale_parts import peak_mib

from longwave.files import atomic_file
from longwave.platform.bench.board import fill_store
from longwave.platform.bench.report import Target
from longwave.platform.cli.app import ListFormat, OutOption
from longwave.platform.cli.main import main
from longwave.platform.render.bench import print_targets
from longwave.platform.render.terminal import print_json, print_line, show_waiting
from longwave.platform.storage.store import Store

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page

OPENED, FILTERED, ANSWERED, MEMORY = 1500.0, 300.0, 1000.0, 600.0
"""Upper bounds: ms until a page is painted, and until a filter has changed its table, with a single visitor; ms of the
median answer with many sessions; MiB of the server."""
PAGES = {
    "home": "",
    "a board": "task?task=task+00",
    "a model": "model?model=model+00",
    "a sweep": "sweep?sweep=task+00",
}
TURN = 10.0
"""Seconds between two clicks of a session."""


@dataclass(frozen=True)
class LabReport:
    """Measured speed of the Lab.

    Attributes:
        versions: Of packages and the machine, by name.
        runs: Runs in the store.
        sessions: Visitors at once.
        opened: Milliseconds until the first table of a page was painted, by page, each in a browser without a cache.
        filtered: Milliseconds from a filter to the filtered table, with a single visitor.
        answered: The same with all sessions.
        memory: Peak MiB of the server.
        load: Load average of the minute before: above the number of cores, times are unreliable.
        floor: Milliseconds of a plain page of Streamlit's, until it is painted and until a filter has changed it.
    """

    versions: dict[str, str]
    runs: int
    sessions: int
    opened: dict[str, list[float]] = field(default_factory=dict)
    filtered: list[float] = field(default_factory=list)
    answered: list[float] = field(default_factory=list)
    memory: float = 0.0
    load: float = 0.0
    floor: dict[str, list[float]] = field(default_factory=dict)

    @property
    def targets(self) -> list[Target]:
        """Targets, with measured medians."""
        opened = [
            Target(f"ms to open {name}, its first table painted", median(times), OPENED, at_most=True)
            for name, times in self.opened.items()
        ]
        return [
            *opened,
            Target("ms to change a filter", median(self.filtered), FILTERED, at_most=True),
            Target(f"ms to answer a click of {self.sessions} sessions", median(self.answered), ANSWERED, at_most=True),
            Target("MiB of the server", self.memory, MEMORY, at_most=True),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data, with the targets."""
        return asdict(self) | {"targets": [target.to_dict() for target in self.targets]}


def lab_benchmark(runs: int, repeats: int, sessions: int, turns: int, say: Callable[[str], None]) -> LabReport:
    """Return the speed of the Lab on a generated store.

    Args:
        runs: Approximate number of runs in the store.
        repeats: Number of times that each page is opened and a filter changed.
        sessions: Visitors at once.
        turns: Clicks of each, one in ten seconds.
        say: Called with the current measurement.

    Raises:
        ConfigError: There is no Chromium.
    """
    from longwave.platform.training.environment import describe

    path, load = find_chromium(), os.getloadavg()[0]
    facts = describe() | {name: version(name) for name in ("streamlit", "pandas", "altair", "playwright")}
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'store.db'}"
        say("Filling the store")
        with Store(url) as store:
            made = fill_store(store, runs)
        report = LabReport(facts | {"cores": str(os.cpu_count())}, made, sessions, load=load)
        with serve_lab(url) as (address, server):
            memory = asyncio.run(_visited(path, address, server, report, (repeats, turns), say))
        say("Opening a plain page")
        report.floor.update(measure_plain(path, Path(folder), repeats))
    return replace(report, memory=memory)


@contextmanager
def serve_lab(url: str) -> Iterator[tuple[str, psutil.Process]]:
    """Serve the Lab of a store on a free port of this machine; yield its address and the server's process."""
    command = [sys.executable, "-m", "longwave", "dashboard", "--store", url, "--port"]
    with run_server(command, "The Lab is at") as (address, lab):
        yield address, lab.children()[0]


async def _visited(
    path: str,
    address: str,
    server: psutil.Process,
    report: LabReport,
    turns: tuple[int, int],
    say: Callable[[str], None],
) -> float:
    """Fill in the report's times; return the server's peak MiB."""
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=QUIET)
        report.versions["browser"] = browser.version
        for name, where in PAGES.items():
            say(f"Opening {name}")
            report.opened[name] = [await opened(browser, f"{address}/{where}") for _ in range(turns[0])]
        say("Changing a filter")
        page = await _board(browser, address, 0)
        for k in range(turns[0]):
            report.filtered.append(await filtered(page, SEARCHED[k % 2]))
            await page.wait_for_timeout(500)
        await page.context.close()
        say(f"{report.sessions} sessions")
        visitors = [_clicking(browser, address, k, report, turns[1]) for k in range(report.sessions)]
        await asyncio.gather(*visitors)
        await browser.close()
    return peak_mib(server.pid)


async def _board(browser: Browser, address: str, number: int) -> Page:
    """Return a board with its filters in view."""
    page = await (await browser.new_context(viewport=DESKTOP)).new_page()
    await page.goto(f"{address}/task?task=task+{number:02}", wait_until="commit")
    await page.evaluate(PAINTED)
    await page.get_by_text(FILTERS, exact=True).click()
    return page


async def _clicking(browser: Browser, address: str, number: int, report: LabReport, turns: int) -> None:
    """Visit a board and change its filter repeatedly, each session at its own times."""
    await asyncio.sleep(number * TURN / report.sessions)
    page = await _board(browser, address, number % 10)
    clock = asyncio.get_running_loop().time
    due = clock()
    for k in range(turns):
        due += TURN
        await asyncio.sleep(max(0.0, due - clock()))
        report.answered.append(await filtered(page, SEARCHED[k % 2]))
    await page.context.close()


def print_report(report: LabReport, format: str) -> None:
    """Print the speed of the Lab."""
    if format == "json":
        print_json(report.to_dict())
        return
    print_targets(report.targets)
    if report.floor:
        plain = ", ".join(f"{name} {median(times):.0f} ms" for name, times in report.floor.items())
        print_line(f"  Lower bound, a plain Streamlit page with one table, in the same run: {plain}.")
    print_line(f"  {report.runs} runs; medians. In the minute before, the load average was {report.load:.1f}.")


command = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)


@command.command()
def measure(
    runs: Annotated[int, typer.Option(min=10_000, help="Approximate number of runs in the store.")] = 100_000,
    repeats: Annotated[int, typer.Option(min=1, help="Times that each page is opened; the median counts.")] = 5,
    sessions: Annotated[int, typer.Option(min=1, help="Concurrent visitors of the Lab.")] = 20,
    clicks: Annotated[int, typer.Option(min=1, help="Clicks of each, one in ten seconds.")] = 6,
    out: OutOption = None,
    format: Annotated[ListFormat, typer.Option(help="table or json")] = ListFormat.table,
) -> None:
    """Measure how long the Lab takes in a headless Chromium: pages, filters, many visitors, memory."""
    with show_waiting("Measuring") as say:
        report = lab_benchmark(runs, repeats, sessions, clicks, say)
    if out is not None:
        with atomic_file(out) as partial:
            partial.write_text(json.dumps(report.to_dict(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print_report(report, format.value)


if __name__ == "__main__":
    sys.exit(main(command=command))
