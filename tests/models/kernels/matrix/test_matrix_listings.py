"""A plan as text says where everything lies."""

from __future__ import annotations

from matrix_steps import STEPS

from longwave.models.kernels.matrix.listing import listing
from longwave.models.kernels.matrix.plan import plan


def test_a_selective_step_reads_its_constants_and_keeps_an_exponential() -> None:
    text = listing(plan(*STEPS["selective"]))
    forward, again, back = text.split("\n\n")
    assert forward.startswith("def forward():") and again.startswith("def again():") and back.startswith("def back():")
    assert "output = " in forward and "kept" not in forward and "output" not in again
    assert "kept[0][i] = v" in again and " = kept[0][i]" in back
    assert {f"drive_gradient[{k}]" for k in range(4)} <= {word.rstrip("[i]") + "]" for word in back.split()}
    assert "constant_gradient[0][i] = " in back and "constant_gradient[1] = " in back


def test_a_sum_over_rows_is_added_up_row_by_row() -> None:
    forward = listing(plan(*STEPS["delta rule"])).split("\n\n")[0]
    assert forward.count("    for i in rows:") == 2
    assert forward.count("+=") == 2
