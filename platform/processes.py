"""Processes of this machine: identified safely although ids are reused; events that ours write."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

Births = dict[str, float]
"""Creation times of processes, in Unix seconds, by process id."""
WriteEvent = Callable[[dict[str, Any]], None]
"""Writes an event to the parent process."""
PROC, MACHINE_ID = Path("/proc"), Path("/etc/machine-id")
"""Linux's process information, and the machine's id since its installation."""
CLOSE = 1.0
"""Allowed difference of two readings of a creation time, in seconds: it depends on the clock, which may be adjusted."""


def birth_times(processes: Iterable[psutil.Process]) -> Births:
    """Return the creation times of processes, by which they can be identified later."""
    births: Births = {}
    for process in processes:
        try:
            births[str(process.pid)] = process.create_time()
        except psutil.NoSuchProcess:
            continue
    return births


def living_processes(processes: Births) -> list[psutil.Process]:
    """Return the processes that are still alive, without unrelated ones that reuse an id."""
    alive = []
    for pid, created in processes.items():
        try:
            process = psutil.Process(int(pid))
            if abs(process.create_time() - created) < CLOSE and process.status() != psutil.STATUS_ZOMBIE:
                alive.append(process)
        except psutil.NoSuchProcess:
            continue
    return alive


def peak_memory(process: int | None = None) -> int | None:
    """Return the largest resident memory of a process, or of this one, in bytes; None if it is gone or not on Linux.

    getrusage would include the peak of the parent process.
    """
    try:
        lines = (PROC / f"{process or 'self'}/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), None)


def give_niceness_to_session() -> None:
    """Give the session of this process the niceness of the process, if the system is Linux and that is above 0.

    With autogroups, Linux shares processors among sessions before it looks at niceness, so a session that a nice
    process begins would take as much as any other.
    """
    if (niceness := os.nice(0)) > 0:
        with suppress(OSError):
            (PROC / "self/autogroup").write_text(str(niceness))


def machine_identity() -> str:
    """Return a digest that is unique to this boot, machine and process namespace; empty if the system does not support
    it. A host name is not enough, because machines or containers may share it.
    """
    try:
        if int(os.readlink(PROC / "self")) != os.getpid():  # /proc belongs to another namespace
            return ""
        boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
        namespace = (PROC / "self/ns/pid").stat().st_ino
    except OSError:
        return ""
    machine = MACHINE_ID.read_text().strip() if MACHINE_ID.is_file() else ""
    return hashlib.sha256(f"{boot}/{machine}/{namespace}".encode()).hexdigest()[:32]


def start_ticks(process: int) -> int:
    """Return the start of a process in clock ticks since boot; 0 if it is not running. ``psutil`` uses the system
    clock, so its value changes when the clock is adjusted.
    """
    try:
        fields = (PROC / f"{process}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return 0
    state, started = fields[0], int(fields[19])
    return 0 if state in "ZX" else started


def discard_output() -> None:
    """Discard everything that this process prints from now on, also from C code."""
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(null, stream)
    os.close(null)


def event_writer() -> WriteEvent:
    """Return a thread-safe writer of events to standard output; everything else that is printed goes to standard
    error."""
    out, lock = os.fdopen(os.dup(1), "w", encoding="utf-8"), threading.Lock()
    os.dup2(2, 1)

    def write_event(event: dict[str, Any]) -> None:
        with lock:
            print(json.dumps(event), file=out, flush=True)

    return write_event
