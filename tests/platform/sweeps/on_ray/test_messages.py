"""Epochs wait for a second on their way to the driver; all else takes them along at once, and nothing stays behind."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from packs import trial

from longwave.platform.errors import WorkerError
from longwave.platform.records.report import Ending, Report, Rung
from longwave.platform.records.run import Point, Run
from longwave.platform.sweeps.on_ray import messages, single_process
from longwave.platform.sweeps.on_ray.messages import ReportBuffer
from longwave.platform.sweeps.place.workers import Job, Workers
from longwave.platform.sweeps.run import executor


def epoch(number: int) -> Report:
    return Report(points=(Point("t", number, 0.5, 0.25, 1.0, 2.0),))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Seconds that the test sets."""
    now = SimpleNamespace(seconds=100.0)
    monkeypatch.setattr(messages, "time", SimpleNamespace(monotonic=lambda: now.seconds))
    return now


def test_epochs_are_gathered_until_a_second_has_passed(clock: SimpleNamespace) -> None:
    sent: list[Report] = []
    buffer = ReportBuffer(sent.append)
    for number, seconds in ((1, 100.0), (2, 100.9), (3, 101.1), (4, 101.9)):
        clock.seconds = seconds
        buffer(epoch(number))
    assert [[p.epoch for p in report.points] for report in sent] == [[1, 2, 3]]
    assert [p.epoch for p in buffer.take_unsent().points] == [4] and not buffer.take_unsent().points


@pytest.mark.parametrize(
    "urgent", [{"runs": (Run("t", "ok", valid=0.5),)}, {"rungs": (Rung("c", 1, "t", 0.5),)}, {"began": {"t": 0}}]
)
def test_an_end_a_rung_and_a_start_are_sent_at_once(urgent: dict[str, Any], clock: SimpleNamespace) -> None:
    sent: list[Report] = []
    buffer = ReportBuffer(sent.append)
    buffer(epoch(1))
    buffer(Report(**urgent))
    [report] = sent
    assert [p.epoch for p in report.points] == [1] and {name: getattr(report, name) for name in urgent} == urgent


def test_a_pack_that_pauses_in_the_single_process_leaves_no_epoch_behind(
    tmp_path: Path, clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def paused(key: str, job: Job, emit: ReportBuffer, workers: Workers) -> Ending:
        emit(epoch(1))
        return "paused"

    monkeypatch.setattr(single_process, "train_job", paused)
    events: list[dict[str, Any]] = []
    assert single_process._train_pack("a", Job([trial()]).to_dict(), Workers(1, tmp_path), events.append) == "paused"
    assert [[point["epoch"] for point in event["report"]["points"]] for event in events] == [[1]]


def test_a_pack_that_the_single_process_refuses_is_sent_with_the_reason(
    tmp_path: Path, clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(key: str, job: Job, emit: ReportBuffer, workers: Workers) -> Ending:
        raise WorkerError("precision bfloat16: only Triton's loops store it")

    monkeypatch.setattr(single_process, "train_job", refused)
    events: list[dict[str, Any]] = []
    jobs = {key: Job([trial()]).to_dict() for key in "ab"}
    work = {
        "storage": str(tmp_path),
        "flag": str(tmp_path / "drain"),
        "workers": {"count": 1},
        "plugins": [],
        "jobs": jobs,
        "last": True,
    }
    single_process._train_packs(work, lambda wait: [], events.append)
    assert [event["event"] for event in events] == ["started", "refused"]
    sink: Any = SimpleNamespace()
    with pytest.raises(WorkerError, match="^precision bfloat16: only Triton's loops store it$"):
        executor._handle_event(events[1], executor._CurrentSessions(), sink, Workers(1, tmp_path))
