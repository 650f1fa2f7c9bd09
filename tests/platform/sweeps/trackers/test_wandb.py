"""W&B: what a sweep leaves in the files of its offline mode, read as W&B writes them; and the contract without it."""

from __future__ import annotations

import json
import struct
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tracked import attempt, fill, points, record_failure

from longwave.platform.records.run import Status
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.trackers.follow import follow_sweep, send_sweep
from longwave.platform.sweeps.trackers.tracker import TrackerError, TrackerName, load_tracker

WANDB = TrackerName("wandb")
BLOCK = 32768
"""Bytes of a block of W&B's files, which are logs of LevelDB; a record is one of its messages."""


class FakeRun:
    """A run as W&B has it: a step is taken once, and ``fails`` names a method that raises."""

    def __init__(self, **options: Any) -> None:
        self.options, self.steps, self.summary, self.exit_code = options, dict[int, Any](), dict[str, Any](), None
        self.fails, self.is_open = "", True

    def log(self, measures: dict[str, float], step: int) -> None:
        assert step not in self.steps
        if self.fails == "log" and step == 3:
            raise OSError("no answer")
        self.steps[step] = measures

    def finish(self, exit_code: int = 0) -> None:
        self.is_open = False
        if self.fails == "finish":
            raise OSError("no answer")
        self.exit_code = exit_code  # type: ignore[assignment]


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[FakeRun]:
    """The runs that are made by a W&B that is none."""
    runs: list[FakeRun] = []

    def init(**options: Any) -> FakeRun:
        if any(run.is_open and run.options["id"] == options["id"] for run in runs):
            raise RuntimeError(f"run ID {options['id']} is in use")
        runs.append(FakeRun(**options))
        return runs[-1]

    fake = SimpleNamespace(init=init, Settings=lambda **_: None, __spec__=SimpleNamespace())
    monkeypatch.setitem(sys.modules, "wandb", fake)  # type: ignore[arg-type]
    monkeypatch.setenv("WANDB_DIR", str(tmp_path / "wandb"))
    return runs


def test_a_trial_is_a_run_whose_steps_are_epochs_in_the_group_of_its_cell(
    store: Store, tmp_path: Path, begun: list[FakeRun]
) -> None:
    configs = fill(store, 2, 3)
    assert send_sweep(store, "filled", tmp_path, WANDB) == 2
    *trials, cell = begun
    by_id = {run.options["id"].partition("-")[2]: run for run in trials}
    for config in configs:
        run = by_id[config.id]
        assert run.steps == {p.epoch: {"train/loss": p.loss, "valid/mse": p.valid} for p in points(config)}
        assert run.summary["test/mse"] == 3 / 3 + 0 and run.summary["status"] == "ok" and run.exit_code == 0
        assert run.options["group"] == "filled lem" and run.options["job_type"] == "retrain"
        assert run.options["config"]["lr"] == 0.01 and run.options["config"]["sweep"] == "filled"
    assert cell.summary["test/mse_mean"] == 1.0 and cell.options["job_type"] == "cell"
    assert send_sweep(store, "filled", tmp_path, WANDB) == 0 and len(begun) == 3


def test_a_trial_that_goes_on_is_the_same_run_and_takes_each_epoch_once(
    store: Store, tmp_path: Path, begun: list[FakeRun]
) -> None:
    [config] = fill(store, 1, 4)
    attempt(store, config, 1, 0, 3, 0.0, over=False)
    send_sweep(store, "filled", tmp_path, WANDB)
    attempt(store, config, 2, 1, 4, 0.5, over=True)
    send_sweep(store, "filled", tmp_path, WANDB)
    first, second, _ = begun
    assert first.options["id"] == second.options["id"] and second.options["resume"] == "allow"
    assert [*first.steps] == [1, 2, 3] and [*second.steps] == [4]


def test_a_failed_trial_that_is_tried_again_and_ends_well_loses_its_reason(
    store: Store, tmp_path: Path, begun: list[FakeRun]
) -> None:
    [config] = fill(store, 1, 4)
    record_failure(store, config, "out of memory")
    send_sweep(store, "filled", tmp_path, WANDB)
    attempt(store, config, 2, 0, 4, 0.0, over=True)
    send_sweep(store, "filled", tmp_path, WANDB)
    failed, *_, again = [run for run in begun if run.options["job_type"] == "retrain"]
    assert failed.options["id"] == again.options["id"]
    assert (failed.summary["status"], failed.summary["reason"]) == ("failed", "out of memory")
    assert (again.summary["status"], again.summary["reason"]) == ("ok", "")


@pytest.mark.parametrize(("status", "exit_code"), [("failed", 1), ("diverged", 1), ("stopped", 0)])
def test_a_trial_that_failed_or_diverged_is_a_failed_run_and_a_stopped_one_is_not(
    store: Store, tmp_path: Path, begun: list[FakeRun], status: Status, exit_code: int
) -> None:
    [config] = fill(store, 1, 4)
    record_failure(store, config, "it did", status)
    send_sweep(store, "filled", tmp_path, WANDB)
    assert [run.exit_code for run in begun if run.options["job_type"] == "retrain"] == [exit_code]


def test_a_failed_retraining_that_is_tried_again_and_ends_well_changes_the_mean_of_its_cell(
    store: Store, tmp_path: Path, begun: list[FakeRun]
) -> None:
    [config, _] = fill(store, 2, 4)
    record_failure(store, config, "out of memory")
    send_sweep(store, "filled", tmp_path, WANDB)
    attempt(store, config, 2, 0, 4, 0.0, over=True)
    send_sweep(store, "filled", tmp_path, WANDB)
    first, second = [run.summary for run in begun if run.options["job_type"] == "cell"]
    assert "test/mse_std" not in first and "test/mse_std" in second


def test_a_failed_trial_that_is_tried_again_under_the_same_driver_loses_its_reason_too(
    store: Store, tmp_path: Path, begun: list[FakeRun]
) -> None:
    [config] = fill(store, 1, 4)
    record_failure(store, config, "out of memory")
    over, deadline = threading.Event(), time.monotonic() + 60
    thread = threading.Thread(target=follow_sweep, args=(store, "filled", tmp_path, WANDB, 0.02, over))
    thread.start()
    while not (begun and begun[0].exit_code == 1) and time.monotonic() < deadline:
        time.sleep(0.01)
    attempt(store, config, 2, 0, 4, 0.0, over=True)
    over.set()
    thread.join()
    first, *_, again = [run for run in begun if run.options["job_type"] == "retrain"]
    assert (first.summary["reason"], again.summary["status"], again.summary["reason"]) == ("out of memory", "ok", "")


@pytest.mark.parametrize(("fails", "sent_again"), [("log", [3]), ("finish", [1, 2, 3])])
def test_a_run_that_failed_is_opened_again_and_gets_every_epoch_that_w_and_b_did_not_confirm(
    store: Store,
    tmp_path: Path,
    begun: list[FakeRun],
    monkeypatch: pytest.MonkeyPatch,
    fails: str,
    sent_again: list[int],
) -> None:
    fill(store, 1, 3)
    init = sys.modules["wandb"].init

    def init_failing(**options: Any) -> FakeRun:
        run: FakeRun = init(**options)
        run.fails = fails
        return run

    monkeypatch.setattr(sys.modules["wandb"], "init", init_failing)
    with pytest.raises(TrackerError, match="W&B did not accept results: no answer"):
        send_sweep(store, "filled", tmp_path, WANDB)
    monkeypatch.setattr(sys.modules["wandb"], "init", init)
    assert send_sweep(store, "filled", tmp_path, WANDB) == 1
    failed, again, _ = begun
    assert not failed.is_open and again.options["id"] == failed.options["id"]
    assert [*again.steps] == sent_again and again.exit_code == 0 and again.summary["test/mse"] == 1.0


def records(file: Path) -> Iterator[Any]:
    """Yield the messages of a run's file."""
    from wandb.proto import wandb_internal_pb2

    content, at, message = file.read_bytes(), 7, b""
    while at + 7 <= len(content):
        if (left := BLOCK - at % BLOCK) < 7:
            at += left
            continue
        _, length, kind = struct.unpack("<IHB", content[at : at + 7])
        message += content[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # whole, or the last part
            record = wandb_internal_pb2.Record()
            record.ParseFromString(message)
            message = b""
            yield record


@pytest.mark.integration
@pytest.mark.filterwarnings("ignore")  # W&B's own
def test_what_a_sweep_leaves_in_the_offline_files_is_what_the_store_has(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("wandb", reason="W&B is an extra: pip install 'longwave[wandb]'")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    load_tracker(WANDB).load()
    configs = fill(store, 2, 3)
    assert [send_sweep(store, "filled", tmp_path, WANDB) for _ in range(2)] == [2, 0]
    assert len(list(tmp_path.glob("wandb/offline-run-*"))) == 3
    for config in configs:
        [file] = tmp_path.glob(f"wandb/offline-run-*-{config.id}/*.wandb")
        found = [*records(file)]
        steps = [
            {item.nested_key[0]: json.loads(item.value_json) for item in r.history.item}
            for r in found
            if r.history.item
        ]
        assert [(s["_step"], s["train/loss"], s["valid/mse"]) for s in steps] == [
            (p.epoch, p.loss, p.valid) for p in points(config)
        ]
        [run] = [r.run for r in found if r.run.run_id]
        assert (run.run_group, run.job_type, run.project) == ("filled lem", "retrain", "longwave")
        summary = {u.key: json.loads(u.value_json) for r in found for u in r.summary.update if u.key}
        assert summary["test/mse"] == 1.0 and summary["status"] == "ok"


@pytest.mark.parametrize("kept", range(1, 30, 4))
def test_a_note_that_was_cut_short_spoils_no_other_and_its_epochs_are_sent_again(
    store: Store, tmp_path: Path, begun: list[FakeRun], kept: int
) -> None:
    configs = fill(store, 1, 3)
    send_sweep(store, "filled", tmp_path, WANDB)
    [notes] = tmp_path.rglob("longwave-*.jsonl")
    notes.write_text(notes.read_text()[:kept])
    begun.clear()
    send_sweep(store, "filled", tmp_path, WANDB)
    [run] = [run for run in begun if configs[0].id in run.options["id"]]
    assert max(run.steps) == 3 and run.exit_code == 0
    begun.clear()
    assert send_sweep(store, "filled", tmp_path, WANDB) == 0
