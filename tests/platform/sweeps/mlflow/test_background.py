"""The process that mirrors a running sweep: told everything by a pipe, waited for where there is news alone."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from mirrors import fill

from longwave.platform.errors import ConfigError
from longwave.platform.storage.outbox import Outbox
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.mlflow import background
from longwave.platform.sweeps.mlflow.background import Mirror

SERVER = "http://ada:secret@127.0.0.1:9"


def lives(mirror: Mirror) -> bool:
    return mirror._process.poll() is None


def test_no_server_means_no_mirror() -> None:
    with background.mirroring(None) as mirror:
        assert mirror is None


def test_blocks_inside_one_another_share_a_mirror_which_ends_with_the_outer_one_whatever_ends_that() -> None:
    with pytest.raises(ConfigError, match="wrong"), background.mirroring(SERVER) as outer:
        with background.mirroring(SERVER) as inner, background.mirroring(None) as none:
            assert inner is outer and none is None
        assert outer and lives(outer)
        raise ConfigError("wrong")
    assert outer and not lives(outer)


def test_a_password_stands_on_no_command_line() -> None:
    with background.mirroring(SERVER) as mirror:
        assert mirror and "secret" not in " ".join(psutil.Process(mirror._process.pid).cmdline())


def test_a_sweep_without_news_does_not_wait_for_its_mirror(store: Store) -> None:
    mirror = Mirror(SERVER)
    with mirror.following(store):
        assert lives(mirror)
    assert mirror.problem == "" and mirror._process.returncode == -signal.SIGKILL


def test_a_mirror_that_died_is_told_of_with_how_far_the_copy_is(store: Store) -> None:
    fill(store, 2, 1)
    mirror = Mirror(SERVER)
    with mirror.following(store):
        mirror._process.kill()
        mirror._process.wait()
    assert mirror.problem == "The process that copies to MLflow died; 0 of 2 trials sent"


@pytest.mark.integration
def test_a_mirror_whose_driver_was_killed_sends_what_there_is_and_ends(store: Store, tmp_path: Path) -> None:
    fill(store, 2, 1)
    code = (
        "import sys, time; from longwave.platform.storage.store import Store\n"
        "from longwave.platform.sweeps.mlflow.background import Mirror\n"
        "mirror = Mirror(sys.argv[2])\n"
        "with Store(sys.argv[1]) as store, mirror.following(store):\n"
        "    print(mirror._process.pid, flush=True)\n"
        "    time.sleep(1000)"
    )
    command = [sys.executable, "-c", code, store.url, f"sqlite:///{tmp_path}/mlflow.db"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as driver:
        assert driver.stdout
        process = psutil.Process(int(driver.stdout.readline()))
        driver.kill()
        until = time.monotonic() + 120
        while process.is_running() and process.status() != psutil.STATUS_ZOMBIE and time.monotonic() < until:
            time.sleep(0.1)
        assert time.monotonic() < until and Outbox(store, f"sqlite:///{tmp_path}/mlflow.db").progress() == (2, 2)
        assert driver.stderr and driver.stderr.read() == ""
