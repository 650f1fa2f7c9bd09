"""The memory of tasks: all are checked first, and what is printed is theirs alone."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from longwave.platform.bench import data
from longwave.platform.bench.data import Footprint, measure_footprints
from longwave.platform.errors import ConfigError
from longwave.platform.registry import all_tasks
from longwave.platform.render.bench import print_footprints


def test_no_task_is_measured_if_one_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[str] = []
    monkeypatch.setattr(data, "_measure_footprint", measured.append)
    with pytest.raises(ConfigError, match="No task 'nosuch'"):
        measure_footprints(["adding", "nosuch"])
    task = next(t for t in all_tasks().values() if t.files and t.files.name not in data.MADE_UP)
    monkeypatch.setattr(type(task.files), "missing", lambda _: ["a file"])
    with pytest.raises(ConfigError, match=f"cannot be made up. Fetch it with: longwave data fetch {task.name}$"):
        measure_footprints(["adding", task.name])
    assert measured == []
    measure_footprints(["adding", "psmnist"])
    assert measured == ["adding", "psmnist"]


def test_a_process_that_was_killed_says_how_it_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def run_command(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, -9, "", "")

    monkeypatch.setattr(data.subprocess, "run", run_command)
    with pytest.raises(ConfigError, match="adding did not load: its process ended with status -9"):
        measure_footprints(["adding"])


def test_the_memory_of_the_interpreter_is_not_printed_as_a_tasks(capsys: pytest.CaptureFixture[str]) -> None:
    print_footprints([Footprint("adding", "1×50×100×2", "real data", 1.5, 595.8, 606.9, 612.2)], "table")
    assert capsys.readouterr().out.splitlines()[2].split()[-2:] == ["11", "16"]
