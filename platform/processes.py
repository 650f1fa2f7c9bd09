"""Processes of this machine: told from strangers that were given the same number later, and what ours write."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable
from typing import Any

import psutil

Births = dict[str, float]
"""Processes: when each was created, in Unix seconds, by its id."""
WriteEvent = Callable[[dict[str, Any]], None]
"""Writes an event to the process that started this one."""
CLOSE = 1.0
"""Seconds by which two readings of a birth may differ: the system derives it from its clock, which may be set."""


def birth_times(processes: Iterable[psutil.Process]) -> Births:
    """Return processes so that they can be told from strangers later."""
    births: Births = {}
    for process in processes:
        try:
            births[str(process.pid)] = process.create_time()
        except psutil.NoSuchProcess:
            continue
    return births


def living_processes(processes: Births) -> list[psutil.Process]:
    """Return those of the processes that live, and no stranger that has the id of one that ended."""
    living = []
    for pid, created in processes.items():
        try:
            process = psutil.Process(int(pid))
            if abs(process.create_time() - created) < CLOSE and process.status() != psutil.STATUS_ZOMBIE:
                living.append(process)
        except psutil.NoSuchProcess:
            continue
    return living


def is_running(process: int, born: float) -> bool:
    """Return whether a process of this machine runs."""
    return bool(living_processes({str(process): born}))


def event_writer() -> WriteEvent:
    """Return what writes events to standard output, from any thread; all else that is printed goes to the log."""
    out, lock = os.fdopen(os.dup(1), "w", encoding="utf-8"), threading.Lock()
    os.dup2(2, 1)

    def say(event: dict[str, Any]) -> None:
        with lock:
            print(json.dumps(event), file=out, flush=True)

    return say
