"""Packs that make no step for long: their driver says so, and where that is asked for they fail with a stack trace."""

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

LOG = make_logger(__name__)
STALL_SECONDS = 900.0
"""A pack without a step for so long has stalled, by default."""
LONGEST_STEPS = 20
"""As many of its longest steps are waited for, where that takes longer."""
SIGN_SECONDS = 60.0
"""A worker reports at least this often that its pack makes steps."""
RESET_SECONDS = 1.0
"""Least time between two settings of a timer."""
DEPTH = 12
"""Calls of a stack trace that are kept, from the innermost."""
STALLED = "stalled: "
"""How a driver's note begins where packs have stalled."""
CALL = re.compile(r'File "(.*)", line (\d+) in (.*)')


def allowed_pause(stall: float, slowest: float) -> float:
    """Return the seconds that may pass between two steps of a pack whose longest step took ``slowest`` seconds."""
    return max(stall, LONGEST_STEPS * slowest)


class StalledError(BaseException):
    """A pack has stalled. It is no ``Exception``: a model that catches those would go on hanging."""


class Timer(Protocol):
    """Ends a hang when its time is over."""

    def set(self, seconds: float, ended: Collection[str]) -> None:
        """Let the time be over in so many seconds, anew; ``ended`` are the pack's trials that need not fail."""

    def clear(self) -> None:
        """Let the time never be over."""


class Alarm:
    """Raises ``StalledError`` in the main thread, in what Python runs there or the system waits for."""

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

    def take(self, number: int, frame: FrameType | None) -> None:
        """Handle the signal of the alarm."""
        if self._seconds:  # else the time was over just when the alarm was cleared
            calls = [(f.f_code.co_filename, line, f.f_code.co_name) for f, line in traceback.walk_stack(frame)]
            raise StalledError(describe_stall(self._seconds, calls))


class ProcessEnd:
    """Ends the process, whatever holds Python's lock, and leaves a stack trace of this thread for ``read_stall``.

    Args:
        file: The file for it, on this machine or on a disk that others share.
    """

    def __init__(self, file: TextIO) -> None:
        self._file, self._head = file, ""

    def set(self, seconds: float, ended: Collection[str]) -> None:
        """Set Python's own timer, which is no thread of Python's."""
        head = json.dumps({"seconds": seconds, "thread": threading.get_ident(), "ended": sorted(ended)})
        if head != self._head:
            self._head = head
            with suppress(OSError):  # as on a full disk: the process ends, and nobody reads why
                self._file.seek(0)
                self._file.truncate()
                print(head, file=self._file, flush=True)
        faulthandler.dump_traceback_later(seconds, exit=True, file=self._file)

    def clear(self) -> None:
        """Clear Python's own timer."""
        faulthandler.cancel_dump_traceback_later()


@contextmanager
def stall_timer(trace: Path, in_driver: bool) -> Iterator[Timer | None]:
    """Give what ends a hang in this thread; None in a thread of a driver, where only the end of the driver would.

    Args:
        trace: Where a worker leaves the stack trace. It is deleted after the block.
        in_driver: Whether this is the driver's process.
    """
    if threading.current_thread() is threading.main_thread():
        alarm = Alarm()
        before = signal.signal(signal.SIGALRM, alarm.take)
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
        except OSError as error:  # as on a full disk: that stops no training
            LOG.warning("A stalled pack could not be failed, because no stack trace can be written: %s", error)
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
    """Follows the steps of a pack where it trains, and reports that there are any.

    Args:
        stall: Seconds without a step that are a stall, or more: see ``allowed_pause``.
        emit: Takes reports. The time that it takes is none of the pack's.
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
        """Hand a report on, with the longest step so far."""
        self._measure()
        if self.timer:
            self.timer.clear()
        self._emit(replace(report, slowest=self._slowest))
        self.ended |= {run.trial for run in report.runs}
        self._last = self._reported = time.monotonic()
        self._set_timer()

    def after_step(self) -> None:
        """Note a step. What precedes the first, such as the building of kernels, is no step."""
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
    """Return why a pack failed that made no step for so long, with the calls that it hung in, the innermost first.

    Of a call's file the folder and the name are given: the rest of its path is this machine's own.
    """
    lines = [f"  {'/'.join(Path(file).parts[-2:])}, line {line}, in {name}" for file, line, name in calls]
    return "\n".join([f"StalledError: no step for {seconds:g} s. The worker hung in:", *lines[:DEPTH]])


def read_stall(trace: Path) -> tuple[str, list[str]] | None:
    """Return why a pack failed whose worker ended itself, and the trials that had ended; None if no worker did."""
    try:
        head, *lines = trace.read_text(encoding="utf-8", errors="replace").splitlines()
        known = json.loads(head)
    except (OSError, ValueError):
        return None
    calls, is_its = list[tuple[str, int, str]](), False
    for line in lines:
        if " (most recent call first)" in line:
            is_its = f"0x{known['thread']:016x}" in line
        elif is_its and (call := CALL.search(line)):
            calls.append((call[1], int(call[2]), call[3]))
    return (describe_stall(known["seconds"], calls), known["ended"]) if lines else None


def failed_by_stall(configs: Sequence[TrialConfig], reason: str, ended: Collection[str]) -> Report:
    """Return the report that the trials of a pack failed, but for those that had ended."""
    return Report(runs=[Run(c.id, "failed", reason, members=len(configs)) for c in configs if c.id not in ended])


class StallWatch:
    """The packs that make no step, from reports to their driver. Thread-safe.

    Args:
        stall: Seconds without a step that are a stall, or more: see ``allowed_pause``.
        fails: Whether such packs fail.
    """

    def __init__(self, stall: float = STALL_SECONDS, fails: bool = False) -> None:
        self.stall, self.fails = stall, fails
        self._packs: dict[str, tuple[str, float, float]] = {}

    def started(self, pack: str, name: str) -> None:
        """Note a pack that has a worker, with what to call it."""
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
        """Return the packs that have stalled: what to call each, by its key."""
        now = time.monotonic()
        return {
            pack: name
            for pack, (name, last, slowest) in [*self._packs.items()]
            if now - last > allowed_pause(self.stall, slowest)
        }

    def note(self) -> str:
        """Return a line that names the packs that have stalled; empty where none has."""
        if not (stalled := self.stalled()):
            return ""
        first, *others = [f"{name} (pack {pack[:8]})" for pack, name in sorted(stalled.items())]
        more = f" and {len(others)} more" if others else ""
        then = "" if self.fails else "; resume with --stall-kill to fail what hangs"
        return f"{STALLED}no step for {self.stall:g} s or more of {first}{more}{then}"
