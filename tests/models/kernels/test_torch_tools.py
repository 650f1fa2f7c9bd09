"""Layers with fused loops under torch's own tools: derivatives of torch.func, checkpoints, hooks, other dtypes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from kernel_cases import on_cpu
from torch import Tensor, nn
from torch.autograd.graph import save_on_cpu
from torch.func import functional_call, grad, jvp, vmap
from torch.utils.checkpoint import checkpoint

import longwave as lw
from longwave.models.base.algebra import affine
from longwave.models.base.heads import outer, read
from longwave.models.base.matrix_recurrence import MatrixRecurrence
from longwave.models.kernels import using
from longwave.models.kernels.matrix.form import Form
from longwave.models.lem import LEM

LAYERS: dict[str, Callable[[int, int], nn.Module]] = {"LEM": lw.LEM, "GRU": lw.GRU, "DeltaNet": lw.DeltaNet}


@pytest.fixture(autouse=True)
def compiles() -> None:
    """Skip where nothing can be compiled."""
    on_cpu(LEM(1, 4))


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:FutureWarning")  # torch's own forward mode
@pytest.mark.parametrize("name", LAYERS)
def test_derivatives_of_torch_func_are_those_of_autograd(name: str) -> None:
    torch.manual_seed(0)
    layer, x = LAYERS[name](2, 6), torch.randn(4, 7, 2)
    weights = {key: value.detach() for key, value in layer.named_parameters()}

    def loss(x: Tensor, weights: dict[str, Tensor]) -> Tensor:
        total: Tensor = functional_call(layer, weights, (x,))[0].square().sum()
        return total

    along = x.clone().requires_grad_()
    loss(along, weights).backward()
    assert along.grad is not None
    _, tangent = jvp(lambda x: loss(x, weights), (x,), (torch.ones_like(x),))
    torch.testing.assert_close(tangent, along.grad.sum(), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(grad(loss)(x, weights), along.grad, rtol=1e-4, atol=1e-5)
    for_each = vmap(grad(lambda one: loss(one[None], weights)))(x)
    torch.testing.assert_close(for_each, along.grad, rtol=1e-4, atol=1e-5)
    assert layer.why().path == "cpu"  # type: ignore[operator]


@pytest.mark.parametrize("name", LAYERS)
def test_the_first_call_may_be_inside_a_checkpoint_or_save_its_tensors_elsewhere(name: str) -> None:
    for hidden, inside in ((5, "checkpoint"), (7, "save_on_cpu")):
        layer = LAYERS[name](2, hidden)  # a size that no other test uses, so that its loop is made here
        x = torch.randn(3, 6, 2, requires_grad=True)
        if inside == "checkpoint":
            checkpoint(lambda x: layer(x)[0], x, use_reentrant=False).sum().backward()  # noqa: B023
        else:
            with save_on_cpu():
                layer(x)[0].sum().backward()
        [actual] = [x.grad]
        [expected] = torch.autograd.grad(layer(x)[0].sum(), x)
        torch.testing.assert_close(actual, expected)
        assert layer.why().path == "cpu"


@dataclass(frozen=True)
class GateWeights:
    """Maps of the input to keys, values and gates."""

    K: Tensor
    V: Tensor
    G: Tensor


class Gated(MatrixRecurrence[GateWeights]):
    """A state to which open gates add; the gate is a truth value."""

    WEIGHTS, STATE = GateWeights, ("S",)
    GATE: torch.dtype = torch.bool

    def form(self) -> Form:
        return Form(1, self.hidden_size, self.hidden_size, {"S": "ij"}, {"k": "i", "v": "j", "g": ""})

    def shapes(self) -> dict[str, tuple[int, ...]]:
        d, p = self.hidden_size, self.input_size
        return {"K": (d, p), "V": (d, p), "G": (1, p)}

    def drive(self, x: Tensor, w: GateWeights) -> tuple[Tensor, ...]:
        gate = (affine(w.G, x) > 0).to(self.GATE)
        return affine(w.K, x).unsqueeze(-2), affine(w.V, x).unsqueeze(-2), gate

    def step(
        self, u: tuple[Tensor, ...], state: tuple[Tensor, ...], constants: tuple[Tensor, ...]
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        k, v, g = u
        S = 0.9 * state[0] + g[..., None, None] * outer(k, v)
        return read(S, k), (S,)


class GatedInDouble(Gated):
    """The same with a gate in float64."""

    GATE = torch.float64


@pytest.mark.parametrize("kind", [Gated, GatedInDouble])
def test_a_drive_of_another_dtype_is_read_as_numbers(kind: type[Gated]) -> None:
    torch.manual_seed(0)
    layer, x = kind(2, 8), torch.randn(3, 12, 2)
    assert layer.why().path == "cpu"
    output, _ = layer(x)
    with using("reference"):
        expected, _ = layer(x)
    torch.testing.assert_close(output, expected.to(output.dtype), rtol=1e-5, atol=1e-5)
