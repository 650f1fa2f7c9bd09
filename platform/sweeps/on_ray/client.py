"""The driver's connection to Ray: starts the supervisor, hands over packs and reads events. Loads no Ray."""

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
"""Bytes that the pipe from Ray may buffer while the driver writes to its store."""
END_SECONDS = 10.0
"""Timeout for the supervisor to end all other processes; it needs a fraction of a second."""


class Client:
    """Ray for one driver. It starts at once, in the background, and again if it has ended.

    Args:
        workers: How to run packs.
        scheduler: The module that runs them; a benchmark replaces it.
    """

    def __init__(self, workers: Workers, scheduler: str = SCHEDULER) -> None:
        self.workers, self.scheduler = workers, scheduler
        self._supervisor: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start Ray's processes unless they run; does not wait for them."""
        if self._supervisor and self._supervisor.poll() is None:
            return
        self.end()
        self.folder = Path(tempfile.mkdtemp(dir=base_folder()))
        life, self._life = os.pipe()
        own = {"cores": self.workers.cores, "gpus": 0 if self.workers.cpu else None}
        options = {**own, "address": self.workers.address, "folder": str(self.folder)}
        scheduler = [sys.executable, "-m", self.scheduler, json.dumps(options)]
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
        """Hand over work and yield its events until the last, in batches of all that have arrived.

        If the generator is closed before that, or Ray dies, all of Ray's processes are ended.

        Raises:
            WorkersLostError: Ray could not be started or reached, or it died.
        """
        self.start()
        assert self._supervisor and self._supervisor.stdout
        finished = False
        try:
            self.send(work)
            for lines in _arriving(self._supervisor.stdout):
                events = [json.loads(line) for line in lines]
                last = next((event for event in events if event["event"] in ("finished", "lost")), None)
                yield events[: events.index(last)] if last else events
                if last and last["event"] == "lost":
                    raise WorkersLostError(last["why"])
                if last:
                    finished = True
                    return
            raise WorkersLostError("Ray's processes died")
        finally:
            if not finished:
                self.end()

    def send(self, message: Mapping[str, Any]) -> None:
        """Send the scheduler a message."""
        assert self._supervisor and self._supervisor.stdin
        with suppress(BrokenPipeError):  # it has ended; its last events can still be read
            self._supervisor.stdin.write(json.dumps(message).encode() + b"\n")
            self._supervisor.stdin.flush()

    def end(self) -> None:
        """End all of this driver's Ray processes; those of a cluster stay."""
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
    """Yield the lines of a pipe until it is closed, in batches of all that have arrived."""
    rest = b""
    while read := os.read(pipe.fileno(), PIPE):
        *lines, rest = (rest + read).split(b"\n")
        if lines:
            yield lines
