"""``make gpu``, as far as it goes without a GPU: all of its parts at small sizes, in Triton's interpreter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from gpu import __main__ as gpu
from gpu import scale
from tree import PROGRAMS_PATH, ROOT

from longwave.platform.bench.report import Target

pytest.importorskip("triton", reason="Triton has no wheel for this platform")


@pytest.mark.integration
def test_all_of_it_runs_in_the_interpreter_and_misses_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-m", "gpu", str(tmp_path / "found.json")]
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": PROGRAMS_PATH}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "found.json").read_text())
    assert report["misses"] == dict.fromkeys(gpu.PARTS, [])
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
    assert gpu.examine_device(scale.small_scale(), "cpu", tmp_path / "found.json") == 1
    misses = json.loads((tmp_path / "found.json").read_text())["misses"]
    assert misses.pop("correctness") == [
        "lem, row, d=3: {'dx': (2e-05, 1e-06)}",
        "lem, graph, d=3: RuntimeError: no such kernel",
        "tau_gru, row, d=3, lags [2, 1]: {'dx': (2e-05, 1e-06)}",
        "tau_gru, graph, d=3, lags [2, 1]: RuntimeError: no such kernel",
        "tau_gru, chunks, d=3, lags [2, 1]: {'dx': (nan, 1e-06)}",
    ]
    assert misses == dict.fromkeys(("halves", "speeds", "kernels", "sweeps"), [])
    assert capsys.readouterr().out.startswith("found.json: 5 misses.\n")


def test_a_distance_is_judged_by_further_plain_loops_only_where_it_is_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In a chaotic layer one plain loop may be close to float64 by chance, so the furthest of several counts."""
    asked = []

    def measure_distance(
        case: str, schedule: str, d: int, steps: int, batch: int, draws: int = 0, device: str = "cpu"
    ) -> Any:
        asked.append((d, draws))
        return {"dx": (3e-4, 2e-4 if draws else 1e-5 if d == 60 else 2e-4)}

    monkeypatch.setattr(gpu, "far", measure_distance)
    for d in (16, 60):
        assert not gpu.too_far(gpu.far_with_lags([], "neural_oscillator", "row", d, 200, 5, "cpu"))
    assert asked == [(16, 0), (60, 0), (60, gpu.DRAWS)]


def test_a_named_part_is_measured_again_and_the_results_of_others_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "found.json"
    path.write_text(json.dumps({"halves": 1, "speeds": 2, "misses": {"halves": ["old"], "speeds": ["old"]}}))
    monkeypatch.setattr(gpu, "check_speeds", lambda *_: [3])
    assert gpu.examine_device(scale.small_scale(), "cpu", path, ["speeds"]) == 0
    report = json.loads(path.read_text())
    assert (report["halves"], report["speeds"], report["misses"]) == (1, [3], {"halves": ["old"], "speeds": []})
    assert capsys.readouterr().out == "found.json: 0 misses.\n"
    assert report["part_versions"].keys() == {"speeds"}, "the versions of what was not measured stay"
    assert gpu.main(["spedes"]) == 2
    assert capsys.readouterr().err == (
        "make gpu has no part 'spedes'. Its parts are correctness, halves, speeds, kernels, sweeps.\n"
    )


def test_a_whole_run_keeps_what_is_written_by_hand_and_the_file_if_it_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "found.json"
    by_hand = {"notes": ["a note"], "versions": {"torch": "1"}, "warps": [1]}
    path.write_text(json.dumps({**by_hand, "speeds": 2, "misses": {}}))
    monkeypatch.setattr(gpu, "PARTS", {"speeds": lambda *_: {"speeds": [3]}})
    assert gpu.examine_device(scale.small_scale(), "cpu", path) == 0
    report = json.loads(path.read_text())
    assert by_hand.items() <= report.items() and report["speeds"] == [3]
    before = path.read_text()
    monkeypatch.setattr(gpu, "PARTS", {"speeds": lambda *_: {"speeds": {(1, 2): 3}}})
    with pytest.raises(TypeError, match="keys must be str"):
        gpu.examine_device(scale.small_scale(), "cpu", path)
    assert path.read_text() == before


def test_loops_by_another_way_and_missed_targets_are_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Triton's interpreter the small plan runs by the C++ loop, which is not what was asked."""
    findings = gpu.Findings()
    monkeypatch.setattr(gpu, "judge_targets", lambda report: [Target("a ratio", 1.0, 2.0)])
    gpu.check_kernels(scale.small_scale(), findings)
    assert findings.misses[-1] == "a ratio: 1.00, the bound is 2"
    assert findings.misses[0].startswith("lem, T=2 B=1 p=1 d=3: cpu, ") and len(findings.misses) == 2


def test_what_a_gpu_is_asked_has_every_model_and_packs_of_1_to_64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    whole = scale.whole_scale()
    assert set(whole.cases) == set(scale.CASES) and set(whole.matrices) == set(scale.MATRIX_CASES)
    assert {pack.members for pack in whole.benchmark.packs} == {1, 2, 4, 8, 16, 32, 64}
    assert whole.benchmark.sizes == scale.plan_benchmark("cuda").sizes
    assert set(whole.hidden) == set(scale.SCHEDULES)
