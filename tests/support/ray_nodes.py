"""Real nodes of a real Ray cluster on the loopback interface, of which those that work are lost and replaced."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType

import psutil
from local_cluster import LOOPBACK, LocalCluster

__all__ = ["LOOPBACK", "Nodes"]


class Nodes:
    """A head that runs no work, and nodes that do.

    Args:
        env: More of the nodes' environment.
        count: Nodes that work.

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
        """Kill all processes of a node that works, one with work if there is one, and start another."""
        self.lost += 1
        number = next((n for n in self._working if self._busy(n)), self._working[-1])
        self._working.remove(number)
        self.all.end(number)
        if replaced:
            self._working.append(self.all.add())

    def busy(self) -> bool:
        """Return whether all nodes that work have work."""
        return all(self._busy(number) for number in self._working)

    def _busy(self, number: int) -> bool:
        for process in self.all.processes(number):
            with suppress(psutil.Error):
                if any("ray::ImplicitFunc" in part for part in process.cmdline()):
                    return True
        return False
