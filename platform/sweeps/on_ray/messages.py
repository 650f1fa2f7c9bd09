"""Messages between driver, scheduler and workers: requests from a pipe, a pack's job, and its reports."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from queue import Empty, SimpleQueue
from typing import Any

from longwave.platform.records.report import Report

MorePacks = Callable[..., Iterator[dict[str, Any]]]
"""Yields messages with further packs for the running request; with ``wait`` it blocks until there is one."""


class StdinQueue:
    """The messages of a pipe, read by a thread, so that the driver never blocks on writing.

    Iterating yields one request after another, until the driver closes its end.

    Args:
        pipe: File descriptor; by default that of standard input.
    """

    def __init__(self, pipe: int = 0) -> None:
        self._messages: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        threading.Thread(target=self._read, args=(pipe,), name="stdin", daemon=True).start()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while (work := self._messages.get()) is not None:
            if work["ask"] != "more":  # it belongs to a request that a drain has ended
                yield work

    def read_more(self, wait: bool = False) -> Iterator[dict[str, Any]]:
        """Yield the messages with further packs that have arrived; with ``wait`` block until there is one."""
        while True:
            try:
                message = self._messages.get(block=wait)
            except Empty:
                return
            if message is None:
                self._messages.put(None)
                return
            wait = False
            yield message

    def _read(self, pipe: int) -> None:
        with open(pipe, encoding="utf-8", closefd=False) as lines:  # sys.stdin may not be read while Python ends
            for line in lines:
                self._messages.put(json.loads(line))
        self._messages.put(None)


class JobPayload:
    """Hides a job from Tune, which copies, prints and keeps everything that a trial's configuration holds.

    Args:
        job: As ``Job.to_dict`` returns it.
    """

    def __init__(self, job: Mapping[str, Any]) -> None:
        self.job = dict(job)

    def __repr__(self) -> str:
        return "job"

    def __deepcopy__(self, _: object) -> JobPayload:
        return self


REPORT_SECONDS = 1.0
"""Epochs are buffered this long before they are sent; everything else is sent at once."""


class ReportBuffer:
    """Buffers the reports of one pack.

    Args:
        send: Sends all buffered reports as one.
    """

    def __init__(self, send: Callable[[Report], object]) -> None:
        self._send, self._waiting, self._last = send, Report(), time.monotonic()

    def __call__(self, report: Report) -> None:
        """Add a report, and send the buffer if it is due."""
        self._waiting += report
        if report.runs or report.rungs or report.began or time.monotonic() - self._last > REPORT_SECONDS:
            self._send(self.take_unsent())

    def take_unsent(self) -> Report:
        """Remove and return what has not been sent."""
        waiting, self._waiting, self._last = self._waiting, Report(), time.monotonic()
        return waiting
