"""Reports of a pack on their way to the driver: reports with nothing but epochs are gathered for a second."""

from __future__ import annotations

import time
from collections.abc import Callable

from longwave.platform.records.report import Report

REPORT_SECONDS = 1.0
"""Epochs are gathered this long before they are sent; all else is sent at once."""


class ReportBuffer:
    """Buffers the reports of one pack.

    Args:
        send: Sends all gathered reports as one.
    """

    def __init__(self, send: Callable[[Report], object]) -> None:
        self._send, self._waiting, self._last = send, Report(), time.monotonic()

    def __call__(self, report: Report) -> None:
        """Add a report, and send what is due."""
        self._waiting += report
        if report.runs or report.rungs or report.began or time.monotonic() - self._last > REPORT_SECONDS:
            self._send(self.rest())

    def rest(self) -> Report:
        """Remove and return what has not been sent."""
        waiting, self._waiting, self._last = self._waiting, Report(), time.monotonic()
        return waiting
