"""The process beside a running sweep: told everything by a pipe, waited for where there is news alone."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from tracked import attempt, fill

from longwave.platform.errors import ConfigError
from longwave.platform.paths import mlflow_server
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.trackers import background
from longwave.platform.sweeps.trackers.background import Background
from longwave.platform.sweeps.trackers.tracker import TrackerName

SERVER = TrackerName("mlflow", "http://ada:secret@127.0.0.1:9")
LINES = """
from pathlib import Path
from longwave.platform.sweeps.trackers.tracker import Tracker


class Lines(Tracker):
    def end_trial(self, trial):
        print("not for the driver")
        with Path(__file__).with_suffix(".txt").open("a") as file:
            file.write(trial.name + "\\n")


TRACKER = Lines
"""


@pytest.fixture
def own(tmp_path: Path) -> TrackerName:
    """A tracker of one file."""
    (tmp_path / "lines.py").write_text(LINES)
    return TrackerName(str(tmp_path / "lines.py"))


def lives(tracker: Background) -> bool:
    return tracker._process.poll() is None


def train_again(store: Store) -> None:
    """Let something be new in a store of ended trials."""
    [config, *_] = [trial.config for trial in store.trials("filled")]
    attempt(store, config, 1, 0, 1, 0.5, over=False)


def test_no_trackers_are_no_processes() -> None:
    for none in (None, []):
        with background.tracking(none) as trackers:
            assert trackers == []


def test_blocks_inside_one_another_share_trackers_which_end_with_the_outer_one_whatever_ends_that() -> None:
    with pytest.raises(ConfigError, match="wrong"), background.tracking([SERVER]) as outer:
        with background.tracking([SERVER]) as inner, background.tracking(None) as none:
            assert inner is outer and none == []
        assert lives(outer[0])
        raise ConfigError("wrong")
    assert not lives(outer[0])


def test_a_password_stands_on_no_command_line() -> None:
    with background.tracking([SERVER]) as [tracker]:
        assert "secret" not in " ".join(psutil.Process(tracker._process.pid).cmdline())


def test_a_sweep_without_news_waits_for_the_server_that_was_named_for_this_run(store: Store, tmp_path: Path) -> None:
    fill(store, 1, 1)
    tracker = Background(SERVER)
    with tracker.following(store, "filled", tmp_path):
        tracker._process.kill()
    assert "Nothing is lost; send it later with: longwave mlflow sync filled --server" in tracker.problem


def test_a_sweep_without_news_does_not_wait_for_the_usual_server(store: Store, tmp_path: Path) -> None:
    fill(store, 1, 1)
    tracker = Background(TrackerName("mlflow", mlflow_server(None)))
    with tracker.following(store, "filled", tmp_path):
        assert lives(tracker)
    assert tracker.problem == "" and tracker._process.returncode == -signal.SIGKILL


@pytest.mark.integration
def test_trackers_of_one_file_get_a_sweep_that_is_over_and_may_print(
    store: Store, tmp_path: Path, own: TrackerName
) -> None:
    configs = fill(store, 2, 1)
    tracker = Background(own)
    with tracker.following(store, "filled", tmp_path):
        pass
    assert tracker.problem == ""
    assert sorted((tmp_path / "lines.txt").read_text().split("\n")) == [
        "",
        *(f"lem retrain {c.id[:6]}" for c in configs),
    ]


@pytest.mark.parametrize("before", [False, True])
def test_a_tracker_that_died_is_said_with_what_to_do_even_if_no_trial_ended(
    store: Store, tmp_path: Path, before: bool
) -> None:
    [config, _] = fill(store, 2, 3)
    if before:
        attempt(store, config, 1, 0, 1, 0.5, over=False)
    tracker = Background(SERVER)
    with tracker.following(store, "filled", tmp_path):
        tracker._process.kill()
        tracker._process.wait()
        attempt(store, config, 2, 1, 2, 0.5, over=False)
    assert tracker.problem == (
        "The process that sends results to MLflow at http://***@127.0.0.1:9 died. Nothing is lost; send it later with: "
        f"longwave mlflow sync filled --server http://***@127.0.0.1:9 --store {store.url}"
    )


def test_a_server_that_hangs_is_left_behind_at_the_end(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "LAST_SECONDS", 0.2)
    fill(store, 1, 2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(1)
        start = time.monotonic()
        late = Background(TrackerName("mlflow", f"http://127.0.0.1:{silent.getsockname()[1]}"))
        with late.following(store, "filled", tmp_path):
            train_again(store)
        assert "was too slow to accept all results" in late.problem and time.monotonic() - start < 5


@pytest.mark.integration
def test_a_file_of_the_working_directory_hides_no_library_from_a_tracker(
    store: Store, tmp_path: Path, own: TrackerName, monkeypatch: pytest.MonkeyPatch
) -> None:
    [config] = fill(store, 1, 1)
    (tmp_path / "statistics.py").write_text("raise SystemExit('not the standard library')")
    monkeypatch.chdir(tmp_path)
    tracker = Background(own)
    with tracker.following(store, "filled", tmp_path):
        pass
    assert (tracker.problem, (tmp_path / "lines.txt").read_text()) == ("", f"lem retrain {config.id[:6]}\n")


@pytest.mark.integration
def test_another_tracker_than_mlflow_is_sent_the_rest_by_resuming(store: Store, tmp_path: Path) -> None:
    fill(store, 1, 1)
    tracker = Background(TrackerName("gone.py"))
    with tracker.following(store, "filled", tmp_path):
        pass
    assert tracker.problem == (
        "There is no tracker gone.py. Give a Python file that binds TRACKER. Nothing is lost; send it later with: "
        f"longwave sweep resume filled --tracker gone.py --store {store.url}"
    )


@pytest.mark.integration
def test_a_tracker_whose_driver_was_killed_sends_what_there_is_and_ends(
    store: Store, tmp_path: Path, own: TrackerName
) -> None:
    fill(store, 2, 1)
    code = (
        "import sys, time; from longwave.platform.storage.store import Store\n"
        "from longwave.platform.sweeps.trackers.background import Background\n"
        "from longwave.platform.sweeps.trackers.tracker import TrackerName\n"
        "tracker = Background(TrackerName(sys.argv[2]))\n"
        "with Store(sys.argv[1]) as store, tracker.following(store, 'filled', 'nowhere'):\n"
        "    print(tracker._process.pid, flush=True)\n"
        "    time.sleep(1000)"
    )
    command = [sys.executable, "-c", code, store.url, own.name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as driver:
        assert driver.stdout
        process = psutil.Process(int(driver.stdout.readline()))
        driver.kill()
        until = time.monotonic() + 120
        while process.is_running() and process.status() != psutil.STATUS_ZOMBIE and time.monotonic() < until:
            time.sleep(0.1)
        assert time.monotonic() < until and len((tmp_path / "lines.txt").read_text().split("\n")) == 2 + 1
        assert driver.stderr and driver.stderr.read() == "not for the driver\n" * 2


@pytest.mark.integration
def test_a_tracker_that_cannot_be_made_is_said_in_one_line(
    store: Store, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.py").write_text(LINES.replace("class Lines", "raise OSError('no room')\n\n\nclass Lines"))
    fill(store, 1, 1)
    tracker = Background(TrackerName(str(tmp_path / "broken.py")))
    with tracker.following(store, "filled", tmp_path):
        train_again(store)
    assert "no room" in tracker.problem and "\n" not in tracker.problem and capfd.readouterr().err == ""
