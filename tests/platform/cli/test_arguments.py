"""Whatever stands on the command line ends in exit status 2 and one line, never in a traceback."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from longwave.platform.cli.main import main

COMMANDS = (
    "models", "tasks", "data fetch", "data list", "sweep plan", "sweep run", "sweep resume", "sweep status", "board",
    "compare", "budget", "reproduce", "diff", "submit", "import", "publish", "literature", "mlflow sync", "doctor",
    "start", "tasks add", "tasks remove",
)  # fmt: skip
WORDS = (
    "", "\0", "a\0b", "\udcff\udcfe", "\x1b[31m", "--", "-", "---", "--no-such", "-x", "=", "--store=", "--format",
    "xml", "--store", "postgresql://u:p@ss:x@h/d", "sqlite://", "sqlite:////", "oracle://x", "x" * 2**20, "nul",
    "../../etc/passwd", "%2e%2e", "/dev/null", "/", ".", "~", "*", "'; DROP TABLE trials; --", "[red]", "\u202e",
    "é" * 300, "1e999", "-1", "NaN", "\n", "@file", "--help=1", "$(id)", "`id`", "con.json",
)  # fmt: skip
SAMPLED = int(os.environ.get("LONGWAVE_ARGUMENTS", "150"))
"""Command lines that are tried; 10,000 take minutes."""


def lines(n: int) -> list[list[str]]:
    """Return command lines that mean nothing: a wrong word is in each."""
    draw = random.Random(16)
    made = []
    for _ in range(n):
        words = [draw.choice(WORDS) for _ in range(draw.randint(1, 4))]
        made.append([*draw.choice(COMMANDS).split(), "--wrong-option" if draw.random() < 0.7 else "\0", *words])
    return made


@pytest.mark.integration
def test_no_command_line_ends_in_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for line in lines(SAMPLED):
        assert main(line) == 2, line
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err and "\0" not in out + err and "\x1b" not in out + err
        assert len(err) < 10_000, "a long argument is not repeated"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.integration
def test_arguments_that_only_a_system_can_pass_are_refused_too(tmp_path: Path) -> None:
    for words in ([b"import", b"\xff\xfe"], [b"import", b"x" * 100_000], [b"sweep", b"run", b"\x1b]0;x\x07"]):
        done = subprocess.run([sys.executable, "-m", "longwave", *words], capture_output=True, cwd=tmp_path, timeout=60)
        assert done.returncode == 2 and done.stderr.count(b"\n") == 1 and b"Traceback" not in done.stderr
        assert b"\x1b" not in done.stderr and len(done.stderr) < 10_000


@pytest.mark.integration
def test_an_argument_that_no_path_can_be_is_refused_by_its_length(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "x" * 4097]) == 2
    assert "An argument has at most 4096 characters, got 4097: xxx" in capsys.readouterr().err
    assert main(["models", "x" * 4096]) == 2
    assert "No model" in capsys.readouterr().err
