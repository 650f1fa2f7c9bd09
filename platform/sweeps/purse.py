"""What a sweep has cost so far, and which part of its budget that uses up."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from longwave.platform.storage.store import Store
from longwave.platform.sweeps.config import SweepFile
from longwave.platform.sweeps.desk import Desk


class Purse:
    """The budget of a sweep in the hands of one driver.

    Args:
        store: What earlier drivers spent stands there.
        file: The sweep.
        gpus: What a pack holds of GPUs.
    """

    def __init__(self, store: Store, file: SweepFile, gpus: float) -> None:
        self.store, self.file, self.gpus = store, file, gpus
        self.ran, self.trained = store.spent(file.name)
        self._start, self._closed = time.monotonic(), False
        self._desk: Desk | None = None

    def spent(self) -> str:
        """Return which part of the budget is used up; empty while none is."""
        budget = self.file.budget
        hours = (self.ran + time.monotonic() - self._start) / 3600
        gpu_hours = (self.trained + (self._desk.seconds if self._desk else 0.0)) * self.gpus / 3600
        if budget.hours is not None and hours >= budget.hours:
            return f"its budget of {budget.hours:g} hours is used up"
        if budget.gpu_hours is not None and gpu_hours >= budget.gpu_hours:
            return f"its budget of {budget.gpu_hours:g} GPU hours is used up"
        return f"its budget of {budget.trials} trials is used up" if self._closed else ""

    def trials_left(self) -> int | None:
        """Return how many trials may yet be trained; None where any number may."""
        if self.file.budget.trials is None:
            return None
        ended = sum(not a.open for a in self.store.asked(self.file.name))
        return max(0, self.file.budget.trials - ended)

    def close(self) -> None:
        """Note that no pack fits the trials that are left."""
        self._closed = True

    @contextmanager
    def filled_by(self, desk: Desk) -> Iterator[None]:
        """Count what the packs of ``desk`` train inside the block, and keep it."""
        self._desk = desk
        try:
            yield
        finally:
            self.trained += desk.seconds
            self._desk = None
