"""A pytest plugin for ``--stop-after SECONDS``: tests that have not ended by then are listed, not failed."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

REASON = "the time limit was reached"


class TimeLimit:
    """Starts no test or fixture after the limit, and interrupts those that run then."""

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds
        self.unrun: list[str] = []

    @contextmanager
    def limited(self) -> Iterator[None]:
        remaining = self.end - time.monotonic()
        if remaining <= 0:
            pytest.skip(REASON)
        before = signal.signal(signal.SIGALRM, lambda *_: pytest.skip(REASON))
        signal.setitimer(signal.ITIMER_REAL, remaining)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        with self.limited():
            return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        with self.limited():
            return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and REASON in str(report.longrepr):
            self.unrun.append(report.nodeid)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.unrun:
            terminalreporter.section(f"{len(self.unrun)} tests did not finish: {REASON}")
        for nodeid in self.unrun:
            terminalreporter.line(nodeid)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--stop-after", type=float, metavar="SECONDS", help="stop then, and list the tests that did not finish"
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("stop_after") is not None:
        config.pluginmanager.register(TimeLimit(config.getoption("stop_after")))
