"""The journal of each trial: what training said, as it said it, from every process that trains it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from longwave.platform.records.report import Report
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.trials import search_trials
from longwave.platform.training.checkpoint import Checkpoint
from longwave.platform.training.train import train

Tiny = Callable[..., SweepFile]


def lines(folder: Path) -> dict[str, list[dict[str, Any]]]:
    return {f.stem: [json.loads(line) for line in f.read_text().splitlines()] for f in sorted(folder.iterdir())}


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LONGWAVE_JOURNAL", str(tmp_path / "journal"))
    return tmp_path / "journal"


def test_a_journal_has_what_was_said_before_anybody_took_it(tiny: Tiny, journal: Path) -> None:
    [configs] = search_trials(resolve(tiny(models=["lem"], trials=2, epochs=3)), {})
    output = Report()

    def emit(report: Report) -> None:
        nonlocal output
        output += report
        if report.runs:
            raise OSError("nobody takes it")

    with pytest.raises(OSError, match="nobody takes it"):
        train(configs, emit)
    actual = lines(journal)
    assert actual.keys() == {c.id for c in configs}
    for trial, log in actual.items():
        assert log[0].pop("began") == 0 and len({line.pop("session") for line in log}) == 1
        points = [
            {"trial": trial, "epoch": p.epoch, "loss": p.loss, "valid": p.valid} for p in output.of([trial]).points
        ]
        (run,) = output.of([trial]).runs
        end = {"trial": trial, "end": "ok", "epochs": 3, "best_epoch": run.best_epoch, "valid": run.valid, "test": None}
        assert log[1:] == [*points, end]


def test_a_training_that_goes_on_says_what_stands_in_a_session_of_its_own(
    tiny: Tiny, journal: Path, tmp_path: Path
) -> None:
    [configs] = search_trials(resolve(tiny(models=["lem"], trials=1, epochs=3)), {})
    own, steps = Checkpoint(tmp_path / "c.safetensors"), iter(range(99))
    assert train(configs, lambda report: None, own, draining=lambda: next(steps) == 7) == "paused"
    assert train(configs, lambda report: None, own) == "over"
    (log,) = lines(journal).values()
    starts = [k for k, line in enumerate(log) if "began" in line]
    assert [log[k]["began"] for k in starts] == [0, 1] and log[0]["session"] != log[-1]["session"]
    assert log[starts[1] + 1]["epoch"] == 1, "it repeats what stands"


def test_without_the_variable_no_journal_is_kept_and_one_that_cannot_be_written_ends_nothing(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, logged: io.StringIO
) -> None:
    [configs] = search_trials(resolve(tiny(models=["lem"], trials=1, epochs=1)), {})
    monkeypatch.chdir(tmp_path)
    assert train(configs, lambda report: None) == "over" and list(tmp_path.glob("*.jsonl")) == []
    (tmp_path / "file").touch()
    monkeypatch.setenv("LONGWAVE_JOURNAL", str(tmp_path / "file"))
    assert train(configs, lambda report: None) == "over"
    assert "A journal could not be written" in logged.getvalue()
