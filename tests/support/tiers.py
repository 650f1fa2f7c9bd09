"""A pytest plugin that enforces the tiers: a test without a mark takes at most one CPU second.

The CPU time of a test and of its function-scoped fixtures counts, in this process and in those they start. A test is
judged by seconds of the reference machine, since a slow machine, or one whose cores are shared, would fail tests that
are within the limit elsewhere: its time is divided by the time that a known loop takes at that moment. Tests between
one and two seconds are listed at the end; those above two fail. One-time costs fail no test: shared fixtures do not
count, and a test that would fail is run again before it does, without libraries that it was the first to import and
cells that it compiled.
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
"""CPU seconds that a test without a mark may take."""
MARGIN = 2.0
"""A test fails above this multiple of the limit."""
LOOP_SECONDS = 0.06
"""CPU seconds of ``time_loop`` on the reference machine: one core of an AMD EPYC (Zen 3) without other work."""
MARKS = ("integration", "slow")
"""Marks of tests without that limit."""


def time_loop() -> float:
    """Return the CPU seconds that this machine takes now for a loop in which other machines can be compared with it."""
    start, total = time.process_time(), 0
    for number in range(1_000_000):
        total += number * number
    return time.process_time() - start


class ProcessorTimes:
    """Measures every test in the process that runs it; lists the times in the process that reports."""

    def __init__(self, listed: int) -> None:
        self.listed = listed
        self.started = self.seconds = 0.0  # of the current test: start by the clock, and CPU seconds
        self.descendants: set[psutil.Process] = set()
        self.reported: dict[str, float] = {}
        self.unmarked: dict[str, float] = {}

    @contextmanager
    def counted(self, sign: int = 1) -> Iterator[None]:
        """Count the CPU time in the block of this process and of its children that end there."""
        before = sum(os.times()[:4])
        try:
            yield
        finally:
            self.seconds += sign * (sum(os.times()[:4]) - before)

    def count_descendants(self) -> None:
        """Count the CPU time of child processes started since the last call; finding them takes milliseconds."""
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
        seconds, marked, judged = self.seconds, any(map(item.get_closest_marker, MARKS)), 0.0
        if seconds > ALLOWED and not marked and all(report.passed for report in reports):
            judged = seconds * LOOP_SECONDS / time_loop()
            if judged > MARGIN * ALLOWED:
                self.run(item, nextitem)
                seconds = min(seconds, self.seconds)
                judged = seconds * LOOP_SECONDS / time_loop()
            if judged > MARGIN * ALLOWED:
                reports[1].outcome = "failed"
                reports[1].longrepr = (
                    f"{item.nodeid} takes {judged:.1f} CPU seconds of the reference machine; "
                    f"a test without a mark may take {ALLOWED:g}: mark it @pytest.mark.integration."
                )
        reports[0].processor_seconds, reports[0].judged_seconds = seconds, judged
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "setup":
            self.reported[report.nodeid] = report.processor_seconds
            if report.judged_seconds > ALLOWED:
                self.unmarked[report.nodeid] = report.judged_seconds

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        slowest = sorted(self.reported.items(), key=lambda test: -test[1])[: self.listed]
        for title, tests in (
            (f"the {len(slowest)} slowest tests, of {sum(self.reported.values()):.0f} CPU seconds in total", slowest),
            (f"to be marked integration: more than {ALLOWED:g} s of the reference machine", self.unmarked.items()),
        ):
            if tests:
                terminalreporter.section(title)
            for nodeid, seconds in tests:
                terminalreporter.line(f"{seconds:8.2f} s  {nodeid}")


def mark_long(cases: Mapping[str, Sequence[object]], *long: str) -> list[ParameterSet]:
    """Return the parameters of a test's cases, with their ids; those named in ``long`` are marked integration."""
    assert set(long) <= set(cases), f"{set(long) - set(cases)} are not cases."
    return [
        pytest.param(*values, id=name, marks=pytest.mark.integration if name in long else ())
        for name, values in cases.items()
    ]


def list_seeds(count: int, unmarked: int) -> list[ParameterSet]:
    """Return the seeds of a test with random cases; those from ``unmarked`` on are marked integration."""
    return [pytest.param(seed, marks=pytest.mark.integration if seed >= unmarked else ()) for seed in range(count)]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--processor-times", type=int, default=0, metavar="N", help="list the N tests with the longest CPU time"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(ProcessorTimes(config.getoption("processor_times")), "processor_times")
