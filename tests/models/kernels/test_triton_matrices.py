"""Triton's loops over matrix states, run in its interpreter on the CPU, against the same steps in float64."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from every_model import MATRIX_CASES, build, too_far
from matrix_steps import STEPS, delta_rule
from triton_cases import any_device
from triton_programs import Measured, interpreted, program

from longwave.models.kernels import using
from longwave.models.kernels.matrix.form import Form
from longwave.models.kernels.matrix.plan import plan
from longwave.models.kernels.matrix.sizes import CallSizes

pytestmark = pytest.mark.integration

pytest.importorskip("triton", reason="Triton has no wheel for this platform")
PROGRAM = "triton_matrix_cases.py"


@pytest.fixture(scope="module")
def actual() -> Measured:
    return interpreted(PROGRAM, "quick")


def of_steps(actual: Measured, word: str) -> Measured:
    """Return the distances of results and of gradients, by the step's name."""
    return {key.split("; ")[0]: value for key, value in actual.items() if key.endswith(f"; {word}")}


def steps_too_far(errors: Measured) -> Measured:
    """Return the pairs that are not within 1e-5; NaN is not."""
    return {key: pair for key, pair in errors.items() if not all(e <= 1e-5 for e in pair)}


def models_too_far(actual: Measured) -> Measured:
    return {key: far for key, value in actual.items() if isinstance(value, dict) and (far := too_far(value))}


@pytest.mark.parametrize("tiles", ["one tile", "tiles"])
def test_outputs_states_and_gradients_are_those_of_float64(actual: Measured, tiles: str) -> None:
    errors = of_steps(actual, tiles)
    assert set(errors) == set(STEPS)
    assert steps_too_far(errors) == {}


@pytest.mark.parametrize("read", ["outputs", "states"])
def test_so_they_are_where_outputs_or_states_alone_have_adjoints(actual: Measured, read: str) -> None:
    assert steps_too_far(of_steps(actual, read)) == {}


def test_so_they_are_of_a_model(actual: Measured) -> None:
    assert models_too_far(actual) == {}


def test_nan_in_one_member_leaves_every_bit_of_another(actual: Measured) -> None:
    assert of_steps(actual, "spread") == {"all kinds": [], "selective": []}


def test_pieces_of_a_sequence_and_a_second_backward_pass_change_no_bit_and_inputs_stay(actual: Measured) -> None:
    assert of_steps(actual, "unequal") == {"all kinds": [], "selective": []}


@pytest.mark.slow
def test_every_model_with_every_option_and_every_step_is_that_of_float64() -> None:
    full = interpreted(PROGRAM, "full")
    assert {key.split("; ")[0] for key in full} == {*STEPS, *MATRIX_CASES}
    assert models_too_far(full) == {}
    found = {word: of_steps(full, word) for word in ("spread", "unequal")}
    assert found == {word: {name: [] for name in STEPS} for word in found}
    steps = {key: pair for key, pair in full.items() if isinstance(pair, list) and key.split("; ")[1] not in found}
    assert steps_too_far(steps) == {}


def test_both_directions_compile_for_gpus(tmp_path: Path) -> None:
    counts = program(PROGRAM, "quick", TRITON_CACHE_DIR=str(tmp_path))
    assert counts == {f"{name}; sm_{gpu}": 4 for name in ("delta rule", "all kinds") for gpu in (80, 90)}


@pytest.mark.slow
def test_every_step_does(tmp_path: Path) -> None:
    assert set(program(PROGRAM, "full", TRITON_CACHE_DIR=str(tmp_path)).values()) == {4}


def test_the_way_is_triton_where_there_is_a_gpu_and_else_the_reason_is_said() -> None:
    layer = build("deltanet", 4)
    with using("triton"):
        assert str(layer.why()) == "reference: the tensors are on cpu, Triton's loops run on a GPU"
        with any_device():
            assert str(layer.why()) == "triton: the fused DeltaNet loop, Triton, a program for each tile of columns"


def test_more_rows_than_registers_hold_are_left_to_the_plain_loop() -> None:
    from longwave.models.kernels.triton.run_matrix import obstacle

    form = Form(1, 257, 16, {"S": "ij"}, {"q": "i", "k": "i", "v": "j", "beta": "", "alpha": ""})
    assert obstacle(plan(delta_rule, form), form, torch.device("cuda")) == (
        "257 rows are above 256, where the states of a step do not fit into the registers"
    )


@pytest.mark.parametrize(
    ("name", "rows", "columns", "expected"),
    [
        ("delta rule", 16, 16, (16, 16, 1)),
        ("delta rule", 1, 1, (1, 1, 1)),
        ("delta rule", 5, 33, (8, 64, 1)),
        ("delta rule", 64, 64, (64, 64, 8)),
        ("delta rule", 256, 100, (256, 16, 8)),
        ("complex diagonal", 128, 64, (128, 4, 8)),
    ],
)
def test_a_tile_has_all_rows_and_as_many_columns_as_registers_hold(
    name: str, rows: int, columns: int, expected: tuple[int, int, int]
) -> None:
    from longwave.models.kernels.triton.run_matrix import tile

    step, form = STEPS[name]
    assert tile(plan(step, form), CallSizes(1, 9, 1, 1, rows, columns)) == expected
