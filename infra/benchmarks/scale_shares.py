"""How a process's main thread spends its time: its stack is sampled a hundred times per second."""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from types import FrameType
from typing import Self

SECONDS = 0.01
"""Seconds between two samples."""
PARTS = {
    "planning": (
        "stored.py",
        "trials.py",
        "queue.py",
        "packing.py",
        "trial.py",
        "identity.py",
        "cells.py",
    ),
    "recorder, progress, metrics": (
        "recorder.py",
        "progress.py",
        "metrics.py",
        "checkpoint.py",
        "report.py",
        "run.py",
    ),
}
"""Parts of a driver's work outside its store, by the files of the innermost call."""
WAITS, JSON = "waiting for workers", "JSON of events and work"
LEASES, WRITES = "store: leases", "store: results of packs"
CHECKSUMS, READS = "store: checksums", "store: all else"

OUTER = ("take", "release", "write")
"""Functions of leases that a driver calls."""


class Shares:
    """Samples the thread that created it, inside ``with``.

    Attributes:
        counts: Number of samples in each part.
    """

    def __init__(self) -> None:
        self.counts, self._thread, self._over = Counter[str](), threading.get_ident(), threading.Event()
        self._follower = threading.Thread(target=self._follow, name="shares", daemon=True)

    def __enter__(self) -> Self:
        self._follower.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._follower.join()

    def of_one(self) -> dict[str, float]:
        """Return the share of each part, the largest first; they sum to one."""
        total = sum(self.counts.values())
        return {part: count / total for part, count in self.counts.most_common()}

    def _follow(self) -> None:
        while not self._over.wait(SECONDS):
            if (frame := sys._current_frames().get(self._thread)) is not None:
                self.counts[part_of(_call_stack(frame))] += 1


def part_of(calls: list[tuple[str, str]]) -> str:
    """Return the part of a driver's work for a stack.

    Args:
        calls: File and function of each call, the innermost first.
    """
    stored = [(os.path.basename(file), name) for file, name in calls if _is_store(file)]
    if stored:
        outer = next((name for file, name in reversed(stored) if file == "leases.py" and name in OUTER), "")
        if outer in ("take", "release"):
            return LEASES
        if any(file == "checksums.py" for file, _ in stored):
            return CHECKSUMS
        return WRITES if outer == "write" else READS
    for file, name in calls:
        if name == "_arriving":
            return WAITS
        if os.path.basename(os.path.dirname(file)) == "json":
            return JSON
        for part, files in PARTS.items():
            if os.path.basename(file) in files and "platform" in file:
                return part
    return "all else"


def _is_store(file: str) -> bool:
    return os.path.basename(os.path.dirname(file)) == "storage" and os.path.basename(file) != "retry.py"


def _call_stack(frame: FrameType | None) -> list[tuple[str, str]]:
    calls = []
    while frame is not None:
        calls.append((frame.f_code.co_filename, frame.f_code.co_name))
        frame = frame.f_back
    return calls
