"""From a step on matrix states to its plan: passes, what is kept, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from matrix_steps import STEPS, Tensors

from longwave.models.kernels.compiler.recorder import Unsupported
from longwave.models.kernels.matrix.form import Form
from longwave.models.kernels.matrix.plan import plan

FORM = Form(2, 4, 4, {"S": "ij"}, {"k": "i", "v": "j", "b": ""})


def step_of(new: Any) -> Any:
    """Return a step that updates S and reads it by k, where ``new`` says how it is updated."""

    def step(u: Tensors, state: Tensors, constants: Tensors) -> tuple[torch.Tensor, Tensors]:
        S = new(state[0], *u)
        return (u[0][..., None] * S).sum(-2), (S,)

    return step


def test_the_delta_rule_goes_twice_over_the_rows_each_way_and_keeps_one_vector() -> None:
    made = plan(*STEPS["delta rule"])
    assert [len(p.sums) for p in made.forward.passes] == [1, 1, 0]
    assert made.kept == ("j",)
    assert [bool(p.rows) for p in made.backward.passes] == [True, True, False]  # at last β's gradient, of a sum


def test_a_selective_step_goes_once_and_keeps_its_exponentials() -> None:
    made = plan(*STEPS["selective"])
    assert [bool(p.rows) for p in made.forward.passes] == [True, False]
    assert made.kept == ("ij",)


def test_what_a_step_does_not_read_has_no_gradient() -> None:
    made = plan(step_of(lambda S, k, v, b: 0.5 * S + k[..., None] * v[..., None, :]), FORM)
    assert made.driven == (True, True, False)


def test_a_detached_factor_has_no_gradient() -> None:
    made = plan(step_of(lambda S, k, v, b: b.detach()[..., None, None] * S + v[..., None, :]), FORM)
    assert made.driven == (True, True, False)


@pytest.mark.parametrize(
    "new, rule",
    [
        (
            lambda S, k, v, b: S / S.sum((-2, -1), keepdim=True),
            "sum over columns, where a loop sums only over rows",
        ),
        (lambda S, k, v, b: S + (S @ v[..., None]), "bmm over columns, where a loop sums only over rows"),
        (lambda S, k, v, b: S @ S, "bmm at test_matrix_plans.py:[0-9]+, which combines rows with columns"),
        (lambda S, k, v, b: S + S.mT, "add at test_matrix_plans.py:[0-9]+, which combines rows with columns"),
        (
            lambda S, k, v, b: S[..., :2, :],
            "mul at test_matrix_plans.py:[0-9]+, which combines rows with columns or with another",
        ),
        (lambda S, k, v, b: S + S.unsqueeze(-3).squeeze(), "squeeze without an axis at test_matrix_plans.py"),
        (
            lambda S, k, v, b: S * ((b > 0) + (b > 1))[..., None, None],
            "add at test_matrix_plans.py:[0-9]+",
        ),
        (lambda S, k, v, b: torch.softmax(S, -2), "softmax"),
        (lambda S, k, v, b: S.cumsum(-2), "cumsum"),
        (lambda S, k, v, b: S * S.shape[-1], "the length of a batch or of its sequences as a number"),
        (lambda S, k, v, b: S + torch.tensor(2.0), "lift_fresh at test_matrix_plans.py:[0-9]+"),
        (lambda S, k, v, b: S + torch.randn_like(S), "draws random numbers"),
    ],
)
def test_a_step_that_no_loop_over_matrices_can_do_is_refused_with_its_line(new: Any, rule: str) -> None:
    with pytest.raises(Unsupported, match=rule):
        plan(step_of(new), FORM)


def test_another_number_of_states_is_refused() -> None:
    with pytest.raises(Unsupported, match="a step that returns 2 states instead of 1"):
        plan(lambda u, s, c: (u[1], (s[0], s[0])), FORM)


def test_an_output_without_columns_is_refused() -> None:
    with pytest.raises(Unsupported, match=r"axes \(m, b, h, i\) in place of \(m, b, h, j\)"):
        plan(lambda u, s, c: (u[0], s), FORM)


def test_a_state_without_its_axes_is_refused() -> None:
    with pytest.raises(Unsupported, match=r"axes \(m, b, h, i\) in place of \(m, b, h, i, j\)"):
        plan(lambda u, s, c: (u[1], (u[0],)), FORM)
