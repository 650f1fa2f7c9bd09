"""Printed C++: of steps drawn at random, and of two cells in one process."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from kernel_cases import on_cpu, text_of
from torch import Tensor
from toy_steps import Recipe, recipes, toy, weights

from longwave.models import kernels
from longwave.models.cornn import CoRNN
from longwave.models.gru import GRU
from longwave.models.kernels.cells import planned
from longwave.models.kernels.compiler.loop import Loop
from longwave.models.kernels.compiler.recorder import leaves
from longwave.models.kernels.compiler.trace import Recurrent
from longwave.models.lem import LEM
from longwave.models.lstm import LSTM


def run(of: Recurrent, w: Any, x: Tensor, state: tuple[Tensor, ...], compiled: bool) -> list[Tensor]:
    """Return outputs, last states and the gradients of weights, input and start."""
    ends = [t.requires_grad_() for t in (*leaves(w)[0], x, *state)]
    if compiled:
        loop = Loop(of, w)
        name = planned(loop.name, loop.plan).name
        given = loop.operands(leaves(w)[0], [0] * len(x) if loop.plan.looks_back else [])
        outputs, last = kernels.advance("cpu", name, given, x, state)
    else:
        u, now, seen = of.drive(x, w), state, []
        for n in range(x.shape[1]):
            now = tuple(of.step(tuple(part[:, n] for part in u), now, now[0], w))
            seen.append(now[0])
        outputs, last = torch.stack(seen, 1), now
    loss = outputs.mean() + sum((s * s).mean() for s in last)
    return [outputs, *last, *torch.autograd.grad(loss, ends, allow_unused=True, materialize_grads=True)]


@pytest.mark.integration
@settings(max_examples=12)
@given(recipes)
def test_a_compiled_loop_of_any_step_is_its_loop_in_float64(recipe: Recipe) -> None:
    on_cpu(LEM(1, 4))
    d, draw = 5, torch.Generator().manual_seed(2)
    x, *state = (torch.randn(2, *shape, generator=draw) for shape in ((6, 3, 2), (3, d), (3, d)))
    double = weights(d)
    single = type(double)(*(getattr(double, f.name).float() for f in fields(double)))
    ours = run(toy(recipe, d), single, x.clone(), tuple(s.clone() for s in state), True)
    truth = run(toy(recipe, d), double, x.double(), tuple(s.double() for s in state), False)
    for found, exact in zip(ours, truth, strict=True):
        assert (found.double() - exact).norm() <= 3e-5 * max(exact.norm().item(), 0.1), recipe


def test_each_cell_has_a_name_of_its_own_so_that_two_do_not_share_their_tables() -> None:
    layers = [LEM(1, 4), GRU(1, 4), LSTM(1, 4), LEM(1, 4, multiscale=False), CoRNN(1, 4, dt=0.1, gamma=1, epsilon=1)]
    names = [re.findall(r"struct (\w+)", text_of(layer)) for layer in layers]
    assert len({name for (name,) in names}) == len(layers)
    assert text_of(LEM(3, 7, members=2)) == text_of(LEM(1, 4, biases=4, dt=0.3))
