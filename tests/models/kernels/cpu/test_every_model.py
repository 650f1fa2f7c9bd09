"""Every model of the library, with every option, runs the compiled loop on a CPU, and it is right."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import pytest
import torch
from every_model import CASES, MATRIX_CASES, build, distances, too_far
from kernel_cases import inputs, on_cpu, outcome
from tiers import mark_long
from tree import ROOT

from longwave.models.kernels import using
from longwave.models.kernels.cpu import run

CHAOS = 0.1
"""Relative error of a float32 loop whose result says nothing any more."""

EVERY = (*CASES, *MATRIX_CASES)
SHORT = ("deltanet", "mamba")
"""Loops over matrix states that are compiled in every run of the tests."""
COMPILED = mark_long(
    {case: (case,) for case in EVERY}, *(case for case in EVERY if ", " in case or case in {*MATRIX_CASES} - {*SHORT})
)
"""Those of other choices than the defaults, and most over matrix states, take the compiler minutes together."""


@pytest.mark.parametrize("case", COMPILED)
def test_values_and_all_gradients_are_those_of_float64(case: str) -> None:
    on_cpu(build(case, 20))
    for d, steps in ((20, 33), (1, 2)):
        assert too_far(distances(case, d, steps)) == {}


@pytest.mark.parametrize("case", ["lem", "tau_gru", "lstm", "cornn", "indrnn", "unicornn"])
def test_so_they_are_of_several_blocks_of_rows_and_of_many_chunks_of_steps(case: str) -> None:
    layer = build(case, 20)
    on_cpu(layer)
    steps, batch = 150, 33
    assert run.blocked(batch, 20)[1] == 2 and run.chunk(layer.cell_on("cpu"), steps, batch, 20) < steps / 2
    assert too_far(distances(case, 20, steps, batch)) == {}


@pytest.mark.parametrize("p", [16, 37])
def test_so_they_are_of_more_features_than_a_vector_has_lanes(p: int) -> None:
    on_cpu(build("lem", 5, p))
    assert too_far(distances("lem", 5, 7, p=p)) == {}


@pytest.mark.parametrize("case", COMPILED)
def test_no_model_of_the_library_takes_the_reference_in_float32(case: str) -> None:
    on_cpu(build("lem", 4))
    assert build(case, 4).why().path == "cpu"


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 7, 16, 60, 128])
@pytest.mark.parametrize("steps", [1, 2, 63, 1000])
@pytest.mark.parametrize("case", EVERY)
def test_so_they_are_at_all_sizes(case: str, steps: int, d: int) -> None:
    on_cpu(build(case, d))
    # Over 1000 steps an undamped oscillator amplifies each rounding, and a gradient that is one number can cancel: one
    # run's error is a matter of luck. The bound is what several float32 loops reach whose inputs and weights differ by
    # a rounding, or that sum in another order.
    actual = distances(case, d, steps, batch=5, draws=4)
    # A chaotic one keeps no digit, in float32 by any order; there the shorter sequences are the test.
    assert too_far({name: both for name, both in actual.items() if both[1] < CHAOS}) == {}


@pytest.mark.parametrize("case", COMPILED)
def test_scoring_goes_on_from_chunk_to_chunk(case: str) -> None:
    layer = build(case, 16)
    on_cpu(layer)
    x, state = inputs(layer, 1100, 3)  # a chunk has 1024 steps at most, and of 33 rows far fewer
    with torch.no_grad():
        whole, last = layer(x, state)
        with using("reference"):
            truth, _ = layer(x[:, :20], state)
    assert torch.allclose(whole[:, :20], truth, atol=1e-4)
    tracked = outcome(layer, x, state)
    assert torch.equal(whole, tracked["outputs"])
    assert all(torch.equal(s, tracked[f"last {name}"]) for name, s in zip(layer.state_shapes(), last, strict=True))


@pytest.mark.parametrize("poison", [float("nan"), float("inf")])
@pytest.mark.parametrize("case", COMPILED)
def test_a_member_that_is_not_finite_does_not_touch_its_neighbour(case: str, poison: float) -> None:
    layer = build(case, 18)
    on_cpu(layer)
    x, state = inputs(layer, 12, 5)
    whole = outcome(layer, x, state)
    x[1, 4, 2] = poison
    spoiled = outcome(layer, x, state)
    for name, value in whole.items():
        assert torch.equal(spoiled[name][0], value[0]), name
    if case.startswith("lrcssm") and math.isinf(poison):  # its synapses squash the inputs: this one is only large
        return
    assert not spoiled["outputs"][1].isfinite().all()


@pytest.mark.integration
def test_garbage_in_fresh_memory_reaches_no_result() -> None:
    """glibc fills what it hands out with 0xFE, a number near -2e38, in a process of its own."""
    on_cpu(build("lem", 5))
    code = (
        "from every_model import *\n"
        "actual = {case: too_far(distances(case, 5, 9)) for case in (*CASES, *MATRIX_CASES)}\n"
        "assert not any(actual.values()), actual\n"
    )
    env = {**os.environ, "MALLOC_PERTURB_": "1", "PYTHONPATH": str(ROOT / "tests/support")}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
