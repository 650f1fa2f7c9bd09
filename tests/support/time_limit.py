"""A plugin of pytest for ``--stop-after SECONDS``: what has not ended by then is listed, and fails nothing."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

REASON = "the time was over"


class TimeLimit:
    """Starts no test and no fixture after the end, and interrupts what runs then."""

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds
        self.unrun: list[str] = []

    @contextmanager
    def limited(self) -> Iterator[None]:
        left = self.end - time.monotonic()
        if left <= 0:
            pytest.skip(REASON)
        before = signal.signal(signal.SIGALRM, lambda *_: pytest.skip(REASON))
        signal.setitimer(signal.ITIMER_REAL, left)
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
            terminalreporter.section(f"{len(self.unrun)} tests did not run to their end: {REASON}")
        for nodeid in self.unrun:
            terminalreporter.line(nodeid)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--stop-after", type=float, metavar="SECONDS", help="list what has not run by then")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("stop_after") is not None:
        config.pluginmanager.register(TimeLimit(config.getoption("stop_after")))
