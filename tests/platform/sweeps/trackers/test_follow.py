"""What a tracker is handed of a sweep: each epoch and each end once, whatever is killed, and of no other sweep."""

from __future__ import annotations

import json
import statistics
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tracked import attempt, ended, fill, points

from longwave.platform.errors import ConfigError, StoreError
from longwave.platform.storage.exclusive import exclusively
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.trackers.follow import follow_sweep, send_sweep
from longwave.platform.sweeps.trackers.tracker import TrackerError, TrackerName

OpenStore = Callable[[str], Store]
RECORDER = """
import json
from pathlib import Path

from longwave.platform.sweeps.trackers.tracker import LoggedTrial, Tracker

FILE = Path(__file__).with_suffix(".jsonl")


class Recorder(Tracker):
    def begin_sweep(self, sweep):
        lines = [json.loads(line) for line in FILE.read_text().splitlines()] if FILE.exists() else []
        there = {}
        for kind, trial, value in lines:
            old = there.get(trial, LoggedTrial())
            if kind in ("epoch", "end"):
                there[trial] = LoggedTrial(value[0], "") if kind == "epoch" else LoggedTrial(old.epoch, value[0])
        self.write("sweep", sweep.name, [sweep.began, list(sweep.cells)])
        return there

    def log_epochs(self, trial, points):
        for point in points:
            self.write("epoch", trial.id, [point.epoch, point.loss, point.valid])

    def end_trial(self, trial):
        self.write("end", trial.id, [trial.run.status, trial.began, trial.ended, trial.params, trial.tags])

    def end_cell(self, cell):
        self.write("cell", cell.name, [dict(cell.measures), cell.verdict])

    def end_sweep(self, over):
        self.write("over", "", [over])

    def write(self, *line):
        with FILE.open("a") as file:
            file.write(json.dumps(line) + "\\n")


TRACKER = Recorder
"""


@pytest.fixture
def recorder(tmp_path: Path) -> TrackerName:
    """A tracker that writes down what it is handed."""
    (tmp_path / "recorder.py").write_text(RECORDER)
    return TrackerName(str(tmp_path / "recorder.py"))


def handed(tracker: TrackerName, kind: str) -> list[tuple[str, Any]]:
    lines = [json.loads(line) for line in Path(tracker.name).with_suffix(".jsonl").read_text().splitlines()]
    return [(name, value) for what, name, value in lines if what == kind]


def test_each_epoch_and_each_end_is_handed_once_in_order_and_sending_again_hands_nothing(
    store: Store, tmp_path: Path, recorder: TrackerName
) -> None:
    configs = fill(store, 3, 4)
    assert [send_sweep(store, "filled", tmp_path, recorder) for _ in range(2)] == [3, 0]
    epochs = handed(recorder, "epoch")
    assert sorted(epochs) == sorted((c.id, [p.epoch, p.loss, p.valid]) for c in configs for p in points(c))
    assert [value[0] for name, value in epochs if name == configs[0].id] == [1, 2, 3, 4]
    assert sorted(name for name, _ in handed(recorder, "end")) == [c.id for c in configs]
    assert handed(recorder, "over") == [("", [True])] * 2


def test_a_trial_begins_before_it_ends_and_says_nothing_of_what_it_has_not(
    store: Store, tmp_path: Path, recorder: TrackerName
) -> None:
    [config] = fill(store, 1, 4)
    first = points(config)[0]
    attempt(store, config, 1, 0, 4, 0.0, over=True)
    send_sweep(store, "filled", tmp_path, recorder)
    [(_, [status, began, end, params, tags])] = handed(recorder, "end")
    assert status == "ok" and began == first.at - first.seconds == 1.7e9 + 0.5 and end > began
    assert params == {"lr": 0.01, "dt": 0.5, "hidden": 8, "batch": 32, "epochs": 4, "optimiser": "adam",
                      "schedule": config.schedule, "seed": 1, "precision": "float32"}  # fmt: skip
    assert {name: tags[name] for name in ("sweep", "cell", "phase", "model", "task", "trial", "row")} == {
        "sweep": "filled", "cell": "lem", "phase": "retrain", "model": "lem", "task": "adding", "trial": config.id,
        "row": config.row,
    }  # fmt: skip


def test_of_two_sweeps_only_the_one_that_was_asked_for_is_sent(
    store: Store, tmp_path: Path, recorder: TrackerName
) -> None:
    both = fill(store, 3, 2, "large"), fill(store, 1, 2, "small", seed=9)
    assert send_sweep(store, "small", tmp_path, recorder) == 1
    assert {name for name, _ in handed(recorder, "epoch")} == {both[1][0].id}
    with pytest.raises(ConfigError, match="No sweep 'smal'. Did you mean small"):
        send_sweep(store, "smal", tmp_path, recorder)


def test_a_trial_that_goes_on_from_a_checkpoint_hands_on_only_epochs_that_were_not_sent(
    store: Store, tmp_path: Path, recorder: TrackerName
) -> None:
    [config, other] = fill(store, 2, 4)
    attempt(store, config, 1, 0, 3, 0.0, over=False)
    assert send_sweep(store, "filled", tmp_path, recorder) == 2 and handed(recorder, "over") == [("", [False])]
    attempt(store, config, 2, 1, 4, 0.5, over=True)  # epochs 2 and 3 once more, at other times
    assert send_sweep(store, "filled", tmp_path, recorder) == 1
    assert [value[0] for name, value in handed(recorder, "epoch") if name == config.id] == [1, 2, 3, 4]


def test_a_cell_has_mean_deviation_and_median_over_its_seeds_where_a_diverged_one_counts_as_worst(
    store: Store, tmp_path: Path, recorder: TrackerName
) -> None:
    configs = fill(store, 4, 2)
    tests = [float(k) for k in (3, 1, 2)]
    diverged = replace(ended(configs[3]).run, status="diverged", reason="the loss is nan", test=None)  # type: ignore[type-var]
    runs = [replace(ended(c).run, test=test) for c, test in zip(configs, tests, strict=False)]  # type: ignore[type-var]
    for config in configs:
        attempt(store, config, 1, 0, 2, 0.0, over=False)
    store.write([], [*runs, diverged])
    send_sweep(store, "filled", tmp_path, recorder)
    [(name, [measures, verdict])] = handed(recorder, "cell")
    want = {"test/mse_mean": 2.0, "test/mse_std": statistics.stdev(tests), "test/mse_median": 2.5}
    assert name == "lem" and measures == pytest.approx(want) and "—" not in verdict


def test_a_tracker_that_fails_is_one_line_without_a_password_and_gets_all_of_it_later(
    store: Store, tmp_path: Path, recorder: TrackerName
) -> None:
    fill(store, 2, 2)
    file = Path(recorder.name)
    file.write_text(RECORDER.replace("def end_trial(self, trial):", "def end_trial(self, trial):\n        1 / 0"))
    with pytest.raises(TrackerError, match="recorder.py did not accept results: division by zero"):
        send_sweep(store, "filled", tmp_path, recorder)
    file.write_text(
        RECORDER.replace(
            "def end_cell(self, cell):", 'def end_cell(self, cell):\n        raise OSError(f"{self.name.address}\\n2")'
        )
    )
    with pytest.raises(TrackerError) as caught:
        send_sweep(store, "filled", tmp_path, recorder._replace(address="http://me:s3cret@host"))
    assert (
        "http://***@host" in str(caught.value) and "s3cret" not in str(caught.value) and "\n" not in str(caught.value)
    )
    file.write_text(RECORDER)
    send_sweep(store, "filled", tmp_path, recorder)
    assert len(handed(recorder, "epoch")) == 4 and len(handed(recorder, "end")) == 2 and handed(recorder, "cell")


def test_what_is_new_is_sent_at_each_interval_and_a_tracker_that_failed_is_tried_again(
    store: Store, tmp_path: Path, recorder: TrackerName
) -> None:
    fill(store, 2, 2)
    Path(recorder.name).write_text("broken = ")
    over, problems = threading.Event(), list[str]()

    def follow() -> None:
        with Store(store.url, create=False) as own:
            problems.append(follow_sweep(own, "filled", tmp_path, recorder, 0.01, over))

    thread = threading.Thread(target=follow)
    thread.start()
    Path(recorder.name).write_text(RECORDER)
    while not Path(recorder.name).with_suffix(".jsonl").exists() or len(handed(recorder, "end")) < 2:
        over.wait(0.01)
    assert handed(recorder, "over") == []
    over.set()
    thread.join()
    assert problems == [""] and handed(recorder, "over") == [("", [True])]


@pytest.mark.parametrize("any_store_url", ["sqlite", "postgresql"], indirect=True)
def test_one_process_at_a_time_does_a_thing_with_a_store(any_store_url: str, open_store: OpenStore) -> None:
    one, two = open_store(any_store_url), open_store(any_store_url)
    with exclusively(one, "sending demo to W&B") as check:
        check()
        with (
            pytest.raises(StoreError, match="Another process is sending demo to W&B"),
            exclusively(two, "sending demo to W&B"),
        ):
            pass
        with exclusively(two, "sending demo to MLflow"):
            pass
    with exclusively(two, "sending demo to W&B", wait=10.0):  # PostgreSQL ends a session a moment after its client
        pass


@pytest.mark.parametrize("any_store_url", ["postgresql"], indirect=True)
def test_a_lock_that_the_database_refuses_is_not_blamed_on_another_process(
    any_store_url: str, open_store: OpenStore
) -> None:
    one, two = open_store(any_store_url), open_store(f"{any_store_url}&options=-c%20statement_timeout%3D300")
    with (
        exclusively(one, "sending demo to W&B"),
        pytest.raises(StoreError, match="cannot be used: .*statement timeout"),
        exclusively(two, "sending demo to W&B", wait=10.0),
    ):
        pass
