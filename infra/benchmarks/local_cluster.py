"""Several nodes of one Ray cluster on this machine, each in its own processes, that can be killed one by one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

import psutil

from longwave.platform.errors import WorkerError
from longwave.platform.sweeps.on_ray.client import environment
from longwave.platform.sweeps.on_ray.supervisor import base_folder

LOOPBACK = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # otherwise Ray uses 127.0.0.1 as this machine's name
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_failure_threshold": "4",  # by default a death is noticed after 15 s
}
"""Environment of the nodes, and of a driver that joins them."""
CODE = """
import json, os, sys, time
from pathlib import Path
options = json.loads(sys.argv[1])
if options["runs_on"]:
    os.sched_setaffinity(0, options["runs_on"])
from longwave.platform.sweeps.on_ray.bare_node import start_node
os.environ.update(options["env"])
address = start_node(
    options["cores"], Path(options["folder"]), options["cluster"], labels=options["labels"]
).address
print(address, flush=True)
time.sleep(10**6)
"""


class LocalCluster:
    """A head node that runs no packs, and the nodes that are added to it.

    Args:
        env: Further environment variables of the nodes.

    Attributes:
        address: Address of the cluster.
    """

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self._env, self._all = env or {}, list[subprocess.Popen[str]]()
        self._folder = tempfile.TemporaryDirectory(dir=base_folder(), ignore_cleanup_errors=True)
        self.address = ""
        try:
            self.address = self._start(0, (), {}, {})
        except WorkerError:
            self.close()
            raise

    def add(
        self,
        count: int = 1,
        cores: Sequence[int] = (),
        labels: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> int:
        """Start a node and return its number.

        Args:
            count: Number of one-CPU packs that it runs at a time.
            cores: Cores of this machine for it and its children; all by default.
            labels: Its labels.
            env: Further environment variables of its children.
        """
        self._start(count, cores, labels or {}, env or {})
        return len(self._all) - 1

    def processes(self, number: int) -> list[psutil.Process]:
        """Return the live processes of a node."""
        node = self._all[number]
        return [*psutil.Process(node.pid).children(recursive=True), psutil.Process(node.pid)] if _lives(node) else []

    def core_seconds(self) -> dict[tuple[int, float], float]:
        """Return the CPU seconds of each live process of the nodes except the head, by process id and start time."""
        seconds = {}
        for process in (p for number in range(1, len(self._all)) for p in self.processes(number)):
            with suppress(psutil.NoSuchProcess):
                seconds[(process.pid, process.create_time())] = sum(process.cpu_times()[:2])
        return seconds

    def end(self, number: int) -> None:
        """Kill all processes of a node at once."""
        for process in self.processes(number):
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self._all[number].communicate()

    def close(self) -> None:
        """End all nodes and delete their files."""
        for number, node in enumerate(self._all):
            if _lives(node):
                self.end(number)
            if node.stdout:
                node.stdout.close()
        self._folder.cleanup()

    def _start(self, count: int, cores: Sequence[int], labels: Mapping[str, str], env: Mapping[str, str]) -> str:
        options = {"cores": count, "runs_on": [*cores], "labels": {**labels}, "env": {**env}}
        options |= {"folder": self._folder.name, "cluster": self.address or None}
        command = [sys.executable, "-c", CODE, json.dumps(options)]
        env_of_node = {**environment(), **LOOPBACK, **self._env}
        self._all.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env_of_node))
        stdout = self._all[-1].stdout
        assert stdout
        if not (address := stdout.readline().strip()):
            raise WorkerError("A node of Ray did not start. Its own output, above, says why.")
        return address


def _lives(node: subprocess.Popen[str]) -> bool:
    return node.returncode is None and node.poll() is None


@contextmanager
def local_cluster(env: Mapping[str, str] | None = None) -> Iterator[LocalCluster]:
    """Run a head node inside the block, to which nodes can be added and which drivers of this process can join."""
    before = {name: os.environ.get(name) for name in LOOPBACK}
    nodes = LocalCluster(env)
    os.environ.update(LOOPBACK)
    try:
        yield nodes
    finally:
        nodes.close()
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
