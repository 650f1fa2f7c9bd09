"""A pack that runs out of memory, for real, in a process of its own with a real limit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from packs import PackRecorder, trained, trial
from tree import ROOT

from longwave.platform.training.checkpoint import Checkpoint
from longwave.platform.training.pack import Pack
from longwave.platform.training.train import out_of_memory, train

PROGRAM = """
import json, resource, sys
from pathlib import Path
from typing import Any
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


@pytest.mark.integration
def test_a_pack_out_of_memory_is_split_until_its_parts_fit(tmp_path: Path) -> None:
    assert ended(tmp_path) == [["ok", 8]] * 8
    split = ended(tmp_path, 250)
    assert [status for status, _ in split] == ["ok"] * 8
    assert all(1 <= members < 8 for _, members in split)


@pytest.mark.integration
def test_a_trial_that_does_not_fit_alone_is_recorded_with_its_reason(tmp_path: Path) -> None:
    assert ended(tmp_path, 5) == [["failed", 1]] * 8


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (torch.OutOfMemoryError("CUDA out of memory."), True),
        (MemoryError(), True),
        (RuntimeError("[enforce fail at alloc_cpu.cpp:121] DefaultCPUAllocator: can't allocate memory"), True),
        (RuntimeError("CUDA error: out of memory\nCUDA kernel errors might be reported later"), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), True),
        (RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"), True),
        (RuntimeError("CUDA error: device-side assert triggered"), False),
        (RuntimeError("CUDA error: CUBLAS_STATUS_NOT_INITIALIZED"), False),
    ],
)
def test_an_error_of_memory_is_known_by_its_type_or_its_message(error: Exception, expected: bool) -> None:
    assert out_of_memory(error) is expected


@pytest.mark.parametrize("diverges", [False, True])
def test_the_part_of_a_split_pack_that_was_left_goes_on_from_its_own_checkpoint(
    diverges: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configs = [trial(seed=seed, epochs=4) for seed in range(4)]
    if diverges:
        configs[2] = trial(seed=2, epochs=4, params={"lr": 1e30, "dt": 1.0})
    whole, real = trained(configs), Pack.train_epoch

    def run_out(self: Pack, *others: Any) -> bool:
        if self.members > 2:
            raise MemoryError
        return real(self, *others)

    monkeypatch.setattr(Pack, "train_epoch", run_out)
    checkpoint, first, steps = Checkpoint(tmp_path / "pack.safetensors"), PackRecorder(), 0

    def is_draining() -> bool:
        nonlocal steps
        steps += 1
        return steps == 5 * 4 + 5 * 2 + 2  # in the third epoch of the second half

    assert train(configs, first, checkpoint, draining=is_draining) == "paused"
    ended = {run.trial for run in first.runs}
    assert ended == {config.id for config in configs[: 3 if diverges else 2]}
    remaining, second = [config for config in configs if config.id not in ended], PackRecorder()
    assert train(remaining, second, checkpoint) == "over"
    assert second.began[0] == {config.id: 2 for config in remaining}
    for config in remaining:
        np.testing.assert_allclose(second.curve(config), whole.curve(config), rtol=1e-4)
