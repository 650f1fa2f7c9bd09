"""The driver's end of Ray: starts the keeper, hands jobs over and hears events. Loads no Ray."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

from longwave.platform.errors import WorkersLostError
from longwave.platform.sweeps.on_ray.keeper import base
from longwave.platform.sweeps.on_ray.switches import environment
from longwave.platform.sweeps.workers import Workers

END_SECONDS = 10.0
"""Longest that the keeper may take to end all others; it takes a fraction of a second."""


class Client:
    """Ray for one driver. It starts at once, in the background, and anew where it has ended.

    Args:
        workers: How many there are to be, and on which cluster.
    """

    def __init__(self, workers: Workers) -> None:
        self.workers = workers
        self._keeper: subprocess.Popen[str] | None = None
        self.start()

    def start(self) -> None:
        """Start Ray's processes, if they do not run; does not wait for them."""
        if self._keeper and self._keeper.poll() is None:
            return
        self.end()
        self.folder = Path(tempfile.mkdtemp(dir=base()))
        life, self._life = os.pipe()
        own = {"count": self.workers.count or os.cpu_count() or 1, "gpus": 0 if self.workers.cpu else None}
        told = {**own, "address": self.workers.address, "folder": str(self.folder)}
        scheduler = [sys.executable, "-m", "longwave.platform.sweeps.on_ray.scheduler", json.dumps(told)]
        keeper = [sys.executable, "-m", "longwave.platform.sweeps.on_ray.keeper"]
        self._keeper = subprocess.Popen(
            [*keeper, str(life), str(os.getpid()), str(self.folder), *scheduler],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            pass_fds=[life],
            start_new_session=True,
            env=environment(),
        )
        os.close(life)

    def run(self, work: Mapping[str, Any]) -> Generator[dict[str, Any], None, None]:
        """Hand work over and yield its events until the last. Left before that, or where Ray ends, all is ended.

        Raises:
            WorkersLostError: Ray could not be started or reached, or it died.
        """
        self.start()
        assert self._keeper and self._keeper.stdin and self._keeper.stdout
        whole = False
        try:
            try:
                self._keeper.stdin.write(json.dumps(work) + "\n")
                self._keeper.stdin.flush()
            except BrokenPipeError:
                pass  # it ended before; what it said is still there
            for line in self._keeper.stdout:
                event = json.loads(line)
                if event["event"] == "finished":
                    whole = True
                    return
                if event["event"] == "lost":
                    raise WorkersLostError(event["why"])
                yield event
            raise WorkersLostError("Ray's processes died")
        finally:
            if not whole:
                self.end()

    def end(self) -> None:
        """End all of Ray's processes; those of a cluster stay."""
        if not self._keeper:
            return
        os.close(self._life)
        try:
            self._keeper.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            self._keeper.wait()
        for pipe in (self._keeper.stdin, self._keeper.stdout):
            try:
                if pipe:
                    pipe.close()
            except BrokenPipeError:
                continue
        shutil.rmtree(self.folder, ignore_errors=True)
        self._keeper = None
