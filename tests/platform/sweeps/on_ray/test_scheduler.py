"""The process that drives Ray: what ended it is said in one line, and its session is as nice as the driver."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from longwave.platform.sweeps.on_ray.client import environment
from longwave.platform.sweeps.on_ray.scheduler import describe_error

AUTOGROUP = Path("/proc/self/autogroup")
PRINT_AUTOGROUPS = """
import sys
from pathlib import Path
import psutil
from longwave.platform.sweeps.on_ray.client import Client
from longwave.platform.sweeps.place.workers import Workers

client = Client(Workers(1, Path(sys.argv[1]), cpu=True))
[*client.run({"ask": "nodes", "labels": {}})]
lines = {p.pid: " ".join(p.cmdline()) for p in psutil.Process().children(recursive=True)}
for pid in ["self", *(pid for pid, line in lines.items() if "on_ray.scheduler" in line or "raylet/raylet" in line)]:
    print(Path(f"/proc/{pid}/autogroup").read_text().strip())
client.end()
"""
"""Prints the groups of a driver and of the processes that it started for Ray, each with its niceness."""

TRACE = 'Traceback (most recent call last):\n  File "x.py", line 3, in f\n    g()\nActorDiedError: The actor died.\n'


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (TRACE, "ActorDiedError: The actor died."),
        ("No node.\nAsk again.", "No node."),
        ("", "RuntimeError"),
    ],
)
def test_it_is_the_first_line_or_the_last_of_a_traceback(text: str, line: str) -> None:
    assert describe_error(RuntimeError(text)) == line


@pytest.mark.integration
@pytest.mark.skipif(not AUTOGROUP.exists(), reason="this system does not share processors among sessions")
def test_the_session_of_ray_is_as_nice_as_the_driver_that_began_it(tmp_path: Path) -> None:
    command = ["nice", "-n", "7", sys.executable, "-c", PRINT_AUTOGROUPS, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
    own, *of_ray = done.stdout.splitlines()
    assert len(of_ray) >= 2 and all(line.endswith(f" nice {os.nice(0) + 7}") for line in of_ray)
    # The driver is of this test's session, which has no group, and so no line, where no session was ever begun.
    assert own == AUTOGROUP.read_text().strip(), "the driver's own session keeps its niceness"
