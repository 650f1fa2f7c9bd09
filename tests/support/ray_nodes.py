"""Real nodes of a real Ray cluster on the loopback interface, each in a process of its own that can be killed."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import TracebackType

import psutil

from longwave.platform.sweeps.on_ray.keeper import base
from longwave.platform.sweeps.on_ray.switches import environment

LOOPBACK = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # or Ray takes 127.0.0.1 for this machine's name
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_failure_threshold": "4",  # by default a death is noticed after 15 s
}
"""What a driver that joins such a cluster needs in its environment, too."""
CODE = """
import sys, time
from pathlib import Path
from longwave.platform.sweeps.on_ray.node import start_node
print(start_node(int(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:]).address, flush=True)
time.sleep(3600)
"""


class Nodes:
    """A head that runs no work, and one node that does.

    Args:
        env: More of the nodes' environment.

    Attributes:
        address: Of the cluster.
        lost: Nodes killed so far.
    """

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self._env = env or {}

    def __enter__(self) -> Nodes:
        self._folder = tempfile.TemporaryDirectory(dir=base(), ignore_cleanup_errors=True)
        self._all: list[subprocess.Popen[str]] = []
        self.lost = 0
        self.address = self._start(0)
        self._start(1, self.address)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for node in self._all:
            _kill(node)
        self._folder.cleanup()

    def lose(self) -> None:
        """Kill all processes of the node that works at once, and start another."""
        self.lost += 1
        _kill(self._all[-1])
        self._start(1, self.address)

    def add(self, env: Mapping[str, str]) -> None:
        """Start one more node, with more in its environment."""
        self._start(1, self.address, env=env)

    def busy(self) -> bool:
        """Return whether the node that works has work."""
        return any("ray::ImplicitFunc" in name for name in _titles(self._all[-1].pid))

    def _start(self, count: int, *joined: str, env: Mapping[str, str] | None = None) -> str:
        command = [sys.executable, "-c", CODE, str(count), self._folder.name, *joined]
        env = {**environment(), **LOOPBACK, **self._env, **(env or {})}
        self._all.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env))
        stdout = self._all[-1].stdout
        assert stdout
        return stdout.readline().strip()


def _kill(node: subprocess.Popen[str]) -> None:
    if node.poll() is None:
        for process in [*psutil.Process(node.pid).children(recursive=True), node]:
            with suppress(psutil.NoSuchProcess):
                process.kill()
    if node.stdout and not node.stdout.closed:
        node.communicate()


def _titles(node: int) -> Iterator[str]:
    for process in psutil.Process(node).children(recursive=True):
        with suppress(psutil.Error):
            yield " ".join(process.cmdline())
