"""Processes of this machine, told from strangers that were given the same number later."""

from __future__ import annotations

from collections.abc import Iterable

import psutil

Births = dict[str, float]
"""Processes: when each was created, in Unix seconds, by its id."""
CLOSE = 1.0
"""Seconds by which two readings of a birth may differ: the system derives it from its clock, which may be set."""


def birth_times(processes: Iterable[psutil.Process]) -> Births:
    """Return processes so that they can be told from strangers later."""
    found: Births = {}
    for process in processes:
        try:
            found[str(process.pid)] = process.create_time()
        except psutil.NoSuchProcess:
            continue
    return found


def living_processes(processes: Births) -> list[psutil.Process]:
    """Return those of the processes that live, and no stranger that has the id of one that ended."""
    found = []
    for pid, created in processes.items():
        try:
            process = psutil.Process(int(pid))
            if abs(process.create_time() - created) < CLOSE and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.NoSuchProcess:
            continue
    return found


def is_running(process: int, born: float) -> bool:
    """Return whether a process of this machine runs."""
    return bool(living_processes({str(process): born}))
