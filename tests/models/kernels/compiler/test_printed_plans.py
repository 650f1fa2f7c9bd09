"""What the compiler prints is the step, and autograd's way back: of all models, and of steps drawn at random."""

from __future__ import annotations

import pytest
import torch
from every_model import CASES, build
from hypothesis import given, settings
from listed import wrong
from toy_steps import Recipe, recipes, toy, weights


@pytest.mark.parametrize("case", CASES)
def test_the_printed_plan_of_every_model_is_its_step_and_its_derivative(case: str) -> None:
    layer = build(case, 5, dtype=torch.float64)
    given = {name: t.detach() for name, t in layer.held().items()}
    for loop, inputs in enumerate(layer.loops()):
        assert wrong(layer.recurrent(inputs), layer.loop_weights(given, loop)) < 1e-12


def test_so_it_is_of_a_step_in_which_one_adjoint_waits_for_another_that_waits() -> None:
    assert wrong(toy([(22, 2, 0), (0, 0, 0), (0, 5, 0)], 3), weights(3)) < 1e-9


@pytest.mark.integration
@settings(max_examples=200)
@given(recipes)
def test_the_printed_plan_of_any_step_is_the_step_and_its_derivative(recipe: Recipe) -> None:
    assert wrong(toy(recipe, 3), weights(3)) < 1e-9
