"""Where Ray's files of this user lie: in a folder that nobody else can have made."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

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
