"""Runs a tracker beside a sweep in a separate process: its library takes seconds to load, which must delay no driver.

The process is started early, and receives the store once there is one. When its pipe is closed, the sweep is over: it
sends what is left, and reports in one line what went wrong. It may be killed at any time: what did not arrive is sent
again.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from longwave.platform.errors import LongwaveError
from longwave.platform.paths import mlflow_server, store_option
from longwave.platform.redaction import redacted
from longwave.platform.sweeps.trackers.tracker import TrackerName

if TYPE_CHECKING:
    from longwave.platform.paths import AnyPath
    from longwave.platform.storage.store import Store

PROCESS = "longwave.platform.sweeps.trackers.background"
"""This module, which ``Background`` starts as a process."""
SECONDS = 5.0
"""Interval at which a tracker looks for new results."""
LAST_SECONDS = 15.0
"""How long a finished sweep waits for its trackers; results that are missing then can be sent later."""
_running: list[list[Background]] = []
"""The running trackers, if any: nested blocks of ``tracking`` share them."""


@contextmanager
def tracking(trackers: Sequence[TrackerName] | None) -> Iterator[list[Background]]:
    """Run trackers inside the block; they load their libraries while a sweep is planned."""
    if not trackers or _running:
        yield _running[-1] if trackers else []
        return
    with ExitStack() as stack:
        _running.append([])
        stack.callback(_running.pop)
        for name in trackers:
            _running[-1].append(Background(name))
            stack.callback(_running[-1][-1].end)
        yield _running[-1]


class Background:
    """A process that keeps a tracker up to date.

    Args:
        tracker: The tracker.

    Attributes:
        problem: What went wrong, in a line, and what to do; empty if all has arrived.
    """

    def __init__(self, tracker: TrackerName) -> None:
        self.tracker, self.problem = tracker, ""
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", PROCESS],  # -P: files of the working directory hide no library
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # a terminal's signals reach the driver alone
        )
        self._send({"tracker": tracker, "seconds": SECONDS})  # not on the command line, as it may contain a password

    @contextmanager
    def following(self, store: Store, sweep: str, storage: AnyPath) -> Iterator[None]:
        """Send everything that is new of a sweep inside the block, at the latest when the block ends."""
        self._send({"store": store.url, "sweep": sweep, "storage": str(storage)})
        before = _read_progress(store, sweep)
        try:
            yield
        finally:
            if self._is_requested() or self._has_news(store, sweep, before):
                self.problem = self._wait_until_sent(store, sweep)
            self.end()

    def end(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.communicate()

    def _is_requested(self) -> bool:
        """Return whether the user named this tracker, or its server, for this run."""
        return self.tracker.name != "mlflow" or self.tracker.address != mlflow_server(None)

    def _has_news(self, store: Store, sweep: str, before: object) -> bool:
        """Return whether anything was trained. If not, nobody should wait for MLflow, which loads for seconds."""
        try:
            return _read_progress(store, sweep) != before
        except LongwaveError:
            return True

    def _wait_until_sent(self, store: Store, sweep: str) -> str:
        """Wait until all is sent, and return what went wrong."""
        try:
            output, _ = self._process.communicate(timeout=LAST_SECONDS)
        except subprocess.TimeoutExpired:
            problem = f"{self.tracker.title} was too slow to accept all results"
        else:
            problem = (
                json.loads(output)["problem"]
                if output
                else f"The process that sends results to {self.tracker.title} died"
            )
        return problem and (
            f"{problem.rstrip('.')}. Nothing is lost; send it later with: longwave {self._command(store, sweep)}"
        )

    def _command(self, store: Store, sweep: str) -> str:
        """Return the command that sends a sweep to this tracker, without passwords."""
        name, address = self.tracker
        command = f"mlflow sync {sweep}" if name == "mlflow" else f"sweep resume {sweep} --tracker {name}"
        if name == "mlflow" and self._is_requested():
            command += f" --server {redacted(address)}"
        return command + store_option(store.url)

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin
        with suppress(BrokenPipeError):  # it died; that is noticed at the end
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()


def _read_progress(store: Store, sweep: str) -> object:
    """Return what changes whenever a sweep is planned or trained."""
    return store.planned(sweep), store.status_counts(sweep)


def main() -> None:
    """Read a tracker and then a sweep from standard input, follow it, and write the problem to standard output."""
    from longwave.platform.paths import to_path
    from longwave.platform.processes import event_writer
    from longwave.platform.storage.store import Store
    from longwave.platform.sweeps.trackers.follow import follow_sweep
    from longwave.platform.sweeps.trackers.tracker import load_tracker

    send = event_writer()
    with open(0, encoding="utf-8", closefd=False) as pipe:
        lines = map(json.loads, pipe)
        settings = next(lines)
        tracker = TrackerName(*settings["tracker"])
        with suppress(Exception):  # following meets it again, and reports it in one line
            load_tracker(tracker).load()
        for message in lines:
            try:
                with Store(message["store"], create=False) as store:
                    which = message["sweep"], to_path(message["storage"])
                    problem = follow_sweep(store, *which, tracker, settings["seconds"], _ended(lines))
            except LongwaveError as error:
                problem = str(error)
            with suppress(BrokenPipeError):  # the driver is gone
                send({"problem": problem})


def _ended(lines: Iterator[object]) -> threading.Event:
    """Return an event that is set at the end of the lines."""
    over = threading.Event()

    def wait() -> None:
        for _ in lines:
            pass
        over.set()

    threading.Thread(target=wait, name="input", daemon=True).start()
    return over


if __name__ == "__main__":
    main()
