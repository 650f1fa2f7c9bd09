"""Is everything right on this GPU, and how fast is it? ``make gpu`` asks, and ends non-zero on any miss.

``make gpu`` measures every cell by every schedule, and every loop over matrix states, against float64, then
``longwave bench kernels`` with packs of 1 to 64, then short sweeps in both precisions, and writes
``infra/benchmarks/<gpu>.json``.
``gpu.py FILE`` does the same at small sizes in Triton's interpreter, where TRITON_INTERPRET is 1.
"""

from __future__ import annotations

import io
import itertools
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import every_model
import torch
from every_model import CASES, MATRIX_CASES, build, too_far
from rich.console import Console
from tree import ROOT
from triton_cases import FORMS, SCHEDULES, far, halved
from triton_matrix_cases import far_model

from longwave.models.kernels import using
from longwave.models.kernels.dispatch import STORED
from longwave.platform.bench.kernels import Agenda, plan_benchmark, run_benchmark
from longwave.platform.bench.report import judge_targets
from longwave.platform.bench.sizes import EIGENWORMS, FITZHUGH, PackSize, Size
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import check_sweep
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.run import driver
from longwave.platform.training import environment
from longwave.tasks import adding

HALVED = 1e-2
"""Largest relative change of a gradient by rows in bfloat16."""


@dataclass(frozen=True)
class Scale:
    """How much is measured.

    Attributes:
        cases: Names of ``every_model``.
        hidden: Hidden sizes by schedule.
        matrices: Names of models whose states have two axes, and their hidden sizes.
        steps, batch: Of each case.
        halves: Cases and schedules of which rows are stored in bfloat16.
        lags: Of the two members of a layer that looks back.
        agenda: What ``bench kernels`` measures.
        sweep: Settings of the sweeps.
    """

    cases: Sequence[str]
    hidden: dict[str, Sequence[int]]
    matrices: dict[str, Sequence[int]]
    steps: int
    batch: int
    halves: Sequence[tuple[str, str]]
    lags: Sequence[list[int]]
    agenda: Agenda
    sweep: dict[str, Any]


def whole_scale() -> Scale:
    """Return what a GPU is asked."""
    packs = [PackSize(2**k, FITZHUGH) for k in range(7)] + [PackSize(64, EIGENWORMS)]
    return Scale(
        tuple(CASES),
        {"row": (16, 60, 128), "graph": (16, 60, 128, 256), "chunks": (60, 128)},
        dict.fromkeys(MATRIX_CASES, (16, 60, 256)),
        200,
        5,
        tuple(itertools.product(FORMS, ("row", "graph"))),
        ([5, 0], [40, 65]),
        replace(plan_benchmark("cuda"), packs=packs),
        {"task": "fitzhugh_nagumo", "models": ["lem", "gru", "unicornn"], "trials": 8, "retrain": 2, "epochs": 5},
    )


def small_scale() -> Scale:
    """Return what the interpreter is asked."""
    size = Size(2, 1, 1, 3)
    agenda = plan_benchmark("cpu", ["lem"], ["2,1,1,3"], repeats=1, seconds=0.0, compile=False)
    settings = {"task": "adding", "variant": "N=2", "models": ["lem"], "trials": 2, "retrain": 1, "hidden": 3}
    return Scale(
        ("lem", "tau_gru"),
        dict.fromkeys(SCHEDULES, (3,)),
        {"deltanet": (3,)},
        3,
        1,
        (("lem", "row"),),
        ([2, 1],),
        replace(agenda, packs=[PackSize(1, size), PackSize(2, size)]),
        {**settings, "batch": 2, "steps": 1, "epochs": 1},
    )


class Findings:
    """What was found, and what was missed: a failure is a result like any other."""

    def __init__(self) -> None:
        self.misses: list[str] = []

    def attempt(self, what: str, run: Callable[[], Any]) -> list[Any]:
        """Return what ``run`` returns, in a list; an empty one, and a miss, if it fails."""
        print(what, file=sys.stderr)
        try:
            return [run()]
        except Exception as error:
            self.misses.append(f"{what}: {type(error).__name__}: {next(iter(str(error).splitlines()), '')}")
            return []

    def demand(self, true: bool, what: str) -> None:
        """Note a miss unless ``true``."""
        if not true:
            self.misses.append(what)


def check_cells(scale: Scale, device: str, findings: Findings) -> list[dict[str, Any]]:
    """Return how far each case is from float64 by each schedule, at each size."""
    lines = []
    for case, schedule in itertools.product(scale.cases, SCHEDULES):
        delayed = "past" in build(case, 2).state_shapes()
        if schedule == "chunks" and not delayed:
            continue
        for d, lags in itertools.product(scale.hidden[schedule], scale.lags if delayed else [[]]):
            if not _fits_width(case, schedule, d):
                continue
            what = f"{case}, {schedule}, d={d}" + (f", lags {lags}" if lags else "")
            with patch.object(every_model, "TAU", lags or every_model.TAU):
                run = lambda: far(case, schedule, d, scale.steps, scale.batch, device=device)  # noqa: B023, E731
                for errors in findings.attempt(what, run):
                    lines.append({"case": what, "error": max(own for own, _ in errors.values())})
                    findings.demand(not too_far(errors), f"{what}: {too_far(errors)}")
    return lines


def check_matrices(scale: Scale, device: str, findings: Findings) -> list[dict[str, Any]]:
    """Return how far each loop over matrix states is from float64, at each size."""
    lines = []
    for case, d in ((case, d) for case, widths in scale.matrices.items() for d in widths):
        run = lambda: far_model(case, d, scale.steps, scale.batch, device)  # noqa: B023, E731
        for errors in findings.attempt(f"{case}, d={d}", run):
            lines.append({"case": f"{case}, d={d}", "error": max(own for own, _ in errors.values())})
            findings.demand(not too_far(errors), f"{case}, d={d}: {too_far(errors)}")
    return lines


def _fits_width(case: str, schedule: str, d: int) -> bool:
    """Return whether the schedule is one for this width."""
    from longwave.models.kernels.triton.run import supports

    return schedule == "graph" or supports(build(case, 2).cell_on("triton"), d)[0] == "row"


def check_halves(scale: Scale, device: str, findings: Findings) -> list[dict[str, Any]]:
    """Return what rows in bfloat16 change."""
    lines = []
    for case, schedule in scale.halves:
        what = f"{case}, {schedule}, rows in bfloat16"
        for outputs, gradients in findings.attempt(what, lambda: halved(case, schedule, device)):  # noqa: B023
            lines.append({"case": what, "outputs": outputs, "gradients": gradients})
            findings.demand(0 < gradients < HALVED, f"{what}: gradients change by {gradients:.1e}")
    return lines


def check_kernels(scale: Scale, findings: Findings) -> dict[str, Any]:
    """Return the report of ``bench kernels``."""
    report = run_benchmark(scale.agenda, lambda words: print(words, file=sys.stderr))
    findings.misses += report.failed
    for line in report.lines:
        findings.demand(line.exact, f"{line.cell}, {line.size}: error {line.error:.1e}")
        findings.demand(line.path == "triton", f"{line.cell}, {line.size}: {line.path}, {line.reason}")
    for target in judge_targets(report):
        findings.demand(target.met, f"{target.what}: {target.ratio:.2f}, asked {target.bound:g}")
    return report.to_dict()


def check_sweeps(scale: Scale, findings: Findings) -> list[dict[str, Any]]:
    """Return how the trials of a short sweep ended, in each precision that Triton's loops have."""
    lines = []
    for precision, path in STORED.items():
        settings = {**scale.sweep, "precision": precision}
        for runs in findings.attempt(f"sweep in {precision}", lambda: _run_sweep(settings)):  # noqa: B023
            for model, run in runs:
                what, way = f"sweep in {precision}, {model} {run.trial}", run.environment["kernel"]
                lines.append({"sweep": what, "status": run.status, "seconds": run.seconds, "kernel": way})
                findings.demand(run.status == "ok", f"{what}: {run.status}, {run.reason}")
                right = way.startswith(f"{path}: ") and run.environment["precision"] == precision
                findings.demand(right, f"{what}: ran by {way}, in {run.environment['precision']}")
    return lines


def _run_sweep(settings: dict[str, Any]) -> list[Any]:
    """Return model and run of each trial of a sweep, run in this process."""
    with tempfile.TemporaryDirectory() as folder:
        file = check_sweep({"name": "gpu", **settings}, "gpu.toml")
        with Store(f"sqlite:///{folder}/store.db") as store:
            driver.start_sweep(file, store, Workers(1, Path(folder), here=True), None, Console(file=io.StringIO()))
            return [(t.config.model, t.run) for t in store.trials_by_id([a.id for a in store.planned("gpu")])]


def examine_device(scale: Scale, device: str) -> dict[str, Any]:
    """Return all that was found, and the misses."""
    findings = Findings()
    parts = {
        "cells": check_cells(scale, device, findings),
        "matrices": check_matrices(scale, device, findings),
        "halves": check_halves(scale, device, findings),
        "kernels": check_kernels(scale, findings),
        "sweeps": check_sweeps(scale, findings),
    }
    return {"versions": environment.describe(), **parts, "misses": findings.misses}


def write_report(report: dict[str, Any], path: Path) -> int:
    """Write the file and print the misses; return 1 if there are any."""
    path.write_text(json.dumps(report, indent=2, default=str) + "\n")
    print("\n".join([f"{path.name}: {len(report['cells'])} cases, {len(report['misses'])} misses.", *report["misses"]]))
    return 1 if report["misses"] else 0


def main(arguments: Sequence[str]) -> int:
    """Measure; return as ``told`` does, or 2 if there is no GPU."""
    if arguments and os.environ.get("TRITON_INTERPRET") == "1":
        with using("triton"), patch.object(adding, "HELD_OUT", 4):
            return write_report(examine_device(small_scale(), "cpu"), Path(arguments[0]))
    if torch.cuda.is_available():
        name = re.sub(r"[^a-z0-9]+", "-", torch.cuda.get_device_name().lower()).strip("-")
        return write_report(examine_device(whole_scale(), "cuda"), ROOT / f"infra/benchmarks/{name}.json")
    print("make gpu needs a CUDA device, and there is none here.", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
