"""The extent of ``gpu``'s measurements: whole on a GPU, small in Triton's interpreter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from every_model import CASES, MATRIX_CASES
from triton_cases import FORMS, SCHEDULES, schedules

from gpu import faults
from longwave.platform.bench.kernels import BenchmarkPlan, plan_benchmark
from longwave.platform.bench.sizes import EIGENWORMS, FITZHUGH, PSMNIST, PackSize, Size, recurrent_models


@dataclass(frozen=True)
class Scale:
    """The extent of the measurements.

    Attributes:
        cases: Names of ``every_model``.
        hidden: Hidden sizes by schedule.
        matrices: Names of models whose states have two axes, and their hidden sizes.
        steps, batch: Of each case.
        halves: Cases and schedules of which rows are stored in bfloat16.
        lags: Of the two members of a layer with a delay.
        faults: Of ``gpu.faults``.
        benchmark: What ``bench kernels`` measures.
        speeds: Models whose loop is timed, at which size.
        sweep: Settings of the sweeps.
    """

    cases: Sequence[str]
    hidden: dict[str, Sequence[int]]
    matrices: dict[str, Sequence[int]]
    steps: int
    batch: int
    halves: Sequence[tuple[str, str]]
    lags: Sequence[list[int]]
    faults: Mapping[str, tuple[Callable[..., dict[str, Any]], tuple[Any, ...]]]
    benchmark: BenchmarkPlan
    speeds: Mapping[str, Size]
    sweep: dict[str, Any]


def whole_scale() -> Scale:
    """Return the measurements for a GPU."""
    packs = [PackSize(2**k, FITZHUGH) for k in range(7)] + [PackSize(64, EIGENWORMS)]
    return Scale(
        tuple(CASES),
        {"row": (16, 60, 128), "graph": (16, 60, 128, 256), "chunks": (60, 128)},
        dict.fromkeys(MATRIX_CASES, (16, 60, 256)),
        200,
        5,
        tuple(
            (form, schedule)
            for form in FORMS
            for schedule in schedules(form)
            if schedule != "chunks" and form != "linoss"
        ),
        ([5, 0], [40, 65]),
        faults.list_checks(),
        replace(plan_benchmark("cuda"), packs=packs, compile=False),
        dict.fromkeys(recurrent_models(), PSMNIST) | dict.fromkeys(MATRIX_CASES, Size(1000, 32, 64, 64)),
        {"task": "fitzhugh_nagumo", "models": ["lem", "gru", "unicornn"], "trials": 8, "retrain": 2, "epochs": 5},
    )


def small_scale() -> Scale:
    """Return the measurements for the interpreter."""
    size = Size(2, 1, 1, 3)
    benchmark = plan_benchmark("cpu", ["lem"], ["2,1,1,3"], repeats=1, seconds=0.0, compile=False)
    settings = {"task": "adding", "variant": "N=2", "models": ["lem"], "trials": 2, "retrain": 1, "hidden": 3}
    return Scale(
        ("lem", "tau_gru"),
        dict.fromkeys(SCHEDULES, (3,)),
        {"deltanet": (3,)},
        3,
        1,
        (("lem", "row"),),
        ([2, 1],),
        {},
        replace(benchmark, packs=[PackSize(1, size), PackSize(2, size)]),
        {"gru": size},
        {**settings, "batch": 2, "steps": 1, "epochs": 1},
    )
