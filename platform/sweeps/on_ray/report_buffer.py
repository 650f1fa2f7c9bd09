"""Reports of a pack on their way to the driver: what only tells of epochs is gathered for a second."""

from __future__ import annotations

import time
from collections.abc import Callable

from longwave.platform.records.report import Report

REPORT_SECONDS = 1.0
"""Points are gathered this long before they are sent; all else is sent at once."""


class ReportBuffer:
    """Takes the reports of one pack.

    Args:
        send: Sends one report for all that were gathered.
    """

    def __init__(self, send: Callable[[Report], object]) -> None:
        self._send, self._waiting, self._last = send, Report(), time.monotonic()

    def __call__(self, report: Report) -> None:
        """Take a report, and send what is due."""
        self._waiting += report
        if report.runs or report.rungs or report.began or time.monotonic() - self._last > REPORT_SECONDS:
            self._send(self.rest())

    def rest(self) -> Report:
        """Return what has not been sent; it is not sent again."""
        waiting, self._waiting, self._last = self._waiting, Report(), time.monotonic()
        return waiting
