"""``make gpu``, as far as it goes without a GPU: all of its parts at small sizes, in Triton's interpreter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import gpu
import gpu_scale
import pytest
import torch
from tree import ROOT

from longwave.platform.bench.report import Target

pytest.importorskip("triton", reason="Triton has no wheel for this platform")


@pytest.mark.integration
def test_all_of_it_runs_in_the_interpreter_and_misses_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "infra/tools/gpu.py", str(tmp_path / "found.json")]
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(ROOT / "tests/support")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "found.json").read_text())
    assert report["misses"] == []
    schedules = {tuple(line["case"].split(", ")[:2]) for line in report["cells"]}
    assert schedules == {(c, s) for c in ("lem", "tau_gru") for s in ("row", "graph", "chunks")} - {("lem", "chunks")}
    assert [line["case"] for line in report["matrices"]] == ["deltanet, d=3"]
    assert [line["model"] for line in report["speeds"]] == ["gru"]
    assert [pack["members"] for pack in report["kernels"]["packs"]] == [1, 2]
    ways = {(line["sweep"].split(",")[0], line["kernel"].split(":")[0], line["status"]) for line in report["sweeps"]}
    assert ways == {
        ("sweep in float32", "triton", "ok"),
        ("sweep in bfloat16", "triton-bfloat16", "ok"),
    }


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_gpu_it_says_so_and_ends_with_two(capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu.main([]) == 2
    assert capsys.readouterr() == ("", "make gpu needs a CUDA device, and there is none here.\n")


def test_a_miss_and_a_failure_are_told_and_end_with_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def far(case: str, schedule: str, *_: Any, **__: Any) -> dict[str, tuple[float, float]]:
        if schedule == "graph":
            raise RuntimeError("no such kernel\nmore")
        return {"outputs": (1e-7, 1e-7), "dx": (float("nan") if schedule == "chunks" else 2e-5, 1e-6)}

    monkeypatch.setattr(gpu, "far", far)
    monkeypatch.setattr(gpu, "far_model", lambda *_: {"outputs": (1e-7, 1e-7)})
    for part in ("check_halves", "check_speeds", "check_kernels", "check_sweeps"):
        monkeypatch.setattr(gpu, part, lambda *_: [])
    assert gpu.examine_device(gpu_scale.small_scale(), "cpu", tmp_path / "found.json") == 1
    misses = json.loads((tmp_path / "found.json").read_text())["misses"]
    assert misses == [
        "lem, row, d=3: {'dx': (2e-05, 1e-06)}",
        "lem, graph, d=3: RuntimeError: no such kernel",
        "tau_gru, row, d=3, lags [2, 1]: {'dx': (2e-05, 1e-06)}",
        "tau_gru, graph, d=3, lags [2, 1]: RuntimeError: no such kernel",
        "tau_gru, chunks, d=3, lags [2, 1]: {'dx': (nan, 1e-06)}",
    ]
    assert ": 3 cases, 5 misses.\n" in capsys.readouterr().out


def test_loops_by_another_way_and_missed_targets_are_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Triton's interpreter the small agenda runs by the C++ loop, which is not what was asked."""
    findings = gpu.Findings()
    monkeypatch.setattr(gpu, "judge_targets", lambda report: [Target("a ratio", 1.0, 2.0)])
    gpu.check_kernels(gpu_scale.small_scale(), findings)
    assert findings.misses[-1] == "a ratio: 1.00, the bound is 2"
    assert findings.misses[0].startswith("lem, T=2 B=1 p=1 d=3: cpu, ") and len(findings.misses) == 2


def test_what_a_gpu_is_asked_has_every_model_and_packs_of_1_to_64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    scale = gpu_scale.whole_scale()
    assert set(scale.cases) == set(gpu_scale.CASES) and set(scale.matrices) == set(gpu_scale.MATRIX_CASES)
    assert {pack.members for pack in scale.agenda.packs} == {1, 2, 4, 8, 16, 32, 64}
    assert scale.agenda.sizes == gpu_scale.plan_benchmark("cuda").sizes
    assert set(scale.hidden) == set(gpu_scale.SCHEDULES)
