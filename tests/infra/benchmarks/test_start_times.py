"""A start that failed has no time."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
import start_times

from longwave.platform.errors import WorkerError
from longwave.platform.sweeps.place.workers import Job


def test_a_pack_that_did_not_train_to_its_end_is_no_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_packs(batches: Any, sink: Any, workers: Any) -> None:
        sink.ended("start", "died", "no memory")

    monkeypatch.setattr(start_times, "run_packs", run_packs)
    monkeypatch.setattr(start_times, "running_workers", nullcontext)
    with pytest.raises(WorkerError, match="A pack to measure did not train to its end: died: no memory"):
        start_times._first_epoch(Job([]), here=True)


def test_a_ray_that_does_not_start_is_no_lower_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_times, "FLOOR", "raise SystemExit(1)")
    with pytest.raises(WorkerError, match=r"Ray did not start\. Run ray\.init\(\) in Python to see why\."):
        start_times._measure_floor()
