"""Where Ray's files of this user lie: in a folder that nobody else can have made; what ends Ray's processes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from longwave.platform.sweeps.on_ray import supervisor
from longwave.platform.sweeps.on_ray.supervisor import base_folder


@pytest.fixture
def usual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The usual folder, in a temporary one that only this test has."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / f"longwave-ray-{os.getuid()}"


def test_the_usual_folder_is_private(usual: Path) -> None:
    assert base_folder() == usual == base_folder()
    assert usual.stat().st_mode & 0o777 == 0o700


def test_a_link_in_its_place_is_not_followed(usual: Path, tmp_path: Path) -> None:
    (elsewhere := tmp_path / "elsewhere").mkdir(mode=0o700)
    usual.symlink_to(elsewhere)
    assert base_folder() != usual and not any(elsewhere.iterdir())


def test_a_folder_of_another_user_is_left_alone(tmp_path: Path, usual: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: other)  # what is made here belongs to the user before
    assert base_folder() != tmp_path / f"longwave-ray-{other}"


def test_a_folder_that_others_can_read_is_left_alone(usual: Path) -> None:
    usual.mkdir(mode=0o755)
    usual.chmod(0o755)
    assert base_folder() != usual


def test_on_a_full_disk_the_supervisor_goes_on_and_ends_all_processes_with_its_driver(tmp_path: Path) -> None:
    folder = tmp_path / "base" / "ray"
    folder.mkdir(parents=True)
    (folder / "processes.partial").symlink_to("/dev/full")
    grandchild = "import subprocess; subprocess.run(['sleep', '60'])"
    life, ours = os.pipe()
    command = [sys.executable, "-P", "-m", supervisor.__name__, str(life), str(os.getpid()), str(folder)]
    with subprocess.Popen(
        [*command, sys.executable, "-c", grandchild],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        pass_fds=[life],
    ) as process:
        os.close(life)
        deadline = time.monotonic() + 60
        while len(started := psutil.Process(process.pid).children(recursive=True)) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(3 * supervisor.LOOK_SECONDS)
        assert process.poll() is None and len(started) == 2 and not (folder / "processes.json").exists()
        os.close(ours)
        assert process.wait(30) == 0
    assert not psutil.wait_procs(started, timeout=10)[1] and not folder.exists()
