"""What a sweep has cost so far, and whether a part of its budget is used up."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from longwave.platform.records.probe import CPU
from longwave.platform.records.stored import SweepCost
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.run.recorder import ResultRecorder


class BudgetMeter:
    """The costs of a sweep against its budget, as one driver counts them.

    Args:
        store: Holds what earlier drivers spent.
        file: The sweep.
    """

    def __init__(self, store: Store, file: SweepFile) -> None:
        self.store, self.file = store, file
        self.before = store.cost(file.name)
        self._start, self._closed = time.monotonic(), False
        self._own = SweepCost()
        self._recorder: ResultRecorder | None = None

    def own(self) -> SweepCost:
        """Return what this driver's packs have taken."""
        recorder = self._recorder
        return self._own + recorder.spent if recorder else self._own

    def columns(self) -> dict[str, Mapping[str, float]]:
        """Return the same as columns of the driver's row in the store."""
        own = self.own()
        return {"used": own.used, "expected": own.expected}

    def spent(self) -> str:
        """Return a message that names the part of the budget that is used up; empty while none is."""
        budget = self.file.budget
        hours = (self.before.ran + time.monotonic() - self._start) / 3600
        gpu_hours = sum(s for kind, s in (self.before + self.own()).used.items() if kind != CPU) / 3600
        if budget.hours is not None and hours >= budget.hours:
            return f"its budget of {budget.hours:g} hours is used up"
        if budget.gpu_hours is not None and gpu_hours >= budget.gpu_hours:
            return f"its budget of {budget.gpu_hours:g} GPU hours is used up"
        return f"its budget of {budget.trials} trials is used up" if self._closed else ""

    def trials_left(self) -> int | None:
        """Return how many trials may still be trained; None without a limit."""
        if self.file.budget.trials is None:
            return None
        ended = sum(not a.open for a in self.store.planned(self.file.name))
        return max(0, self.file.budget.trials - ended)

    def close(self) -> None:
        """Note that the budget's remaining trials are fewer than any pack has."""
        self._closed = True

    @contextmanager
    def counting(self, recorder: ResultRecorder) -> Iterator[None]:
        """Count the costs of the packs of ``recorder`` inside the block."""
        self._recorder = recorder
        try:
            yield
        finally:
            self._recorder, self._own = None, self._own + recorder.spent
