"""``longwave dashboard`` as a process: when it says that it is there, what it refuses, what it leaves behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import psutil
import pytest

from longwave.platform.cli.main import main


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def test_the_lab_says_where_it_is_once_it_listens_keeps_its_port_and_ends_with_its_process(
    tmp_path: Path,
) -> None:
    port, store = free_port(), f"sqlite:///{tmp_path}/none.db"
    command = [sys.executable, "-m", "longwave", "dashboard", "--port", str(port), "--store", store]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as lab:
        try:
            assert lab.stdout
            assert lab.stdout.readline() == f"The Lab is at http://127.0.0.1:{port}. Stop it with Ctrl-C.\n"
            with urlopen(f"http://127.0.0.1:{port}/_stcore/health") as answer:
                assert answer.read() == b"ok"
            second = subprocess.run(command, capture_output=True, text=True, timeout=30)
            said = f"longwave: --port {port} on 127.0.0.1: Address already in use. Give another: --port {port + 1}\n"
            assert (second.returncode, second.stderr) == (2, said)
            ours = psutil.Process(lab.pid).children(recursive=True)
        finally:
            lab.send_signal(signal.SIGTERM)
        lab.wait(20)
    _, alive = psutil.wait_procs(ours, timeout=20)
    assert ours and not alive and not (tmp_path / "none.db").exists()


def test_an_address_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dashboard", "--address", "example.org"]) == 2
    assert "--address is an IP address, 127.0.0.1 or 0.0.0.0, got 'example.org'." in capsys.readouterr().err


def test_a_store_that_is_damaged_is_refused_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.db").write_bytes(b"no store " * 100)
    assert main(["dashboard", "--store", f"sqlite:///{tmp_path}/s.db", "--port", str(free_port())]) == 2
    assert capsys.readouterr().err.startswith("longwave: ")
