"""A plugin of pytest that keeps the tiers apart: a test without a mark takes at most a second of processor.

What counts are the seconds of processor of a test and of its own fixtures, in this process and in those they start; not
what is made once: fixtures that tests share, and, since a test that takes longer is run again before it is judged,
libraries that the first test imports and cells that it compiles. One of between one and two seconds is listed at the
end, for machines differ by as much; one of more than two fails.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psutil
import pytest
from _pytest.mark import ParameterSet
from _pytest.runner import runtestprotocol

ALLOWED = 1.0
"""Seconds of processor that a test without a mark may take."""
MARGIN = 2.0
"""A test fails beyond so many times what is allowed."""
MARKS = ("integration", "slow")
"""Marks of tests that may take longer."""


class ProcessorTimes:
    """Measures every test where it runs; lists the times where pytest reports them."""

    def __init__(self, listed: int) -> None:
        self.listed = listed
        self.started = self.seconds = 0.0  # of the test that runs: by the clock when, and of processor how long
        self.descendants: set[psutil.Process] = set()
        self.reported: dict[str, float] = {}
        self.unmarked: dict[str, float] = {}

    @contextmanager
    def counted(self, sign: int = 1) -> Iterator[None]:
        """Count what this process and those of its children that end spend in the block."""
        before = sum(os.times()[:4])
        try:
            yield
        finally:
            self.seconds += sign * (sum(os.times()[:4]) - before)

    def count_descendants(self) -> None:
        """Count what processes spent that did not run yet when this was last done; to find them takes milliseconds."""
        if (time.monotonic() - self.started) * (os.cpu_count() or 1) < ALLOWED:
            return
        running = set(psutil.Process().children(recursive=True))
        for process in running - self.descendants:
            with suppress(psutil.Error):
                self.seconds += sum(process.cpu_times()[:4])  # with its children that ended
        self.descendants = running

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        with self.counted():
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        try:
            with self.counted():
                return (yield)
        finally:
            self.count_descendants()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[Any]:
        if fixturedef.scope == "function":
            return (yield)
        with self.counted(-1):
            return (yield)

    def run(self, item: pytest.Item, nextitem: pytest.Item | None) -> list[pytest.TestReport]:
        self.started, self.seconds = time.monotonic(), 0.0
        return runtestprotocol(item, log=False, nextitem=nextitem)

    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports = self.run(item, nextitem)
        seconds, marked = self.seconds, any(map(item.get_closest_marker, MARKS))
        if seconds > ALLOWED and not marked and all(report.passed for report in reports):
            self.run(item, nextitem)
            seconds = min(seconds, self.seconds)
            if seconds > MARGIN * ALLOWED:
                reports[1].outcome = "failed"
                reports[1].longrepr = (
                    f"{item.nodeid} takes {seconds:.1f} s of processor and a test without a mark at most {ALLOWED:g}: "
                    "mark it @pytest.mark.integration."
                )
        reports[0].processor_seconds, reports[0].tier_marked = seconds, marked
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "setup":
            self.reported[report.nodeid] = report.processor_seconds
            if report.processor_seconds > ALLOWED and not report.tier_marked:
                self.unmarked[report.nodeid] = report.processor_seconds

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        slowest = sorted(self.reported.items(), key=lambda test: -test[1])[: self.listed]
        for title, tests in (
            (f"{len(slowest)} tests that take most of the {sum(self.reported.values()):.0f} s of processor", slowest),
            (f"to be marked integration: more than {ALLOWED:g} s of processor", self.unmarked.items()),
        ):
            if tests:
                terminalreporter.section(title)
            for nodeid, seconds in tests:
                terminalreporter.line(f"{seconds:8.2f} s  {nodeid}")


def mark_long(cases: Mapping[str, Sequence[object]], *long: str) -> list[ParameterSet]:
    """Return the values of a test's cases by their ids; those named in ``long`` are marked integration."""
    assert set(long) <= set(cases), f"{set(long) - set(cases)} are no cases."
    return [
        pytest.param(*values, id=name, marks=pytest.mark.integration if name in long else ())
        for name, values in cases.items()
    ]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--processor-times", type=int, default=0, metavar="N", help="list N tests by processor time")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(ProcessorTimes(config.getoption("processor_times")), "processor_times")
