"""What the compiler prints is the step, and autograd's backward pass: of all models."""

from __future__ import annotations

import pytest
import torch
from every_model import CASES, build
from listed import wrong


@pytest.mark.parametrize("case", CASES)
def test_the_printed_plan_of_every_model_is_its_step_and_its_derivative(case: str) -> None:
    layer = build(case, 5, dtype=torch.float64)
    given = {name: t.detach() for name, t in layer.lifted_tensors().items()}
    for loop, inputs in enumerate(layer.loops()):
        assert wrong(layer.recurrent(inputs), layer.loop_weights(given, loop)) < 1e-12


@pytest.mark.parametrize("case", ["lem", "gru", "fastgrnn", "neural_oscillator, activation sin"])
def test_for_the_backward_pass_a_loop_on_a_gpu_keeps_sums_alone(case: str) -> None:
    layer = build(case, 5)
    loop, _ = layer.loop_of(0, layer.loops()[0])
    lean, dear = ({n.op for n, at in p.backward.inputs.items() if at[0] == "kept"} for p in (loop.lean, loop.plan))
    assert lean <= {"sum", "drive"} and not dear <= {"sum", "drive"}
