"""The mirror of a running sweep, in a process of its own: MLflow takes seconds to load, which delays no driver.

It is started early, receives the store once there is one, and learns from the end of its pipe that the sweep is over.
Then it sends what is left and reports in a line what went wrong. It may be killed at any time: what it did not note is
sent again.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from longwave.platform.errors import StoreError
from longwave.platform.redaction import redacted

if TYPE_CHECKING:
    from longwave.platform.storage.store import Store

PROCESS = "longwave.platform.sweeps.mlflow.background"
"""This module, which ``Mirror`` starts as a process."""
SECONDS = 5.0
"""Interval at which the mirror looks for new results."""
LAST_SECONDS = 15.0
"""How long a finished sweep waits for the mirror; what is missing then is sent later."""
_mirrors: list[Mirror] = []
"""The running mirror, if any: nested blocks of ``mirroring`` share it."""


@contextmanager
def mirroring(server: str | None) -> Iterator[Mirror | None]:
    """Run a mirror to a server inside the block; it loads MLflow while a sweep is planned.

    Args:
        server: MLflow tracking URI; None for no mirror.
    """
    if server is None or _mirrors:
        yield _mirrors[-1] if server else None
        return
    _mirrors.append(Mirror(server))
    try:
        yield _mirrors[-1]
    finally:
        _mirrors.pop().end()


class Mirror:
    """A process that keeps a tracking server up to date.

    Args:
        server: MLflow tracking URI.

    Attributes:
        problem: What went wrong, in a line, and how far the copy is; empty if all has arrived.
    """

    def __init__(self, server: str) -> None:
        self.server, self.problem = server, ""
        self._process = subprocess.Popen(
            [sys.executable, "-m", PROCESS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # a terminal's signals reach the driver alone
        )
        self._send({"server": server, "seconds": SECONDS})  # on no command line: it may hold a password

    @contextmanager
    def following(self, store: Store) -> Iterator[None]:
        """Send everything that is written to the store inside the block, at the latest when the block ends."""
        self._send({"store": store.url})
        try:
            yield
        finally:
            if self._has_news(store):
                self.problem = self._wait_until_sent(store)
            self.end()

    def end(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.communicate()

    def _has_news(self, store: Store) -> bool:
        from longwave.platform.storage.outbox import Outbox

        try:
            return bool(Outbox(store, redacted(self.server)).pending("", 1))
        except StoreError:
            return True

    def _wait_until_sent(self, store: Store) -> str:
        """Wait until all is sent, and return what went wrong."""
        from longwave.platform.sweeps.mlflow.mirror import progress

        try:
            output, _ = self._process.communicate(timeout=LAST_SECONDS)
        except subprocess.TimeoutExpired:
            problem = f"MLflow at {redacted(self.server)} was too slow to take all results"
        else:
            problem = json.loads(output)["problem"] if output else "The process that copies to MLflow died"
        return problem and f"{problem}; {progress(store, self.server)}"

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin
        with suppress(BrokenPipeError):  # it died; that is noticed at the end
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()


def main() -> None:
    """Read a server and then a store from standard input, follow it, and write the problem to standard output."""
    from longwave.platform.processes import event_writer
    from longwave.platform.storage.store import Store
    from longwave.platform.sweeps.mlflow.mirror import follow
    from longwave.platform.sweeps.mlflow.server import MirrorError, client

    send = event_writer()
    with open(0, encoding="utf-8", closefd=False) as pipe:
        lines = map(json.loads, pipe)
        settings = next(lines)
        with suppress(MirrorError):  # sending will raise it again
            client(settings["server"])
        for message in lines:
            try:
                with Store(message["store"], create=False) as store:
                    problem = follow(store, settings["server"], settings["seconds"], _ended(lines))
            except StoreError as error:
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
