"""Known faults on GPUs that need processes of their own: compilers and NVIDIA's compute-sanitizer.

``python -m gpu.processes`` runs small launches of every kind, for these processes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from typing import Any

import torch
from triton_cases import FORMS, call, results, scheduled, schedules
from triton_matrix_cases import far_model

CUDA = "cuda"
MATRICES = ("deltanet", "mamba", "s4d", "mlstm")
"""Models over matrix states that differ in their loops: outer products, diagonals, complex numbers, a normaliser."""
SANITIZERS = ("memcheck", "racecheck", "synccheck")
"""Three of NVIDIA's four: initcheck also reports unused reads, and NaN in new buffers shows used ones."""
SANITIZED = 150
"""Seconds that a sanitizer may take."""
LAUNCH = [sys.executable, "-m", "gpu.processes"]
"""This module as a program: small launches of every kind."""
PROCESSES = 8
"""Processes that compile the same kernels at once."""


def compile_into_one_cold_cache() -> dict[str, Any]:
    """Return the number of processes that compiled the same kernels concurrently into one empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "TRITON_CACHE_DIR": folder}
        running = [subprocess.Popen(LAUNCH, env=environment, stderr=subprocess.PIPE) for _ in range(PROCESSES)]
        errors = [process.communicate(timeout=300)[1] for process in running]
    broken = [error.decode()[-300:] for error, process in zip(errors, running, strict=True) if process.returncode]
    assert not broken, f"{len(broken)} of {PROCESSES} processes failed: {broken[0]}"
    return {"processes": PROCESSES}


def run_sanitizer(tool: str) -> dict[str, Any]:
    """Return the last lines of NVIDIA's compute-sanitizer on small launches of every kind."""
    command = ["compute-sanitizer", "--tool", tool, "--target-processes", "all", "--error-exitcode", "9"]
    environment = {**os.environ, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    done = subprocess.run([*command, *LAUNCH], env=environment, capture_output=True, text=True, timeout=SANITIZED)
    report = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("=========")]
    assert done.returncode == 0, f"{tool}: exit {done.returncode}: {' '.join(report[:12])} … {done.stderr[-300:]}"
    return {"said": report[-1] if report else ""}


def compile_by_another_ptxas(path: str) -> dict[str, Any]:
    """Return the worst errors with the machine code of another ptxas."""
    script = (
        "import json; from triton_cases import FORMS, far; from every_model import too_far\n"
        "found = {(c, d): far(c, 'row', d, 100, device='cuda') for c in FORMS for d in (16, 60, 128)}\n"
        "assert not any(map(too_far, found.values())), found\n"
        "print(json.dumps(max(own for errors in found.values() for own, _ in errors.values())))"
    )
    version = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[-2]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "TRITON_PTXAS_PATH": path, "TRITON_CACHE_DIR": folder}
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=300
        )
    assert done.returncode == 0, f"{version}: {done.stderr[-400:]}"
    return {"ptxas": version, "worst": float(done.stdout)}


def launch_small() -> None:
    """Launch each kind of kernel once, at sizes small enough for a sanitizer."""
    for form in FORMS:
        for schedule in schedules(form):
            with scheduled(schedule):
                results(call(form, 17, 5).to(CUDA), schedule="row" if schedule == "chunks" else schedule)
    for case in MATRICES:
        far_model(case, 5, 4, 2, CUDA)
    torch.cuda.synchronize()


if __name__ == "__main__":
    launch_small()
