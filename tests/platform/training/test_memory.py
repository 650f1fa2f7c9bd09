"""A pack that runs out of memory, for real, in a process of its own with a real limit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tree import ROOT

pytestmark = pytest.mark.integration

PROGRAM = """
import json, resource, sys
from pathlib import Path
import psutil
from trials import present_trial
from longwave.platform.training.checkpoint import Checkpoint
from longwave.platform.training.train import train

def trial(seed, hidden=64):
    params = {"lr": 1e-3, "dt": 0.1}
    return present_trial("adding", "N=500", "here", "lem", {}, params, hidden, 50, 1, "search", seed, steps=1)

ends, sizes = {}, {}
def emit(report):
    for run in report.runs:
        ends[run.trial], sizes[run.trial] = run.status, run.members

train([trial(99, hidden=16)], emit)
if len(sys.argv) > 2:
    room = int(sys.argv[2]) * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (psutil.Process().memory_info().vms + room,) * 2)
configs = [trial(seed) for seed in range(8)]
train(configs, emit, Checkpoint(Path(sys.argv[1]) / "pack.safetensors"))
print(json.dumps([(ends[c.id], sizes[c.id]) for c in configs]))
"""


def ended(folder: Path, *arguments: int) -> list[list]:
    """Train eight trials with so many MiB of memory; return how each ended and in a pack of how many."""
    command = [sys.executable, "-c", PROGRAM, str(folder), *map(str, arguments)]
    paths = [os.environ.get("PYTHONPATH", ""), str(ROOT / "tests/support")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout.splitlines()[-1]))


def test_a_pack_out_of_memory_is_split_until_its_parts_fit(tmp_path: Path) -> None:
    assert ended(tmp_path) == [["ok", 8]] * 8
    split = ended(tmp_path, 250)
    assert [status for status, _ in split] == ["ok"] * 8
    assert all(1 <= members < 8 for _, members in split)


def test_a_trial_that_does_not_fit_alone_is_recorded_with_its_reason(tmp_path: Path) -> None:
    assert ended(tmp_path, 5) == [["failed", 1]] * 8
