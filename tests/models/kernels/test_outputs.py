"""Fused loops that put two states out, side by side."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

import pytest
import torch
from kernel_cases import on_cpu
from torch import Tensor

from longwave.models.kernels.compiler.listing import listing
from longwave.models.kernels.dispatch import using
from longwave.models.lru import LRU

LOSSES: dict[str, Callable[[Tensor], Tensor]] = {
    "all": lambda y: y.square().sum(),
    "the second alone": lambda y: y[..., y.shape[-1] // 2 :].square().sum(),
    "the last step": lambda y: y[..., -1, :, :].square().sum(),
    "one step of the second": lambda y: y[..., 3, :, y.shape[-1] // 2].sum(),
}


def layer(d: int, members: int | None = 2) -> LRU:
    """An LRU whose states fade within some ten steps, so that float32 follows float64."""
    torch.manual_seed(0)
    return LRU(3, d, members=members, ring="0.5-0.9", phase="pi/10")


def gradients(of: LRU, x: Tensor, loss: Callable[[Tensor], Tensor]) -> dict[str, Tensor]:
    """Outputs, last states and all gradients of a loss of the outputs alone."""
    x = x.detach().requires_grad_()
    outputs, last = of(x)
    of.zero_grad()
    loss(outputs).backward()
    named = {name: p.grad for name, p in of.named_parameters() if p.grad is not None}
    return {"outputs": outputs, "re": last[0], "im": last[1], "x": x.grad, **named}  # type: ignore[dict-item]


@pytest.mark.parametrize("d", [1, 16, 17, 64])
@pytest.mark.parametrize("loss", LOSSES)
def test_both_states_are_put_out_and_both_have_gradients(d: int, loss: str) -> None:
    fused, x = layer(d), torch.randn(2, 40, 5, 3)
    on_cpu(fused)
    actual = gradients(fused, x, LOSSES[loss])
    expected = gradients(deepcopy(fused).double(), x.double(), LOSSES[loss])
    for name, value in expected.items():
        error = (actual[name].double() - value).norm() / value.norm()
        assert error < 1e-5, f"{name}: {error:.1e}"


def test_more_rows_than_stay_in_the_cache_give_the_same() -> None:
    fused, x = layer(128, None), torch.randn(300, 70, 3)
    on_cpu(fused)
    actual, expected = (gradients(fused, x, LOSSES["all"]) for _ in range(2))
    assert all(torch.equal(actual[name], value) for name, value in expected.items())
    with using("reference"):
        plain = gradients(fused, x, LOSSES["all"])
    for name, value in plain.items():
        assert (actual[name] - value).norm() / value.norm() < 1e-5, name


def test_an_operator_that_torch_sees_gives_both_too() -> None:
    fused, x = layer(6, None), torch.randn(4, 9, 2, 3)
    on_cpu(fused)
    mapped = torch.func.vmap(lambda one: fused(one)[0])(x)
    torch.testing.assert_close(mapped, torch.stack([fused(one)[0] for one in x]), rtol=1e-5, atol=1e-6)


def test_a_plan_says_what_is_put_out_and_another_number_is_another_loop() -> None:
    class First(LRU):
        OUTPUTS = 1

    both, one = layer(4).loop_of(0, 3)[0], First(3, 4).loop_of(0, 3)[0]
    assert "# put out are after[0] to after[1]" in listing(both.plan) and "put out" not in listing(one.plan)
    assert both.name != one.name
