"""What the compiler prints is the step, and autograd's way back: of all models."""

from __future__ import annotations

import pytest
import torch
from every_model import CASES, build
from listed import wrong


@pytest.mark.parametrize("case", CASES)
def test_the_printed_plan_of_every_model_is_its_step_and_its_derivative(case: str) -> None:
    layer = build(case, 5, dtype=torch.float64)
    given = {name: t.detach() for name, t in layer.held().items()}
    for loop, inputs in enumerate(layer.loops()):
        assert wrong(layer.recurrent(inputs), layer.loop_weights(given, loop)) < 1e-12
