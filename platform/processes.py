"""Processes of this machine: told from strangers that were given the same number later, and what ours write."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import psutil

Births = dict[str, float]
"""Processes: when each was created, in Unix seconds, by its id."""
WriteEvent = Callable[[dict[str, Any]], None]
"""Writes an event to the process that started this one."""
PROC, MACHINE_ID = Path("/proc"), Path("/etc/machine-id")
"""Where Linux says what runs, and the number that a machine was given when its system was installed."""
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


def machine_identity() -> str:
    """Return what no other boot, machine or process namespace has, as a digest; empty where the system does not say.

    A host's name is none: two machines, or two containers, may share it.
    """
    try:
        if int(os.readlink(PROC / "self")) != os.getpid():  # /proc is that of another namespace
            return ""
        boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
        space = (PROC / "self/ns/pid").stat().st_ino
    except OSError:
        return ""
    machine = MACHINE_ID.read_text().strip() if MACHINE_ID.is_file() else ""
    return hashlib.sha256(f"{boot}/{machine}/{space}".encode()).hexdigest()[:32]


def start_ticks(process: int) -> int:
    """Return when a process was started, in clock ticks since boot; 0 if it does not run.

    ``psutil`` gives it by the system's clock, and so differently once that clock has been set.
    """
    try:
        fields = (PROC / f"{process}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return 0
    state, started = fields[0], int(fields[19])
    return 0 if state in "ZX" else started


def discard_output() -> None:
    """Let whatever this process prints from now on go nowhere, from Python or not."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)


def event_writer() -> WriteEvent:
    """Return what writes events to standard output, from any thread; all else that is printed goes to the log."""
    out, lock = os.fdopen(os.dup(1), "w", encoding="utf-8"), threading.Lock()
    os.dup2(2, 1)

    def say(event: dict[str, Any]) -> None:
        with lock:
            print(json.dumps(event), file=out, flush=True)

    return say
