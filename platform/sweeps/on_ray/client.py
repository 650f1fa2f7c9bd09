"""The driver's connection to Ray: starts the supervisor, hands over packs and reads events. Loads no Ray."""

from __future__ import annotations

import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from longwave.platform.errors import ConfigError, WorkersLostError
from longwave.platform.sweeps.on_ray.supervisor import base_folder
from longwave.platform.sweeps.place.workers import Workers

RAY_SWITCHES = {
    "MALLOC_ARENA_MAX": "1",
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "1",
    "RAY_enable_metrics_collection": "0",
    "RAY_idle_worker_killing_time_threshold_ms": "600000",
    "RAY_timeout_ms_task_wait_for_death_info": "60000",
    "RAY_worker_register_timeout_seconds": "600",
    "RAY_preload_python_modules": "longwave.platform.sweeps.on_ray.worker,longwave.platform.training.train",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    "TUNE_GLOBAL_CHECKPOINT_S": "86400",
    "TUNE_WARN_EXCESSIVE_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S": "0",
}
"""Workers are started ahead of their first pack, preload what they need, and wait ten minutes for the pack. They also
have ten minutes to start, as on a busy machine: had the first not started in time, by default a minute, Ray would never
answer the driver.

After a lost connection Ray waits a minute to find out whether a worker or its node has died: after a second, its
default, a node's death is not known yet, and would count against the pack.

Tune trains a pack in a thread. In a separate malloc arena, which glibc gives to threads, it could not reuse memory of
tensors beyond 64 MB, whatever ``longwave.platform.training.environment`` sets; hence one arena for all threads.
"""


def environment() -> dict[str, str]:
    """Return this process's environment, completed with the switches that it does not set itself."""
    return {**RAY_SWITCHES, **os.environ}


def import_ray() -> None:
    """Import Ray into this process with its switches set: it reads some of them at import."""
    os.environ.update(environment())
    import ray  # noqa: F401


FOUND_BY_RAY = ("auto", "local")
"""Words that Ray accepts in place of an address."""
ANSWER_SECONDS = 4.0
"""Seconds that a cluster has to answer."""


def check_address(address: str) -> None:
    """Check that a server answers at ``HOST:PORT`` or ``ray://HOST:PORT``; Ray resolves other schemes, and words.

    Raises:
        ConfigError: It is not an address, or no server answers.
    """
    scheme, _, host_and_port = address.rpartition("://")
    if address in FOUND_BY_RAY or scheme not in ("", "ray"):
        return
    try:
        host, port = urlsplit(f"//{host_and_port}").hostname, urlsplit(f"//{host_and_port}").port
    except ValueError:
        host = port = None
    if not host or not port:
        raise ConfigError(f"--ray is the address of a cluster: auto, or HOST:6379, got {address!r}.")
    try:
        socket.create_connection((host, port), ANSWER_SECONDS).close()
    except OSError as error:
        why = error.strerror or str(error)
        raise ConfigError(
            f"No cluster answers at --ray {address}: {why}. Start its head with: ray start --head"
        ) from error


SCHEDULER = "longwave.platform.sweeps.on_ray.scheduler"
PIPE = 1 << 20
"""Bytes that the pipe from Ray may buffer while the driver writes to its store."""
END_SECONDS = 10.0
"""Timeout for the supervisor to end all other processes; it needs a fraction of a second."""


class Client:
    """Ray for one driver. It starts at once, in the background, and is restarted if it has ended.

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
        devices = {"cores": self.workers.cores, "gpus": 0 if self.workers.cpu else None}
        options = {**devices, "address": self.workers.address, "folder": str(self.folder)}
        module = [sys.executable, "-P", "-m"]  # -P: files of the working directory hide no library
        scheduler = [*module, self.scheduler, json.dumps(options)]
        supervisor = [*module, "longwave.platform.sweeps.on_ray.supervisor"]
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

    def run(self, work: Mapping[str, Any], seconds: float | None = None) -> Generator[list[dict[str, Any]], None, None]:
        """Send a request and yield its events until the last, in batches of all that have arrived.

        If the generator is closed before that, Ray dies, or ``seconds`` have passed, all of Ray's processes are ended.

        Raises:
            WorkersLostError: Ray could not be started or reached, or it died.
        """
        self.start()
        assert self._supervisor and self._supervisor.stdout
        finished = False
        try:
            self.send(work)
            for lines in _arriving(self._supervisor.stdout, seconds):
                events = [json.loads(line) for line in lines]
                last = next((event for event in events if event["event"] in ("finished", "lost")), None)
                yield events[: events.index(last)] if last else events
                if last and last["event"] == "lost":
                    raise WorkersLostError(last["why"])
                if last:
                    finished = True
                    return
            if self._supervisor.poll() is not None or seconds is None:
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


def _arriving(pipe: IO[bytes], seconds: float | None) -> Iterator[list[bytes]]:
    """Yield the lines of a pipe until it is closed or time has run out, in batches of all that have arrived."""
    incomplete, end = b"", None if seconds is None else time.monotonic() + seconds
    while True:
        if end is not None and not select.select([pipe], [], [], max(end - time.monotonic(), 0.0))[0]:
            return
        if not (data := os.read(pipe.fileno(), PIPE)):
            return
        *lines, incomplete = (incomplete + data).split(b"\n")
        if lines:
            yield lines
