"""The process between a driver and Ray: it ends all of Ray's processes when the driver has ended. Loads no Ray."""

from __future__ import annotations

import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil

from longwave.platform.processes import Births, birth_times, living_processes

LOOK_SECONDS = 0.5
"""Interval at which the supervisor records the running processes."""
SET_DEATH_SIGNAL, SET_SUBREAPER = 1, 36
"""Options of Linux's prctl: a signal at the parent's death; orphaned grandchildren become children."""


def base_folder() -> Path:
    """Return this user's private folder of Ray's files, created if missing. Its path is short enough for sockets."""
    folder = Path(tempfile.gettempdir()) / f"longwave-ray-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if folder.is_symlink() or status.st_uid != os.getuid() or status.st_mode & 0o077:
        return Path(tempfile.mkdtemp(prefix="longwave-ray-"))
    return folder


def end_leftovers(folder: Path) -> None:
    """End the processes that dead drivers left behind, and delete their folders; those of running drivers stay.

    Args:
        folder: As ``base_folder()`` returns it.
    """
    for leftover in folder.iterdir():
        try:
            record = json.loads((leftover / "processes.json").read_text())
            if living_processes(record["driver"]):
                continue
            _kill(living_processes(record["ours"]))
        except (OSError, ValueError, KeyError):  # just created, or being deleted by its supervisor
            if time.time() - leftover.lstat().st_mtime < 60:
                continue
        shutil.rmtree(leftover, ignore_errors=True)


def main(life: int, driver: int, folder: Path, scheduler: list[str]) -> None:
    """Run the scheduler until it or the driver ends; then end all processes and delete the folder.

    Args:
        life: The reading end of a pipe whose other end only the driver holds.
        driver: The driver's process id.
        folder: Folder of Ray's files.
        scheduler: The scheduler's command; it gets this process's standard input and output.
    """
    system = ctypes.CDLL(None)
    if sys.platform == "linux":
        system.prctl(SET_SUBREAPER, 1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    me, driver_birth = psutil.Process(), birth_times([psutil.Process(driver)])
    # Output is discarded: a model may print gigabytes.
    child = subprocess.Popen(scheduler, stderr=subprocess.DEVNULL, preexec_fn=lambda: _die_with_parent(system))
    os.closerange(0, 2)  # only the scheduler holds them, so that the driver notices its end
    end_leftovers(folder.parent)
    ours: Births = {}
    while child.poll() is None and not select.select([life], [], [], LOOK_SECONDS)[0]:
        if (now := birth_times([me, *me.children(recursive=True)])) != ours:
            partial = folder / "processes.partial"
            with suppress(OSError):  # as on a full disk: only a later driver reads it, should this process be killed
                partial.write_text(json.dumps({"driver": driver_birth, "ours": now}))
                partial.replace(folder / "processes.json")
                ours = now
    while left := [p for p in me.children(recursive=True) if p.status() != psutil.STATUS_ZOMBIE]:
        _kill(left)
    shutil.rmtree(folder, ignore_errors=True)


def _die_with_parent(system: ctypes.CDLL) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    if sys.platform == "linux":
        system.prctl(SET_DEATH_SIGNAL, signal.SIGKILL)


def _kill(processes: list[psutil.Process]) -> None:
    for process in processes:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(processes, timeout=1)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:])
