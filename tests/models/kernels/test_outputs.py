"""Fused loops that put two states out, side by side."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from importlib import import_module

import pytest
import torch
from every_model import build
from kernel_cases import on_cpu
from torch import Generator, Tensor, cos, nn, sin

from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.stack import Stacked
from longwave.models.kernels.compiler.listing import listing
from longwave.models.kernels.dispatch import using
from longwave.models.lru import LRU
from longwave.tasks.base.sequences import Sequences

LOSSES: dict[str, Callable[[Tensor], Tensor]] = {
    "all": lambda y: y.square().sum(),
    "the second alone": lambda y: y[..., y.shape[-1] // 2 :].square().sum(),
    "the last step": lambda y: y[..., -1, :, :].square().sum(),
    "one step of the second": lambda y: y[..., 3, :, y.shape[-1] // 2].sum(),
}


@dataclass(frozen=True)
class TurnWeights:
    """One layer's map of its inputs, and by how much it turns at each step."""

    V: Tensor
    angle: Tensor


class Turns(Stacked[TurnWeights]):
    """Two layers of z[n] = 0.9 exp(i angle) z[n-1] + V x[n], read as real and imaginary part."""

    WEIGHTS = TurnWeights
    STATE = ("re", "im")
    OUTPUTS = 2
    layers = 2

    def layer_shapes(self, layer: int) -> dict[str, tuple[int, ...]]:
        """Return V (d, inputs) and the angle (d,)."""
        return {"V": (self.hidden_size, self.inputs(layer)), "angle": (self.hidden_size,)}

    def draw_layer(self, name: str, layer: int, weight: Tensor, generator: Generator | None) -> None:
        """Fill ``weight`` with N(0, 0.3)."""
        nn.init.normal_(weight, 0.0, 0.3, generator=generator)

    def drive(self, x: Tensor, w: TurnWeights) -> tuple[Tensor, ...]:
        """Return V x."""
        return (affine(w.V, x),)

    def step(self, u: tuple[Tensor, ...], state: State, w: TurnWeights) -> State:
        """Return z[n]."""
        (re, im), a, b = state, 0.9 * cos(w.angle), 0.9 * sin(w.angle)
        return a * re - b * im + u[0], b * re + a * im


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
    assert "# outputs are after[0] to after[1]" in listing(both.plan) and "outputs are" not in listing(one.plan)
    assert both.name != one.name


@pytest.mark.parametrize("d", [5, 16])
def test_pieces_give_what_one_call_gives_and_a_read_out_of_a_last_step_sees_both(d: int) -> None:
    fused, x = layer(d), torch.randn(2, 9, 4, 3)
    on_cpu(fused)
    whole, last = fused(x)
    first, middle = fused(x[:, :4])
    rest, end = fused(x[:, 4:], middle)
    assert torch.equal(torch.cat([first, rest], 1), whole) and all(map(torch.equal, end, last))
    inputs, targets, steps = x.transpose(1, 2), torch.zeros(2, 4, dtype=torch.int64), [9, 2, 5, 1]
    assert torch.equal(fused.features(Sequences(inputs, targets))[0], whole[:, -1])
    ragged = Sequences(inputs, targets, lengths=torch.tensor(steps).expand(2, 4))
    ends = torch.stack([whole[:, n - 1, k] for k, n in enumerate(steps)], 1)
    assert torch.equal(fused.features(ragged)[0], ends)


@pytest.mark.parametrize("members", [None, 3])
def test_a_stack_reads_both_of_the_layer_below(members: int | None) -> None:
    torch.manual_seed(0)
    fused, lead = Turns(3, 5, members=members), () if members is None else (members,)
    x = torch.randn(*lead, 8, 4, 3)
    on_cpu(fused)
    assert fused.loops() == [3, 10] and fused.output_size == 10
    actual = gradients(fused, x, LOSSES["all"])
    expected = gradients(deepcopy(fused).double(), x.double(), LOSSES["all"])
    for name, value in expected.items():
        torch.testing.assert_close(actual[name].double(), value, rtol=1e-4, atol=1e-5, msg=name)
    state = torch.zeros(*lead, 4, 10, dtype=torch.float64)
    w, below = {name: weight.detach().double() for name, weight in fused.named_parameters()}, x.double()
    for k in (1, 2):
        turn = torch.polar(0.9 * torch.ones_like(w[f"angle{k}"]), w[f"angle{k}"]).unsqueeze(-2)
        z, rows = torch.complex(*torch.zeros_like(state).chunk(2, -1)), []
        for u in below.unbind(-3):
            z = turn * z + u @ w[f"V{k}"].mT
            rows.append(torch.cat([z.real, z.imag], -1))
        below = torch.stack(rows, -3)
    torch.testing.assert_close(actual["outputs"].double(), below, rtol=1e-5, atol=1e-6)
    batch = Sequences(x.transpose(-3, -2), torch.zeros(*lead, 4, dtype=torch.int64))
    assert torch.equal(fused.features(batch)[0], actual["outputs"][..., -1, :, :])


def test_a_gpus_loops_say_where_they_cannot_put_several_states_out() -> None:
    pytest.importorskip("triton", reason="Triton has no wheel for this platform")
    run, halved = (import_module(f"longwave.models.kernels.triton.{kind}") for kind in ("run", "halved"))
    cell, here = layer(4).cell_on("triton"), torch.device("cpu")
    assert run.obstacle(cell, 4, here) == "the tensors are on cpu, Triton's loops run on a GPU"
    assert halved.obstacle(cell, 4, here) == "the cell outputs 2 states, some of which would be stored in bfloat16"
    assert cell.plan is not None
    wide = replace(build("lem", 4).cell_on("triton"), plan=replace(build("lem", 4).cell_on("triton").plan, outputs=2))
    assert run.obstacle(wide, 256, here) == "the cell outputs 2 states, which Triton's graph schedule does not support"
