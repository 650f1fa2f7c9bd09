"""The driver's end of Ray: starts the supervisor, hands jobs over and hears events. Loads no Ray."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from longwave.platform.errors import WorkersLostError
from longwave.platform.sweeps.on_ray.supervisor import base_folder
from longwave.platform.sweeps.on_ray.switches import environment
from longwave.platform.sweeps.place.workers import Workers

SCHEDULER = "longwave.platform.sweeps.on_ray.scheduler"
PIPE = 1 << 20
"""Bytes that may wait in the pipe from Ray while the driver writes to its store."""
END_SECONDS = 10.0
"""Longest that the supervisor may take to end all others; it takes a fraction of a second."""


class Client:
    """Ray for one driver. It starts at once, in the background, and anew where it has ended.

    Args:
        workers: How many there are to be, and on which cluster.
        scheduler: The module that drives them; a benchmark has another in its place.
    """

    def __init__(self, workers: Workers, scheduler: str = SCHEDULER) -> None:
        self.workers, self.scheduler = workers, scheduler
        self._supervisor: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start Ray's processes, if they do not run; does not wait for them."""
        if self._supervisor and self._supervisor.poll() is None:
            return
        self.end()
        self.folder = Path(tempfile.mkdtemp(dir=base_folder()))
        life, self._life = os.pipe()
        own = {"cores": self.workers.cores, "gpus": 0 if self.workers.cpu else None}
        told = {**own, "address": self.workers.address, "folder": str(self.folder)}
        scheduler = [sys.executable, "-m", self.scheduler, json.dumps(told)]
        supervisor = [sys.executable, "-m", "longwave.platform.sweeps.on_ray.supervisor"]
        self._supervisor = subprocess.Popen(
            [*supervisor, str(life), str(os.getpid()), str(self.folder), *scheduler],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pipesize=PIPE,
            pass_fds=[life],
            start_new_session=True,
            env=environment(),
        )
        os.close(life)

    def run(self, work: Mapping[str, Any]) -> Generator[list[dict[str, Any]], None, None]:
        """Hand work over and yield its events until the last, as many at once as have come by then.

        Left before that, or where Ray ends, all is ended.

        Raises:
            WorkersLostError: Ray could not be started or reached, or it died.
        """
        self.start()
        assert self._supervisor and self._supervisor.stdout
        whole = False
        try:
            self.tell(work)
            for lines in _arriving(self._supervisor.stdout):
                events = [json.loads(line) for line in lines]
                last = next((event for event in events if event["event"] in ("finished", "lost")), None)
                yield events[: events.index(last)] if last else events
                if last and last["event"] == "lost":
                    raise WorkersLostError(last["why"])
                if last:
                    whole = True
                    return
            raise WorkersLostError("Ray's processes died")
        finally:
            if not whole:
                self.end()

    def tell(self, told: Mapping[str, Any]) -> None:
        """Hand over more of the work that runs."""
        assert self._supervisor and self._supervisor.stdin
        with suppress(BrokenPipeError):  # it ended before; what it said is still there
            self._supervisor.stdin.write(json.dumps(told).encode() + b"\n")
            self._supervisor.stdin.flush()

    def end(self) -> None:
        """End all of Ray's processes; those of a cluster stay."""
        if not self._supervisor:
            return
        os.close(self._life)
        try:
            self._supervisor.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._supervisor.kill()
            self._supervisor.wait()
        for pipe in (self._supervisor.stdin, self._supervisor.stdout):
            try:
                if pipe:
                    pipe.close()
            except BrokenPipeError:
                continue
        shutil.rmtree(self.folder, ignore_errors=True)
        self._supervisor = None


def _arriving(pipe: IO[bytes]) -> Iterator[list[bytes]]:
    """Yield the lines of a pipe until it is closed: all that are there, once there is one."""
    rest = b""
    while read := os.read(pipe.fileno(), PIPE):
        *lines, rest = (rest + read).split(b"\n")
        if lines:
            yield lines
