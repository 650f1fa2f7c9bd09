"""The Triton backend on a GPU: right at real lengths and widths, and the same to the bit in every run."""

from __future__ import annotations

import os
from typing import Any

import pytest
import torch
from triton_cases import distance, fused, make

from longwave.models.kernels.cells import CELLS

pytest.importorskip("triton", reason="Triton has no wheel for this platform")
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
if torch.cuda.is_available():  # read when cuBLAS starts; without it torch warns that products may differ between runs
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

STEPS = 200
LAGS = {"tau_gru": [(0, 7), (40, 65), (33, 250)]}


def cases() -> list[Any]:
    return [
        pytest.param(name, d, batch, lags, id="-".join(map(str, (name, d, batch, *lags))))
        for name in CELLS
        for d in (16, 32, 60, 64, 128, 256)
        for batch in (1, 5, 130)
        for lags in LAGS.get(name, [()])
    ]


@pytest.mark.parametrize("name, d, batch, lags", cases())
def test_values_and_all_gradients_equal_those_of_float64(name: str, d: int, batch: int, lags: tuple[int, ...]) -> None:
    found = distance(make(name, STEPS, batch, d, lags=lags), device="cuda")
    assert {key: value for key, value in found.items() if not value < 1e-5} == {}


@pytest.mark.parametrize("name", [name for name in CELLS if name != "unicornn"])
@pytest.mark.parametrize("d", [16, 128])
def test_the_graph_schedule_is_right_at_widths_of_the_row_schedule(name: str, d: int) -> None:
    lags = (0, 40) if name == "tau_gru" else ()
    found = distance(make(name, STEPS, 5, d, lags=lags), device="cuda", schedule="graph")
    assert {key: value for key, value in found.items() if not value < 1e-5} == {}


@pytest.mark.parametrize("reversible", [False, True])
def test_both_backward_passes_of_unicornn_are_right(reversible: bool) -> None:
    found = distance(make("unicornn", STEPS, 130, 128), device="cuda", reversible=reversible)
    assert {key: value for key, value in found.items() if not value < 1e-5} == {}


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("d", [32, 128, 256])
def test_two_runs_agree_to_the_bit(name: str, d: int) -> None:
    case = make(name, STEPS, 130, d, lags=(3, 40) if name == "tau_gru" else ())
    first, second = fused(case, device="cuda"), fused(case, device="cuda")
    assert [key for key in first if not torch.equal(first[key], second[key])] == []


@pytest.mark.parametrize("d", [32, 256])
def test_nan_in_one_member_leaves_every_bit_of_another(d: int) -> None:
    case = make("lem", STEPS, 5, d)
    clean = fused(case, device="cuda")
    case.tensors["W"][1] = float("nan")
    broken = fused(case, device="cuda")
    assert broken["Y"][1].isnan().all()
    assert torch.equal(clean["Y"][0], broken["Y"][0])
    assert torch.equal(clean["dW"][0], broken["dW"][0])
