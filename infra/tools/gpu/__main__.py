"""``make gpu``: checks correctness and speed on this GPU, and exits non-zero on any failure.

It tries the faults of ``gpu.faults`` and measures, on all cores, every cell by every schedule and every loop over
matrix states against float64; then, one at a time, ``longwave bench kernels`` with packs of 1 to 64, the loop of every
model, and short sweeps in both precisions. It rewrites ``infra/benchmarks/<gpu>.json`` after each part and keeps what
else is in it; ``part_versions`` has the versions of each part, ``versions`` those of all others. ``WORDS="kernels
sweeps"`` runs only these parts. ``python -m gpu FILE`` does the same at small sizes in Triton's interpreter, if
TRITON_INTERPRET is 1.
"""

from __future__ import annotations

import io
import itertools
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

import every_model
import torch
from every_model import MATRIX_CASES, build, too_far
from rich.console import Console
from tree import ROOT
from triton_cases import SCHEDULES, far, halved, schedules
from triton_matrix_cases import far_model

from gpu import faults
from gpu.scale import Scale, small_scale, whole_scale
from longwave.files import atomic_file
from longwave.models.kernels import using
from longwave.models.kernels.dispatch import STORED
from longwave.platform.bench.kernels import run_benchmark
from longwave.platform.bench.report import judge_targets
from longwave.platform.bench.sizes import Size, make_layer
from longwave.platform.bench.turns import fastest_turns, network_contender
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.reading import check_sweep
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.run import driver
from longwave.platform.training import environment
from longwave.tasks import adding

HALVED = 1e-2
"""Largest relative change of a gradient due to values in bfloat16."""
DRAWS = 8
"""Further runs of the plain loop, perturbed by rounding, where a chaotic layer is far from float64."""


class Findings:
    """Findings, and misses: a failure is a result like any other."""

    def __init__(self) -> None:
        self.misses: list[str] = []

    def attempt(self, case: str, run: Callable[[], Any]) -> list[Any]:
        """Return the result of ``run`` in a list; if it fails, note a miss and return an empty list."""
        print(case, file=sys.stderr)
        try:
            return [run()]
        except Exception as error:
            self.misses.append(f"{case}: {type(error).__name__}: {next(iter(str(error).splitlines()), '')}")
            return []

    def demand(self, condition: bool, case: str) -> None:
        """Note a miss unless ``condition``."""
        if not condition:
            self.misses.append(case)


@contextmanager
def workers(device: str) -> Iterator[Executor]:
    """Return a pool to run checks in parallel: one process per core if a GPU compiles and waits, else this one."""
    if device == "cpu":
        with ThreadPoolExecutor(1) as pool:
            yield pool
    else:
        with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
            yield pool


def check_correctness(scale: Scale, device: str, findings: Findings) -> dict[str, Any]:
    """Return the results of the faults, and the distance of each case from float64 by each schedule, at each size."""
    with workers(device) as pool:
        tried = {name: pool.submit(try_fault, check, *result) for name, (check, result) in scale.faults.items()}
        cells = {cell: pool.submit(*call) for cell, call in plan_cells(scale, device).items()}
        matrices = {
            f"{case}, d={d}": pool.submit(far_model, case, d, scale.steps, scale.batch, device)
            for case, widths in scale.matrices.items()
            for d in widths
        }
        results = {name: result for name, future in tried.items() for result in findings.attempt(name, future.result)}
        return {
            "faults": results,
            "cells": judge_distances(cells, findings),
            "matrices": judge_distances(matrices, findings),
        }


def try_fault(check: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """Return the result of a check of ``gpu.faults``, with new buffers full of NaN."""
    with faults.poisoned():
        return check(*arguments)


def plan_cells(scale: Scale, device: str) -> dict[str, tuple[Any, ...]]:
    """Return, by name, the call that measures each case by each schedule at each size."""
    calls: dict[str, tuple[Any, ...]] = {}
    for case, schedule in itertools.product(scale.cases, SCHEDULES):
        if schedule not in schedules(case):
            continue
        delayed = "past" in build(case, 2).state_shapes()
        for d, lags in itertools.product(scale.hidden[schedule], scale.lags if delayed else [[]]):
            if _fits_width(case, schedule, d):
                name = f"{case}, {schedule}, d={d}" + (f", lags {lags}" if lags else "")
                calls[name] = (far_with_lags, lags, case, schedule, d, scale.steps, scale.batch, device)
    return calls


def far_with_lags(
    lags: list[int], case: str, schedule: str, d: int, steps: int, batch: int, device: str
) -> dict[str, tuple[float, float]]:
    """Return the distance of a case from float64, with these lags if it has a delay.

    Where it is too large, it is compared with those of further plain loops: one may be close by chance in a chaotic
    layer.
    """
    with patch.object(every_model, "TAU", lags or every_model.TAU):
        errors = far(case, schedule, d, steps, batch, device=device)
        return far(case, schedule, d, steps, batch, DRAWS, device) if too_far(errors) else errors


def judge_distances(
    futures: Mapping[str, Future[dict[str, tuple[float, float]]]], findings: Findings
) -> list[dict[str, Any]]:
    """Return the worst distance of each; note too large ones as misses."""
    lines = []
    for name, future in futures.items():
        for errors in findings.attempt(name, future.result):
            lines.append({"case": name, "error": max(ours for ours, _ in errors.values())})
            findings.demand(not too_far(errors), f"{name}: {too_far(errors)}")
    return lines


def _fits_width(case: str, schedule: str, d: int) -> bool:
    """Return whether the schedule supports this width."""
    from longwave.models.kernels.triton.run import supports

    return schedule == "graph" or supports(build(case, 2).cell_on("triton"), d)[0] == "row"


def check_halves(scale: Scale, device: str, findings: Findings) -> list[dict[str, Any]]:
    """Return the effect of values in bfloat16."""
    lines = []
    for case, schedule in scale.halves:
        name = f"{case}, {schedule}, values in bfloat16"
        for outputs, gradients in findings.attempt(name, lambda: halved(case, schedule, device)):  # noqa: B023
            lines.append({"case": name, "outputs": outputs, "gradients": gradients})
            findings.demand(0 < gradients < HALVED, f"{name}: gradients change by {gradients:.1e}")
    return lines


def check_kernels(scale: Scale, findings: Findings) -> dict[str, Any]:
    """Return the report of ``bench kernels``."""
    report = run_benchmark(scale.benchmark, lambda words: print(words, file=sys.stderr))
    findings.misses += report.failed
    for line in report.lines:
        findings.demand(line.exact, f"{line.cell}, {line.size}: error {line.error:.1e}")
        findings.demand(line.path == "triton", f"{line.cell}, {line.size}: {line.path}, {line.reason}")
    for target in judge_targets(report):
        findings.demand(target.met, f"{target.what}: {target.ratio:.2f}, the bound is {target.bound:g}")
    return report.to_dict()


def check_speeds(scale: Scale, device: str, findings: Findings) -> list[dict[str, Any]]:
    """Return µs per step, forward and backward, of every model's loop and of its plain one."""
    lines = []
    for case, size in scale.speeds.items():
        for best in findings.attempt(f"timing {case}, {size}", lambda: _time_model(case, size, device)):  # noqa: B023
            lines.append({"model": case, "size": str(size), **best})
    return lines


def _time_model(case: str, size: Size, device: str) -> dict[str, Any]:
    """Return the times of our loop, and of the plain loop over the same steps."""
    layer = (
        build(case, size.hidden, size.inputs, None)
        if case in MATRIX_CASES
        else make_layer(case, size, torch.device(device))
    )
    layer, x = layer.to(device), torch.randn(size.shape, device=device)
    best = fastest_turns({"ours": network_contender(layer, x)}, 3, 0.3)
    with using("reference"):
        best |= fastest_turns({"plain": network_contender(layer, x)}, 3, 0.0)
    return {"why": str(layer.why()), **best}


def check_sweeps(scale: Scale, findings: Findings) -> list[dict[str, Any]]:
    """Return the outcomes of a short sweep's trials, in each precision of Triton's loops."""
    lines = []
    for precision, path in STORED.items():
        settings = {**scale.sweep, "precision": precision}
        for runs in findings.attempt(f"sweep in {precision}", lambda: _run_sweep(settings)):  # noqa: B023
            for model, run in runs:
                name, kernel = f"sweep in {precision}, {model} {run.trial}", run.environment["kernel"]
                lines.append({"sweep": name, "status": run.status, "seconds": run.seconds, "kernel": kernel})
                findings.demand(run.status == "ok", f"{name}: {run.status}, {run.reason}")
                right = kernel.startswith(f"{path}: ") and run.environment.get("precision") == precision
                findings.demand(right, f"{name}: ran by {kernel}, in {run.environment.get('precision')}")
    return lines


def _run_sweep(settings: dict[str, Any]) -> list[Any]:
    """Return model and run of each trial of a sweep, run in this process."""
    with tempfile.TemporaryDirectory() as folder:
        file = check_sweep({"name": "gpu", **settings}, "gpu.toml")
        with Store(f"sqlite:///{folder}/store.db") as store:
            driver.start_sweep(file, store, Workers(1, Path(folder), here=True), None, Console(file=io.StringIO()))
            return [(t.config.model, t.run) for t in store.trials_by_id([a.id for a in store.planned("gpu")])]


Part = Callable[[Scale, str, Findings], dict[str, Any]]
PARTS: Mapping[str, Part] = {
    "correctness": lambda scale, device, findings: check_correctness(scale, device, findings),
    "halves": lambda scale, device, findings: {"halves": check_halves(scale, device, findings)},
    "speeds": lambda scale, device, findings: {"speeds": check_speeds(scale, device, findings)},
    "kernels": lambda scale, _, findings: {"kernels": check_kernels(scale, findings)},
    "sweeps": lambda scale, _, findings: {"sweeps": check_sweeps(scale, findings)},
}


def examine_device(scale: Scale, device: str, path: Path, names: Collection[str] = ()) -> int:
    """Run the parts of these names, by default all, and rewrite their results and misses after each one.

    Return 1 if one of them has a miss, else 0.
    """
    report: dict[str, Any] = {"versions": environment.describe(), "part_versions": {}, "misses": {}}
    report |= json.loads(path.read_text()) if path.exists() else {}
    for name in names or PARTS:
        findings = Findings()
        report |= PARTS[name](scale, device, findings)
        report["misses"][name] = findings.misses
        report["part_versions"][name] = environment.describe()
        with atomic_file(path) as partial:
            partial.write_text(json.dumps(report, indent=2, default=str) + "\n")
    misses = [miss for name in names or PARTS for miss in report["misses"][name]]
    print("\n".join([f"{path.name}: {len(misses)} misses.", *misses]))
    return 1 if misses else 0


def main(arguments: Sequence[str]) -> int:
    """Measure; return 1 if a check failed, or 2 if there is no GPU or no part of a name."""
    if arguments and os.environ.get("TRITON_INTERPRET") == "1":
        with using("triton"), patch.object(adding, "HELD_OUT", 4):
            return examine_device(small_scale(), "cpu", Path(arguments[0]))
    if unknown := [name for name in arguments if name not in PARTS]:
        print(f"make gpu has no part {unknown[0]!r}. Its parts are {', '.join(PARTS)}.", file=sys.stderr)
        return 2
    if torch.cuda.is_available():
        name = re.sub(r"[^a-z0-9]+", "-", torch.cuda.get_device_name().lower()).strip("-")
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # reproducible matrix products
        return examine_device(whole_scale(), "cuda", ROOT / f"infra/benchmarks/{name}.json", arguments)
    print("make gpu needs a CUDA device, and there is none here.", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
