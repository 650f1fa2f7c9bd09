"""Nodes of a real Ray cluster on the loopback interface, of which working ones are killed and replaced."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType

import psutil
from local_cluster import LOOPBACK, LocalCluster

__all__ = ["LOOPBACK", "Nodes"]


class Nodes:
    """A head node that runs no work, and nodes that do.

    Args:
        env: Further environment variables of the nodes.
        count: Number of working nodes.

    Attributes:
        address: Of the cluster.
        all: The cluster.
        lost: Nodes killed so far.
    """

    def __init__(self, env: Mapping[str, str] | None = None, count: int = 1) -> None:
        self._env, self._count = env, count

    def __enter__(self) -> Nodes:
        self.all, self.lost = LocalCluster(self._env), 0
        self.address = self.all.address
        self._working = [self.all.add() for _ in range(self._count)]
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.all.close()

    def lose(self, replaced: bool = True) -> None:
        """Kill all processes of a working node, a busy one if there is one, and start another."""
        self._lose(self._next(), replaced)

    def lose_late(self, seconds: float) -> None:
        """Break the connections to a node's workers, end the node some seconds later, and start another.

        The node does not report the deaths of its workers: Ray's process on it is stopped before they are killed.
        """
        number = self._next()
        processes = {process: process.name() for process in self.all.processes(number)}
        for process in (p for p, name in processes.items() if name == "raylet"):
            process.suspend()
        for process in (p for p, name in processes.items() if name.startswith("ray::")):
            process.kill()
        time.sleep(seconds)
        self._lose(number, True)

    def _next(self) -> int:
        return next((n for n in self._working if self._busy(n)), self._working[-1])

    def _lose(self, number: int, replaced: bool) -> None:
        self.lost += 1
        self._working.remove(number)
        self.all.end(number)
        if replaced:
            self._working.append(self.all.add())

    def busy(self) -> bool:
        """Return whether all working nodes are busy."""
        return all(self._busy(number) for number in self._working)

    def _busy(self, number: int) -> bool:
        for process in self.all.processes(number):
            with suppress(psutil.Error):
                if any("ray::ImplicitFunc" in part for part in process.cmdline()):
                    return True
        return False
