"""What the driver hears of packs that train elsewhere; simulated workers take the place of Ray."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from longwave.platform.records.report import Ending, Report
from longwave.platform.records.run import Point
from longwave.platform.sweeps.on_ray.client import SCHEDULER
from longwave.platform.sweeps.place.devices import Slot
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.run import executor

pytestmark = pytest.mark.usefixtures("alone")


class Sink:
    """Keeps what it gets, in order."""

    def __init__(self) -> None:
        self.events: list[tuple[object, ...]] = []

    def started(self, pack: str, slot: Slot) -> None:
        self.events.append(("started", pack, slot))

    def report(self, pack: str, report: Report) -> None:
        self.events.append(("report", pack, [point.epoch for point in report.points]))

    def ended(self, pack: str, how: Ending, why: str = "") -> None:
        self.events.append((how, pack, why))

    def show_notice(self, line: str) -> None:
        self.events.append(("notice", line))

    def flush(self) -> None: ...


class Simulated:
    """A client whose workers say the same of any work."""

    scheduler = SCHEDULER

    def __init__(self, *events: Mapping[str, Any]) -> None:
        self.events = events

    def run(self, work: Mapping[str, Any]) -> Iterator[list[Mapping[str, Any]]]:
        yield [*self.events]

    def send(self, message: Mapping[str, Any]) -> None: ...


def test_each_kind_of_event_reaches_the_sink_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report, slot = Report(points=(Point("t", 1, 0.5, 0.25, 1.0, 2.0),)), {"cpus": 2.0, "gpus": 0.0}
    events: list[Mapping[str, Any]] = [
        {"event": "notice", "line": "packs wait for a node"},
        {"event": "started", "pack": "a", "slot": slot},
        {"event": "report", "pack": "a", "session": "s", "report": report.to_dict()},
        {"event": "ended", "pack": "a", "how": "over", "why": ""},
    ]
    monkeypatch.setattr(executor, "_clients", [Simulated(*events)])
    sink = Sink()
    executor.run_packs([{}], sink, Workers(1, tmp_path))
    assert sink.events == [
        ("notice", "packs wait for a node"), ("started", "a", Slot(**slot)), ("report", "a", [1]), ("over", "a", "")
    ]  # fmt: skip


def test_a_pack_here_has_as_many_threads_as_cpus_and_this_process_keeps_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = list[int]()

    def count(*_: object) -> str:
        threads.append(torch.get_num_threads())
        return "done"

    monkeypatch.setattr(executor, "train_job", count)
    before = torch.get_num_threads()
    job: Any = None
    for cpus in (1.0, 3.0, 0.5):
        executor._train_here("a", job, Sink(), Workers(1, tmp_path, here=True, cpus=cpus))
    assert threads == [1, 3, 1] and torch.get_num_threads() == before
