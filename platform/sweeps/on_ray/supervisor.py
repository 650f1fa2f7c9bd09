"""The process between a driver and Ray: it ends all that Ray started when the driver is gone. Needs no Ray itself."""

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
from pathlib import Path

import psutil

from longwave.platform.processes import Births, birth_times, living_processes

LOOK_SECONDS = 0.5
"""How often the supervisor writes down which processes there are."""
SET_DEATH_SIGNAL, SET_SUBREAPER = 1, 36
"""Linux's prctl: a signal at the parent's death; orphans of children become children."""


def base_folder() -> Path:
    """Return this user's folder of Ray's own files, for the user alone; made if it is not there. Its path is short."""
    folder = Path(tempfile.gettempdir()) / f"longwave-ray-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if folder.is_symlink() or found.st_uid != os.getuid() or found.st_mode & 0o077:
        return Path(tempfile.mkdtemp(prefix="longwave-ray-"))
    return folder


def end_leftovers(folder: Path) -> None:
    """End what drivers left behind that are gone, and delete their folders; those of living drivers stay.

    Args:
        folder: As ``base_folder()`` returns it.
    """
    for left in folder.iterdir():
        try:
            found = json.loads((left / "processes.json").read_text())
            if living_processes(found["driver"]):
                continue
            _kill(living_processes(found["ours"]))
        except (OSError, ValueError, KeyError):  # just made, or its supervisor is deleting it
            if time.time() - left.lstat().st_mtime < 60:
                continue
        shutil.rmtree(left, ignore_errors=True)


def main(life: int, driver: int, folder: Path, scheduler: list[str]) -> None:
    """Run the scheduler until it ends or the driver is gone; then end all processes and delete the folder.

    Args:
        life: The reading end of a pipe whose other end only the driver holds.
        driver: Its process id.
        folder: Of Ray's files.
        scheduler: Its command; it has this process's standard input and output.
    """
    system = ctypes.CDLL(None)
    if sys.platform == "linux":
        system.prctl(SET_SUBREAPER, 1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    me, told = psutil.Process(), birth_times([psutil.Process(driver)])
    with (folder / "scheduler.err").open("wb") as errors:
        child = subprocess.Popen(scheduler, stderr=errors, preexec_fn=lambda: _die_with_parent(system))
    os.closerange(0, 2)  # the scheduler alone holds them: at its end the driver hears of it
    end_leftovers(folder.parent)
    ours: Births = {}
    while child.poll() is None and not select.select([life], [], [], LOOK_SECONDS)[0]:
        if (now := birth_times([me, *me.children(recursive=True)])) != ours:
            ours = now
            partial = folder / "processes.partial"
            partial.write_text(json.dumps({"driver": told, "ours": ours}))
            partial.replace(folder / "processes.json")
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
