"""Where zeros in the padding rest, they do in every step: a plan that says so gives zeros of zeros, both ways."""

from __future__ import annotations

import pytest
import torch
from listed import FUNCTIONS, Homes
from torch import Tensor, tanh
from toy_steps import draw_recipes, toy, weights

from longwave.models.base.algebra import affine
from longwave.models.kernels.compiler.listing import listing
from longwave.models.kernels.compiler.loop import Loop
from longwave.models.kernels.compiler.padding import rests
from longwave.models.kernels.compiler.plan import Plan
from longwave.models.kernels.compiler.trace import Recurrent

D = 4


def of_zeros(plan: Plan) -> list[Tensor]:
    """Return all that a step leaves of rows, vectors, matrices and adjoints of zeros, whatever the numbers."""
    space = dict(FUNCTIONS)
    exec(listing(plan), space)
    zero, draw = torch.zeros(1, 1, D, dtype=torch.float64), torch.Generator().manual_seed(0)
    W, U = [torch.zeros(1, D, D, dtype=torch.float64) for _ in plan.matrices], [zero for _ in plan.vecs]
    P = [torch.randn(1, 1, 1, generator=draw, dtype=torch.float64) for _ in plan.nums]
    states, kept, slots = [zero] * plan.states, [zero] * max(plan.kept, 1), [zero] * max(plan.slots, 1)
    before, after, adjoint, sums, units, ring = map(Homes, (states, states, states, [zero] * 9, [zero] * 9, [zero]))
    rows, slot = Homes(kept), Homes(slots)
    late = ([zero],) if plan.delayed else ()
    space["forward"](before, after, rows, W, P, U, *late)
    space["back"](before, after, rows, adjoint, slot, sums, units, W, P, U, *late, *((ring,) if late else ()))
    outside = [slot[k] for _, (array, k) in plan.backward.targets if array == "slot"]  # others are the step's own
    return [*after, *adjoint, *outside, *sums, *units, *ring]


@pytest.mark.parametrize("seed", range(8))
def test_zeros_stay_zeros_in_every_step_that_says_so(seed: int) -> None:
    plans = [Loop(toy(recipe[:3], D), weights(D)).plan for recipe in draw_recipes(seed, 20)]
    resting = [plan for plan in plans if rests(plan)]
    assert len(resting) > 2
    for plan in resting:
        assert not any(t.any() for t in of_zeros(plan)), listing(plan)


STEPS = {
    "tanh": (lambda y, u, w: tanh(y + u), True),
    "a product with a number": (lambda y, u, w: w.c * y + u, True),
    "division by a number": (lambda y, u, w: y / w.c + u, True),
    "a choice between zeros": (lambda y, u, w: torch.where(y > 0, y, -y) + u, True),
    "zero times what is not": (lambda y, u, w: torch.sigmoid(y) * tanh(u), True),
    "a number": (lambda y, u, w: y + u + w.c, False),
    "a constant": (lambda y, u, w: y + u - 0.5, False),
    "a choice of a number": (lambda y, u, w: torch.where(y > 0, y, 1.0) + u, False),
    "sigmoid": (lambda y, u, w: torch.sigmoid(y + u), False),
    "cos": (lambda y, u, w: torch.cos(y + u), False),
    "softplus": (lambda y, u, w: torch.nn.functional.softplus(y + u), False),
    "equality": (lambda y, u, w: (y == u) * (1.0 + y), False),
    "no less": (lambda y, u, w: (y >= u) * (1.0 + y), False),
    "division by a row": (lambda y, u, w: y / (1 + u * u), False),
    "a logarithm": (lambda y, u, w: y * torch.log(1.5 + torch.sin(u)), False),
    "an exponential": (lambda y, u, w: y * torch.exp(u), False),
    "a root": (lambda y, u, w: y * torch.sqrt(1 + u * u), False),
    "an infinite constant": (lambda y, u, w: y.masked_fill(u > 1, -torch.inf).clamp(-1, 1) * u, False),
}


@pytest.mark.parametrize("case", STEPS)
def test_padding_rests_only_where_no_zero_becomes_another_number_or_meets_infinity(case: str) -> None:
    step, expected = STEPS[case]
    of = Recurrent(lambda x, w: (affine(w.V[:, :D], x),), lambda u, s, late, w: (step(s[0], u[0], w),), 1, D, 2)
    plan = Loop(of, weights(D)).plan
    assert rests(plan) == expected
    assert not expected or not any(t.any() for t in of_zeros(plan))
