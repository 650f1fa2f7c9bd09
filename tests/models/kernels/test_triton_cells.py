"""The Triton backend's arithmetic, run in Triton's interpreter on the CPU, against the models' loops in float64."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch
from every_model import CASES, build
from toy_steps import toy, weights
from tree import ROOT
from triton_cases import FORMS
from triton_programs import Measured, interpreted, program

from longwave.models.kernels.cells import find, planned
from longwave.models.kernels.compiler.loop import Loop

pytestmark = pytest.mark.integration

pytest.importorskip("triton", reason="Triton has no wheel for this platform")


@pytest.fixture(scope="module")
def actual() -> Measured:
    return interpreted("triton_cases.py", "quick")


def too_far(actual: Measured) -> Measured:
    """Return the tensors further from float64 than a few roundings, and than three times the float32 loop. NaN is."""
    tensors = {f"{key}: {name}": pair for key, pairs in actual.items() if ";" in key for name, pair in pairs.items()}
    return {name: (own, plain) for name, (own, plain) in tensors.items() if not own <= max(1e-6, 3 * plain)}


def only(actual: Measured, kind: type, word: str = "") -> Measured:
    return {key: value for key, value in actual.items() if isinstance(value, kind) and word in key}


def test_values_and_all_gradients_are_those_of_float64_by_all_schedules(actual: Measured) -> None:
    whole = only(actual, dict)
    schedules = {(case, way) for case in FORMS for way in ("row", "graph")}
    schedules -= {("unicornn", "graph"), ("linoss", "graph")}
    assert {tuple(key.split("; ")[:2]) for key in whole} == schedules | {(c, "chunks") for c in FORMS if "tau" in c}
    assert too_far(whole) == {}


@pytest.mark.slow
def test_so_they_are_for_every_model_with_every_option_at_all_widths() -> None:
    full = interpreted("triton_cases.py", "full")
    whole = only(full, dict)
    assert {key.split("; ")[0] for key in whole} == set(CASES)
    assert too_far(whole) == {}
    assert {key: value for key, value in only(full, list, "spread").items() if value} == {}
    assert {key: value for key, value in only(full, float).items() if not value < 1e-6} == {}


def test_every_operation_of_the_compiler_is_that_of_torch(actual: Measured) -> None:
    toys = only(actual, float, "toy")
    assert len(toys) == 10
    assert {key: value for key, value in toys.items() if not value < 1e-6} == {}


def test_nan_in_one_member_leaves_every_bit_of_another(actual: Measured) -> None:
    assert {key: value for key, value in only(actual, list, "spread").items() if value} == {}


def test_rows_in_bfloat16_change_outputs_as_their_drives_do_and_gradients_little(actual: Measured) -> None:
    halves = only(actual, list, "halved")
    assert len(halves) == 3
    for key, (outputs, gradients) in halves.items():
        assert outputs <= (1e-3 if "tau" in key else 0.0), key  # delayed products are rounded into the drive
        assert 1e-5 < gradients < 1e-2, key


@pytest.mark.parametrize(("hidden", "by_hand"), [(1, False), (2, True)])
def test_unicornns_own_kernel_is_left_where_one_unit_makes_its_vectors_scalars(hidden: int, by_hand: bool) -> None:
    assert (build("unicornn", hidden).cell_on("triton") is find("unicornn")) == by_hand


def test_either_of_the_two_adjoints_may_be_absent(actual: Measured) -> None:
    assert {key: value for key, value in only(actual, float, "linear").items() if not value < 1e-6} == {}


def test_both_backward_passes_of_unicornn_agree(actual: Measured) -> None:
    assert actual["unicornn; reversible"] < 1e-6


@pytest.mark.slow
def test_both_directions_of_every_schedule_of_every_case_compile_for_a_gpu(tmp_path: Path) -> None:
    assert all(count >= 2 for count in program("triton_cases.py", "full", TRITON_CACHE_DIR=str(tmp_path)).values())


def test_the_models_are_imported_without_triton() -> None:
    code = (
        "import sys; sys.modules['triton'] = None\n"
        "import longwave.models.kernels.cells\n"
        "from longwave.platform.registry import all_models; assert all_models()"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


@pytest.mark.parametrize(
    ("case", "hidden", "schedule"),
    [("lem", 1, "row"), ("lem", 60, "row"), ("lem", 128, "row"), ("lem", 129, "graph"), ("lem", 1024, "graph")]
    + [("indrnn", 1024, "row"), ("unicornn", 1024, "row")],
)
def test_the_width_decides_the_schedule_and_the_reason_says_so(case: str, hidden: int, schedule: str) -> None:
    from longwave.models.kernels.triton.run import supports

    chosen, reason = supports(build(case, 4).cell_on("triton"), hidden)
    assert chosen == schedule
    assert (str(hidden) in reason or reason.startswith("No matrix")) and reason.endswith(".")


def test_more_matrices_than_registers_hold_go_by_the_graph() -> None:
    from dataclasses import replace

    from longwave.models.kernels.triton.run import supports

    many = replace(build("lem", 4).cell_on("triton"), matrices=tuple("12345"))
    assert supports(many, 64)[0] == "row"
    assert supports(many, 128) == ("graph", "5 matrices of 128² numbers do not fit into registers.")


def test_a_step_that_uses_delayed_outputs_unit_by_unit_is_refused_with_the_reason() -> None:
    from longwave.models.kernels.triton.run import obstacle

    actual = []
    for first in (4, 0):  # σ of the delayed output, or of a state
        loop = Loop(toy([(0, 0, 0), (0, 1, 0), (0, first, 0)], 4), weights(4, dtype=torch.float32))
        actual.append(obstacle(planned(loop.lean_name, loop.lean), 4, torch.device("cpu")))
    assert actual == [
        "the step uses delayed outputs outside its products, which Triton's loops do not support",
        "the tensors are on cpu, Triton's loops run on a GPU",
    ]


def test_no_block_of_the_graph_schedule_loads_what_it_has_stored() -> None:
    """On an H200 such a load was early: another thread had not stored yet. The interpreter has one thread."""
    from longwave.models.kernels.triton.printer import StoredBlock, active

    early = []
    for case in CASES:
        plan = build(case, 4).cell_on("triton").plan
        for way, blocks in (("forward", plan.forward.blocks), ("back", plan.backward.blocks)) if plan else ():
            for k in active(blocks):
                stored: set[str] = set()
                for line in StoredBlock(plan, way, k).body():
                    early += [f"{case}: {line}" for place in re.findall(r"tl\.load\((.*?),", line) if place in stored]
                    stored |= set(re.findall(r"tl\.store\((.*?),", line))
    assert early == []


def test_each_thread_has_buffers_of_its_own_for_the_graph_schedule() -> None:
    from longwave.models.kernels.triton import graph
    from longwave.models.kernels.triton.printed import printed

    plan, device, buffers = build("gru", 4).cell_on("triton").plan, torch.device("cpu"), list[object]()

    def take() -> None:
        buffers.append(graph._loop(graph._Loop, printed(plan), 1, 2, 4, device, graph._thread_and_stream(device)))

    take()
    take()
    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    assert buffers[0] is buffers[1] and buffers[2] is not buffers[0]


def test_no_cell_but_unicornn_s_is_written_by_hand() -> None:
    ours = {case: build(case, 4).cell_on("triton") for case in CASES}
    assert {case.split(",")[0] for case, cell in ours.items() if cell.plan is None} <= {"unicornn", "residual_unicornn"}
    assert all(find(cell.name) is cell for cell in ours.values())
