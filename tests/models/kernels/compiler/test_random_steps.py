"""Steps drawn at random, of all that the compiler accepts: as printed plans in float64, and as compiled C++."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from kernel_cases import on_cpu
from listed import wrong
from many_cells import compile_together
from tiers import list_seeds
from torch import Tensor
from toy_steps import Recipe, draw_recipes, recipes, toy, weights

from longwave.models import kernels
from longwave.models.kernels.cells import planned
from longwave.models.kernels.compiler.loop import Loop
from longwave.models.kernels.compiler.recorder import leaves
from longwave.models.kernels.compiler.trace import Recurrent
from longwave.models.lem import LEM

D = 5


@pytest.mark.parametrize("seed", list_seeds(20, 6))
def test_the_printed_plans_of_fifteen_steps_are_the_steps_and_their_derivatives(seed: int) -> None:
    for recipe in draw_recipes(seed, 15):
        assert wrong(toy(recipe, 3), weights(3)) < 1e-9, recipe


def test_so_is_that_of_a_step_in_which_one_adjoint_waits_for_another_that_waits() -> None:
    assert wrong(toy([(22, 2, 0), (0, 0, 0), (0, 5, 0)], 3), weights(3)) < 1e-9


@pytest.mark.slow
@settings(max_examples=10_000)
@given(recipes)
def test_so_are_those_of_ten_thousand_steps(recipe: Recipe) -> None:
    assert wrong(toy(recipe, 3), weights(3)) < 1e-9


def outcome(of: Recurrent, w: Any, x: Tensor, state: tuple[Tensor, ...], compiled: bool) -> list[Tensor]:
    """Return outputs, last states and the gradients of weights, input and start."""
    ends = [t.requires_grad_() for t in (*leaves(w)[0], x, *state)]
    if compiled:
        loop = Loop(of, w)
        given = loop.operands(leaves(w)[0], [0] * len(x) if loop.plan.delayed else [])
        outputs, last = kernels.advance("cpu", loop.name, given, x, state)
    else:
        u, now, seen = of.drive(x, w), state, []
        for n in range(x.shape[1]):
            now = tuple(of.step(tuple(part[:, n] for part in u), now, now[0], w))
            seen.append(now[0])
        outputs, last = torch.stack(seen, 1), now
    loss = outputs.mean() + sum((s * s).mean() for s in last)
    return [outputs, *last, *torch.autograd.grad(loss, ends, allow_unused=True, materialize_grads=True)]


@pytest.mark.integration
def test_a_hundred_compiled_loops_are_their_plain_loops_in_float64(tmp_path: Path) -> None:
    on_cpu(LEM(1, 4))
    draw = torch.Generator().manual_seed(2)
    x, *state = (torch.randn(2, *shape, generator=draw) for shape in ((6, 3, 2), (3, D), (3, D)))
    double = weights(D)
    single = type(double)(*(getattr(double, f.name).float() for f in fields(double)))
    steps = [toy(recipe, D) for recipe in draw_recipes(100, 100)]
    loops = {loop.name: loop for loop in (Loop(of, single) for of in steps)}
    assert len(loops) == len(steps)
    compile_together([planned(name, loop.plan) for name, loop in loops.items()], tmp_path)
    for of in steps:
        ours = outcome(of, single, x.clone(), tuple(s.clone() for s in state), True)
        truth = outcome(of, double, x.double(), tuple(s.double() for s in state), False)
        for actual, exact in zip(ours, truth, strict=True):
            assert (actual.double() - exact).norm() <= 3e-5 * max(exact.norm().item(), 0.1)
