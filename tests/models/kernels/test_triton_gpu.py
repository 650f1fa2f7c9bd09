"""The Triton backend on a GPU: right at real lengths and widths, and the same to the bit in every run."""

from __future__ import annotations

import os
from unittest.mock import patch

import every_model
import pytest
import torch
from every_model import CASES, build, distances, too_far
from kernel_cases import inputs, outcome
from triton_cases import FORMS, SCHEDULES, scheduled, schedules

pytest.importorskip("triton", reason="Triton has no wheel for this platform")
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
if torch.cuda.is_available():  # read when cuBLAS starts; without it torch warns that products may differ between runs
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

STEPS = 200


@pytest.mark.parametrize(("d", "batch"), [(60, 5), (256, 130)])
@pytest.mark.parametrize("case", FORMS)
def test_values_and_all_gradients_equal_those_of_float64(case: str, d: int, batch: int) -> None:
    assert build(case, d).to("cuda").why().path == "triton"
    assert too_far(distances(case, d, STEPS, batch, device="cuda")) == {}


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 5, 130])
@pytest.mark.parametrize("d", [16, 60, 128, 256])
@pytest.mark.parametrize("case", CASES)
def test_so_they_do_for_every_model_with_every_option_at_all_sizes(case: str, d: int, batch: int) -> None:
    assert too_far(distances(case, d, STEPS, batch, device="cuda")) == {}


@pytest.mark.parametrize("lags", [[0, 7], [33, 250]])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_all_lags_are_right_by_every_schedule(schedule: str, lags: list[int]) -> None:
    with scheduled(schedule), patch.object(every_model, "TAU", lags):
        assert too_far(distances("tau_gru", 60, STEPS, device="cuda")) == {}


@pytest.mark.slow
@pytest.mark.parametrize("case", [form for form in FORMS if "graph" in schedules(form)])
@pytest.mark.parametrize("d", [16, 128])
def test_the_graph_schedule_is_right_at_widths_of_the_row_schedule(case: str, d: int) -> None:
    with scheduled("graph"):
        assert too_far(distances(case, d, STEPS, device="cuda")) == {}


@pytest.mark.parametrize("case", FORMS)
@pytest.mark.parametrize("d", [32, 256])
def test_two_runs_agree_to_the_bit(case: str, d: int) -> None:
    layer = build(case, d).to("cuda")
    x, state = inputs(layer, STEPS, 130)
    given = x.to("cuda"), tuple(s.to("cuda") for s in state)
    first, second = outcome(layer, *given), outcome(layer, *given)
    assert [key for key in first if not torch.equal(first[key], second[key])] == []
