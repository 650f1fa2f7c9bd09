"""The Triton backend's arithmetic, run in Triton's interpreter on the CPU, against the cells' equations in float64."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest
from tree import ROOT

from longwave.models.kernels.cells import CELLS

triton = pytest.importorskip("triton", reason="Triton has no wheel for this platform")
MATRIX_CELLS = [name for name in CELLS if name != "unicornn"]
Distances = dict[str, dict[str, float]]


def keys() -> list[str]:
    """Return the cases of every cell: both schedules or backward passes, a power of two and a padded width."""
    ways = [(name, way) for name in MATRIX_CELLS for way in ("row", "graph")]
    ways += [("unicornn", "anchored"), ("unicornn", "reversible")]
    lags = {"tau_gru": ("-0-9", "-2-3")}
    return [f"{name}-{way}-{d}{lag}" for name, way in ways for d in (16, 5) for lag in lags.get(name, ("",))]


def version(module: ModuleType) -> tuple[int, ...]:
    return tuple(map(int, module.__version__.split(".")[:2]))


@pytest.fixture(scope="module")
def distances() -> Distances:
    """Run all cases in one process of its own: Triton reads TRITON_INTERPRET when it is imported."""
    if version(triton) < (3, 7) and version(np) >= (2, 4):
        pytest.skip("the interpreter of Triton 3.6 fails with NumPy 2.4")
    command = [sys.executable, str(ROOT / "tests/support/triton_cases.py")]
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found: Distances = json.loads(done.stdout)
    return found


def assert_exact(distances: dict[str, float]) -> None:
    """Check that no tensor is further from the truth than float32's rounding in a few steps allows. NaN fails."""
    assert {name: value for name, value in distances.items() if not value < 1e-6} == {}


@pytest.mark.parametrize("key", keys())
def test_values_and_all_gradients_equal_those_of_float64(distances: Distances, key: str) -> None:
    assert set(distances[key]) == {"Y", "last", "dx", "dV", "db", "dW", "dP", "dU", "dstate", "dpast"}
    assert_exact(distances[key])


@pytest.mark.parametrize("name", MATRIX_CELLS)
@pytest.mark.parametrize("schedule", ["row", "graph"])
def test_nan_in_one_member_leaves_every_bit_of_another(distances: Distances, name: str, schedule: str) -> None:
    assert distances[f"{name}-{schedule}-NaN stays with its member"] == {"differs": 0.0}


@pytest.mark.parametrize("back", ["anchored", "reversible"])
def test_nan_in_one_oscillator_layer_leaves_every_bit_of_another(distances: Distances, back: str) -> None:
    assert distances[f"unicornn-{back}-NaN stays with its member"] == {"differs": 0.0}


def test_long_lags_are_computed_in_chunks_of_the_shortest(distances: Distances) -> None:
    assert_exact(distances["tau_gru-row-chunks-2-3"])


@pytest.mark.parametrize("name", ["unicornn", "lipschitz_rk2", "gru"])
def test_inputs_stay_and_results_share_no_memory_and_backward_can_run_twice(distances: Distances, name: str) -> None:
    assert_exact(distances[f"{name}-contract"])


@pytest.mark.parametrize("schedule", ["row", "graph"])
@pytest.mark.parametrize("part", ["last", "outputs"])
def test_either_of_the_two_adjoints_may_be_absent(distances: Distances, schedule: str, part: str) -> None:
    assert_exact(distances[f"lem-{schedule}-only {part}"])


def test_one_step_of_one_unit_is_enough(distances: Distances) -> None:
    assert_exact(distances["cornn-row-one step"])


def test_the_models_are_imported_without_triton() -> None:
    code = (
        "import sys; sys.modules['triton'] = None\n"
        "import longwave.models.kernels.cells\n"
        "from longwave.platform.registry import all_models; assert all_models()"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


@pytest.mark.parametrize(
    ("hidden", "schedule"), [(1, "row"), (60, "row"), (128, "row"), (129, "graph"), (1024, "graph")]
)
def test_the_width_decides_the_schedule_and_the_reason_says_so(hidden: int, schedule: str) -> None:
    from longwave.models.kernels.triton.run import supports

    chosen, reason = supports(CELLS["lem"], hidden)
    assert chosen == schedule
    assert str(hidden) in reason and reason.endswith(".")
    assert supports(CELLS["unicornn"], hidden)[0] == "row"
