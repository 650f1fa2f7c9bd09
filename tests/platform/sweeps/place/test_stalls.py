"""Packs that make no step: when they count as stalled, how a hang is ended, and what is left of it."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from lab import trial

from longwave.platform.records.report import Report
from longwave.platform.records.run import Point, Run
from longwave.platform.sweeps.place.stalls import (
    StalledError,
    StallWatch,
    StepWatch,
    failed_by_stall,
    read_stall,
    stall_timer,
)


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "monotonic", clock)
    return clock


class Noted:
    """A timer that notes when it would end a hang."""

    seconds: float | None = None
    ended: frozenset[str] = frozenset()

    def set(self, seconds: float, ended: object) -> None:
        self.seconds, self.ended = seconds, frozenset(ended)  # type: ignore[call-overload]

    def clear(self) -> None:
        self.seconds = None


def test_a_pack_stalls_after_the_set_time_or_after_twenty_of_its_longest_steps(clock: Clock) -> None:
    stalls = StallWatch(900)
    stalls.started("fast", "lem ×2")
    stalls.started("slow", "gru ×2")
    stalls.reported("slow", Report(slowest=60))
    stalls.reported("slow", Report(slowest=10))
    clock.now += 900
    assert stalls.stalled() == {} and stalls.note() == ""
    clock.now += 1
    assert stalls.stalled() == {"fast": "lem ×2"}
    assert stalls.note() == (
        "stalled: no step for 900 s or more of lem ×2 (pack fast); resume with --stall-kill to fail what hangs"
    )
    clock.now += 299
    assert [*stalls.stalled()] == ["fast"], "1,200 s are 20 steps of a minute"
    clock.now += 1
    assert [*stalls.stalled()] == ["fast", "slow"] and "lem ×2 (pack fast) and 1 more;" in stalls.note()
    stalls.reported("fast", Report())
    assert [*stalls.stalled()] == ["slow"]
    stalls.ended("slow")
    assert stalls.stalled() == {}


def test_a_worker_reports_steps_of_a_long_epoch_and_the_longest_of_them_but_not_what_precedes_the_first(
    clock: Clock,
) -> None:
    sent: list[Report] = []
    steps = StepWatch(900, sent.append)
    clock.now += 500  # data are loaded, kernels are built
    for seconds in (300, 7, 20, 20, 20):
        clock.now += seconds
        steps.after_step()
    assert [report.slowest for report in sent] == [0, 20] and all(report.is_sign for report in sent)
    clock.now += 30
    point = Point("t", 1, 1.0, 1.0, 1.0, 1.0)
    steps.report(Report([point]))
    assert sent[2:] == [Report([point], slowest=30)] and not sent[2].is_sign


def test_the_time_that_a_driver_takes_for_a_report_is_none_of_the_packs(clock: Clock) -> None:
    timer = Noted()
    seen: list[float | None] = []

    def emit(report: Report) -> None:
        seen.append(timer.seconds)
        clock.now += 4000

    steps = StepWatch(900, emit, timer)
    assert timer.seconds == 900
    steps.after_step()
    steps.report(Report(runs=[Run("a", "ok", valid=1.0)]))
    clock.now += 50
    steps.after_step()
    assert seen == [None] and (timer.seconds, timer.ended) == (1000, {"a"}), "20 steps of 50 s"


def hang(steps: StepWatch) -> None:
    for _ in range(3):
        steps.after_step()
    threading.Event().wait(60)


def test_a_hang_in_the_main_thread_is_ended_in_the_call_that_hangs(tmp_path: Path) -> None:
    began = time.monotonic()
    with stall_timer(tmp_path / "t.txt", in_driver=True) as timer:
        steps = StepWatch(0.2, lambda report: None, timer)
        with pytest.raises(StalledError, match=r"^StalledError: no step for 0\.2 s\. The worker hung in:\n") as caught:
            hang(steps)
    assert time.monotonic() - began < 5 and not (tmp_path / "t.txt").exists()
    _, first, second, third, *_ = str(caught.value).splitlines()
    assert first.startswith("  python3") and "threading.py, line " in first and first.endswith("in wait")
    assert "threading.py" in second and third.startswith("  place/test_stalls.py, line ") and third.endswith("in hang")
    assert str(tmp_path.home()) not in str(caught.value), "no path of this machine"


def test_a_timer_that_was_cleared_ends_nothing(tmp_path: Path) -> None:
    with stall_timer(tmp_path / "t.txt", in_driver=True) as timer:
        assert timer
        StepWatch(0.05, lambda report: time.sleep(0.15), timer).report(Report())
    time.sleep(0.1)


def timer_of_a_thread(file: Path, in_driver: bool) -> object:
    """Return the timer that a thread of this process is given."""

    def train() -> object:
        with stall_timer(file, in_driver=in_driver) as timer:
            return timer

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(train).result()


def test_nothing_ends_a_hang_in_a_thread_of_a_driver(tmp_path: Path) -> None:
    assert timer_of_a_thread(tmp_path / "t.txt", in_driver=True) is None and not [*tmp_path.iterdir()]


WORKER = """
import ctypes, threading, time
from pathlib import Path
from longwave.platform.records.report import Report
from longwave.platform.records.run import Run
from longwave.platform.sweeps.place.stalls import StepWatch, stall_timer

def step_for_ever():
    {hang}

def train():
    with stall_timer(Path({trace!r}), in_driver=False) as timer:
        steps = StepWatch(0.5, lambda report: None, timer)
        steps.report(Report(runs=[Run({ended!r}, "diverged", "loss nan")]))
        steps.after_step()
        {then}

thread = threading.Thread(target=train)
thread.start()
thread.join()
"""


def run_worker(trace: Path, ended: str, hang: str, then: str = "step_for_ever()") -> int:
    code = WORKER.format(trace=str(trace), ended=ended, hang=hang, then=then)
    return subprocess.run([sys.executable, "-c", code], timeout=60).returncode


@pytest.mark.integration
@pytest.mark.parametrize(
    "hang", ["time.sleep(1e6)", "while True: pass", "ctypes.PyDLL(None).sleep(1000)"], ids=["sleep", "loop", "lock"]
)
def test_a_hang_in_a_worker_ends_its_process_and_leaves_its_own_stack_even_where_it_holds_pythons_lock(
    tmp_path: Path, hang: str
) -> None:
    trace, configs = tmp_path / "stalls/pack.txt", [trial("lem", k) for k in range(3)]
    assert run_worker(trace, configs[1].id, hang) == 1
    stall = read_stall(trace)
    assert stall
    first, call, *_ = stall[0].splitlines()
    assert first == "StalledError: no step for 0.5 s. The worker hung in:" and call.endswith("in step_for_ever")
    report = failed_by_stall(configs, *stall)
    assert [(r.trial, r.status, r.reason) for r in report.runs] == [
        (configs[k].id, "failed", stall[0]) for k in (0, 2)
    ]  # fmt: skip


@pytest.mark.integration
def test_a_worker_that_does_not_hang_leaves_no_trace_and_one_that_dies_otherwise_none_that_counts(
    tmp_path: Path,
) -> None:
    assert run_worker(tmp_path / "a.txt", "t", "pass") == 0 and not [*tmp_path.iterdir()]
    assert run_worker(tmp_path / "b.txt", "t", "pass", "import os; os._exit(3)") == 3
    assert (tmp_path / "b.txt").exists() and read_stall(tmp_path / "b.txt") is None


@pytest.mark.parametrize("text", [None, "", "{", "not json\nFile"])
def test_a_trace_file_that_says_nothing_fails_nothing(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "t.txt").write_text(text)
    assert read_stall(tmp_path / "t.txt") is None


def test_a_disk_on_which_no_trace_can_be_written_stops_no_training(
    tmp_path: Path, logged: Callable[[], object]
) -> None:
    (tmp_path / "stalls").write_text("a file in the place of the folder")
    assert timer_of_a_thread(tmp_path / "stalls/t.txt", in_driver=False) is None
    assert "no stack trace can be written" in logged.getvalue()  # type: ignore[attr-defined]


def test_a_trace_file_that_was_deleted_meanwhile_stops_no_training(tmp_path: Path) -> None:
    def train() -> str:
        with stall_timer(tmp_path / "t.txt", in_driver=False):
            (tmp_path / "t.txt").unlink()
        return "over"

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(train).result() == "over"
