"""Runs an untrusted program without this environment's variables, with limits on time and memory.

Passwords in variables stay hidden from it, and it cannot exhaust the machine. It is not a sandbox: the program may read
and write whatever this user may. So read its code before you run it on a machine with secrets.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from longwave.tasks.base.cache import folder as data_folder

SHOWN = 2**16
"""Bytes of a program's output that are read, from its end."""


class LimitError(Exception):
    """A program exceeded one of its limits; the message says which."""


@dataclass(frozen=True)
class Limits:
    """Limits of a program.

    Attributes:
        seconds: Wall-clock time.
        memory: Bytes of address space.
        written: Bytes of a file that it may write.
    """

    seconds: float = 600.0
    memory: int = 8 * 2**30
    written: int = 2**30


def run_limited(command: Sequence[str], folder: Path, limits: Limits, threads: int = 0) -> tuple[int, str]:
    """Run a program in ``folder``, its home, and return its exit status and the end of its output.

    Args:
        command: The program and its arguments.
        folder: Where it runs and may write files.
        limits: Its limits.
        threads: Number of torch's threads; 0: one per core.

    Raises:
        LimitError: It exceeded a limit, or a signal ended it.
    """
    cores = os.cpu_count() or 1

    seconds = int(limits.seconds * cores) + 1
    caps = {resource.RLIMIT_CPU: seconds, resource.RLIMIT_AS: limits.memory, resource.RLIMIT_FSIZE: limits.written}
    printed = folder / "printed.txt"
    with printed.open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment_of(folder, min(threads, cores) or cores),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        for limit, count in caps.items():
            resource.prlimit(process.pid, limit, (count, count))  # well before Python has started there
        try:
            status = process.wait(limits.seconds)
        except subprocess.TimeoutExpired:
            raise LimitError(f"it takes more than {limits.seconds:g} s") from None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # with all its children
            process.wait()
    if status < 0:
        raise LimitError(f"{signal.Signals(-status).name} ended it, probably because it exceeded a limit")
    with printed.open("rb") as log:
        log.seek(max(printed.stat().st_size - SHOWN, 0))
        return status, log.read().decode(errors="replace")


def environment_of(folder: Path, threads: int) -> Mapping[str, str]:
    """Return the environment of a program whose home is ``folder``. It trains on the CPU."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "LONGWAVE_HOME": str(folder / "longwave"),
        "LONGWAVE_CACHE": str(data_folder()),
        "OMP_NUM_THREADS": str(threads),
        "CUDA_VISIBLE_DEVICES": "",
    }
