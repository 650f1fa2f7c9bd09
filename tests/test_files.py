"""Files are written whole or not at all, whatever happens in between."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from longwave.files import atomic_file


def test_a_file_takes_its_place_at_the_end_and_its_partner_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with atomic_file(path) as partial:
        partial.write_text("new")
        assert path.read_text() == "old" and partial.parent == tmp_path and partial.suffix == ".txt"
    assert path.read_text() == "new" and [file.name for file in tmp_path.iterdir()] == ["a.txt"]


def test_an_error_inside_leaves_what_was_there_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(ValueError, match="half way"), atomic_file(path) as partial:
        partial.write_text("half")
        raise ValueError("half way")
    assert path.read_text() == "old" and [file.name for file in tmp_path.iterdir()] == ["a.txt"]


def test_the_content_is_on_the_disk_before_the_name_and_the_name_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    sync, move = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda number: (done.append("sync"), sync(number))[1])
    monkeypatch.setattr(os, "replace", lambda a, b: (done.append("move"), move(a, b))[1])
    with atomic_file(tmp_path / "a") as partial:
        partial.write_text("new")
    assert done == ["sync", "move", "sync"]


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_file(tmp_path / "none" / "a") as partial:
        partial.write_text("new")
    assert list(tmp_path.iterdir()) == []


def test_a_thread_that_writes_while_another_does_takes_no_part_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with ThreadPoolExecutor(1) as other, atomic_file(path, private=True) as partial:
        partial.write_text("own")
        other.submit(_write, path, "other").result()
        assert path.read_text() == "other"
    assert path.read_text() == "own" and [file.name for file in tmp_path.iterdir()] == ["a"]


def _write(path: Path, text: str) -> None:
    with atomic_file(path, private=True) as partial:
        partial.write_text(text)


def test_a_writer_that_is_killed_at_any_moment_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    program = (
        "import sys; from pathlib import Path; from longwave.files import atomic_file\n"
        "for k in range(10**6):\n"
        "    with atomic_file(Path(sys.argv[1])) as partial: partial.write_text(str(k % 10) * 100_000)\n"
        "    print(flush=True)\n"
    )
    for k in range(5):
        writer = subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE)
        assert writer.stdout
        writer.stdout.readline()
        time.sleep(0.003 * k)
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        text = path.read_text()
        assert len(text) == 100_000 and len(set(text)) == 1
