"""Packs that make no step for long: their driver reports them, and on request they fail with a stack trace."""

from __future__ import annotations

import faulthandler
import json
import re
import signal
import threading
import time
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Protocol, TextIO

from longwave.platform.records.report import Report
from longwave.platform.records.run import Run
from longwave.platform.records.trial import TrialConfig
from longwave.platform.redaction import make_logger
from longwave.platform.wording import list_first

LOG = make_logger(__name__)
STALL_SECONDS = 900.0
"""A pack that makes no step for this long has stalled, by default."""
LONGEST_STEPS = 20
"""A pack may also take this many times its longest step, if that is longer."""
SIGN_SECONDS = 60.0
"""A worker reports at least this often that its pack is making steps."""
RESET_SECONDS = 1.0
"""Least time between two settings of a timer."""
DEPTH = 12
"""Calls of a stack trace that are reported, from the innermost."""
STALLED = "stalled: "
"""Beginning of a driver's note if packs have stalled."""
CALL = re.compile(r'File "(.*)", line (\d+) in (.*)')


def allowed_pause(stall: float, slowest: float) -> float:
    """Return the seconds that may pass between two steps of a pack whose longest step so far took ``slowest``."""
    return max(stall, LONGEST_STEPS * slowest)


class StalledError(BaseException):
    """A pack has stalled. Not an ``Exception``: a model that catches those would continue to hang."""


class Timer(Protocol):
    """Ends a hang when its time is over."""

    def set(self, seconds: float, ended: Collection[str]) -> None:
        """Start or restart the timer; ``ended`` are the pack's trials that have ended and need not fail."""

    def clear(self) -> None:
        """Stop the timer."""


class Alarm:
    """Raises ``StalledError`` in the main thread, in Python code or in a system call that it waits for."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def set(self, seconds: float, ended: Collection[str]) -> None:
        """Set the system's alarm."""
        self._seconds = seconds
        signal.setitimer(signal.ITIMER_REAL, seconds)

    def clear(self) -> None:
        """Clear the system's alarm."""
        self._seconds = 0.0
        signal.setitimer(signal.ITIMER_REAL, 0)

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Handle the signal of the alarm."""
        if self._seconds:  # else the time ran out just as the alarm was cleared
            calls = [(f.f_code.co_filename, line, f.f_code.co_name) for f, line in traceback.walk_stack(frame)]
            raise StalledError(describe_stall(self._seconds, calls))


class ProcessEnd:
    """Ends the process, whatever holds Python's lock, and writes a stack trace of this thread for ``read_stall``.

    Args:
        file: The file for it, on this machine or on a shared disk.
    """

    def __init__(self, file: TextIO) -> None:
        self._file, self._head = file, ""

    def set(self, seconds: float, ended: Collection[str]) -> None:
        """Set the timer of ``faulthandler``, which does not need Python's lock."""
        head = json.dumps({"seconds": seconds, "thread": threading.get_ident(), "ended": sorted(ended)})
        if head != self._head:
            self._head = head
            with suppress(OSError):  # such as a full disk: the process ends without a reason
                self._file.seek(0)
                self._file.truncate()
                print(head, file=self._file, flush=True)
        faulthandler.dump_traceback_later(seconds, exit=True, file=self._file)

    def clear(self) -> None:
        """Clear the timer of ``faulthandler``."""
        faulthandler.cancel_dump_traceback_later()


@contextmanager
def stall_timer(trace: Path, in_driver: bool) -> Iterator[Timer | None]:
    """Yield a timer that ends a hang in this thread; None in a thread of a driver, where it would end the driver.

    Args:
        trace: Where a worker writes the stack trace. It is deleted after the block.
        in_driver: Whether this is the driver's process.
    """
    if threading.current_thread() is threading.main_thread():
        alarm = Alarm()
        before = signal.signal(signal.SIGALRM, alarm.handle)
        try:
            yield alarm
        finally:
            alarm.clear()
            signal.signal(signal.SIGALRM, before)
    elif in_driver:
        yield None
    else:
        try:
            trace.parent.mkdir(parents=True, exist_ok=True)
            opened = trace.open("w", encoding="utf-8")
        except OSError as error:  # such as a full disk, which should stop no training
            LOG.warning("A stalled pack cannot be ended, because no stack trace can be written: %s", error)
            yield None
            return
        with opened as file:
            end = ProcessEnd(file)
            try:
                yield end
            finally:
                end.clear()
        trace.unlink(missing_ok=True)


class StepWatch:
    """Follows the steps of a pack where it trains, and reports that it is making steps.

    Args:
        stall: Least number of seconds without a step that count as a stall; see ``allowed_pause``.
        emit: Takes reports. Its time does not count as the pack's.
        timer: Ends a hang; None lets the pack hang.

    Attributes:
        ended: The trials that a report has ended.
    """

    def __init__(self, stall: float, emit: Callable[[Report], None], timer: Timer | None = None) -> None:
        self.stall, self.timer, self._emit = stall, timer, emit
        self.ended: set[str] = set()
        self._slowest, self._steps = 0.0, 0
        self._last = self._reported = time.monotonic()
        self._set_timer()

    def report(self, report: Report) -> None:
        """Pass a report on, with the longest step so far."""
        self._measure()
        if self.timer:
            self.timer.clear()
        self._emit(replace(report, slowest=self._slowest))
        self.ended |= {run.trial for run in report.runs}
        self._last = self._reported = time.monotonic()
        self._set_timer()

    def after_step(self) -> None:
        """Note a step. Time before the first, such as for building kernels, does not count as a step."""
        self._measure()
        self._steps += 1
        if self._last - self._reported > min(self.stall / 4, SIGN_SECONDS):
            self.report(Report())
        elif self._last - self._set > min(self.stall / 10, RESET_SECONDS):
            self._set_timer()

    def _measure(self) -> None:
        now = time.monotonic()
        if self._steps:
            self._slowest = max(self._slowest, now - self._last)
        self._last = now

    def _set_timer(self) -> None:
        self._set = time.monotonic()
        if self.timer:
            self.timer.set(allowed_pause(self.stall, self._slowest), self.ended)


def describe_stall(seconds: float, calls: Iterable[tuple[str, int, str]]) -> str:
    """Return why a pack failed that made no step for so long, with the calls in which it hung, the innermost first.

    Files are given by folder and name: the rest of a path belongs to this machine.
    """
    lines = [f"  {'/'.join(Path(file).parts[-2:])}, line {line}, in {name}" for file, line, name in calls]
    return "\n".join([f"StalledError: no step for {seconds:g} s. The worker hung in:", *lines[:DEPTH]])


def read_stall(trace: Path) -> tuple[str, list[str]] | None:
    """Return why a pack failed whose worker ended itself, and the trials that had ended; None if none did."""
    try:
        first_line, *lines = trace.read_text(encoding="utf-8", errors="replace").splitlines()
        header = json.loads(first_line)
    except (OSError, ValueError):
        return None
    calls, in_thread = list[tuple[str, int, str]](), False
    for line in lines:
        if " (most recent call first)" in line:
            in_thread = f"0x{header['thread']:016x}" in line
        elif in_thread and (call := CALL.search(line)):
            calls.append((call[1], int(call[2]), call[3]))
    return (describe_stall(header["seconds"], calls), header["ended"]) if lines else None


def failed_by_stall(configs: Sequence[TrialConfig], reason: str, ended: Collection[str]) -> Report:
    """Return the report that the trials of a pack failed, except those that had ended."""
    return Report(runs=[Run(c.id, "failed", reason, members=len(configs)) for c in configs if c.id not in ended])


class StallWatch:
    """Knows from reports to a driver which packs have stalled. Thread-safe.

    Args:
        stall: Least number of seconds without a step that count as a stall; see ``allowed_pause``.
        fails: Whether such packs fail.
    """

    def __init__(self, stall: float = STALL_SECONDS, fails: bool = False) -> None:
        self.stall, self.fails = stall, fails
        self._packs: dict[str, tuple[str, float, float]] = {}

    def started(self, pack: str, name: str) -> None:
        """Note a pack that has a worker, with its name for people."""
        self._packs[pack] = name, time.monotonic(), 0.0

    def reported(self, pack: str, report: Report) -> None:
        """Note a report of a pack."""
        if pack in self._packs:
            name, _, slowest = self._packs[pack]
            self._packs[pack] = name, time.monotonic(), max(slowest, report.slowest)

    def ended(self, pack: str) -> None:
        """Note that a pack has no worker any more."""
        self._packs.pop(pack, None)

    def clear(self) -> None:
        """Note that no pack has a worker any more."""
        self._packs = {}

    def stalled(self) -> dict[str, str]:
        """Return the names of the packs that have stalled, by key."""
        now = time.monotonic()
        return {
            pack: name
            for pack, (name, last, slowest) in [*self._packs.items()]
            if now - last > allowed_pause(self.stall, slowest)
        }

    def note(self) -> str:
        """Return a line that names the packs that have stalled; empty if none has."""
        if not (stalled := self.stalled()):
            return ""
        packs = list_first([f"{name} (pack {pack[:8]})" for pack, name in sorted(stalled.items())], 1)
        advice = "" if self.fails else "; resume with --stall-kill to fail what hangs"
        return f"{STALLED}no step for {self.stall:g} s or more of {packs}{advice}"
