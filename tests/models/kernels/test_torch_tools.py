"""Layers with fused loops under torch's own tools: derivatives of torch.func, checkpoints, hooks, other dtypes."""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from kernel_cases import on_cpu
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.autograd.graph import save_on_cpu
from torch.func import functional_call, grad, jvp, stack_module_state, vmap
from torch.nn.utils import parametrizations, prune
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


@pytest.mark.parametrize("name", LAYERS)
def test_an_ensemble_under_vmap_is_trained_as_its_members_are(name: str) -> None:
    layers, x = [LAYERS[name](1, 8) for _ in range(3)], torch.randn(2, 5, 1)
    weights, buffers = stack_module_state(layers)
    vmap(lambda w, b: functional_call(layers[0], (w, b), (x,))[0])(weights, buffers).sum().backward()
    for k, layer in enumerate(layers):
        layer(x)[0].sum().backward()
        for key, weight in layer.named_parameters():
            torch.testing.assert_close(weights[key].grad[k], weight.grad, rtol=1e-4, atol=1e-5)
    inputs = torch.randn(4, 2, 5, 1, requires_grad=True)
    frozen = layers[0].requires_grad_(False)
    vmap(lambda one: frozen(one)[0])(inputs).sum().backward()
    assert inputs.grad is not None
    torch.testing.assert_close(inputs.grad[0], grad(lambda one: frozen(one)[0].sum())(inputs[0]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_on_the_cpu_runs_there_whatever_the_default_device_is(name: str) -> None:
    for layer in (LAYERS[name](1, 9), lw.TauGRU(1, 9, tau=2)):
        x = torch.randn(2, 6, 1)
        with torch.device("meta"):
            first = layer(x)[0]
        assert first.device.type == "cpu" and torch.equal(layer(x)[0], first)


@pytest.mark.parametrize("name", LAYERS)
def test_an_input_or_a_state_on_another_device_is_refused(name: str) -> None:
    layer = LAYERS[name](1, 8)
    elsewhere = layer(torch.randn(2, 3, 1))[1][0].to("meta")
    with pytest.raises(ValueError, match="^[A-Za-z]+: [A-Za-z]+ must have the weights' device cpu, got meta"):
        layer(torch.randn(2, 3, 1), (elsewhere,) * len(layer(torch.randn(2, 3, 1))[1]))
    with pytest.raises(ValueError, match="x must have the weights' device cpu, got meta"):
        layer.layer(torch.empty(2, 3, 1, device="meta"))  # type: ignore[operator]


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:FutureWarning")  # torch's own forward mode
@pytest.mark.parametrize("name", LAYERS)
def test_derivatives_in_forward_mode_are_differences(name: str) -> None:
    layer, x = LAYERS[name](2, 6).requires_grad_(False), torch.randn(3, 4, 2)
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(layer(forward_ad.make_dual(x, torch.ones_like(x)))[0]).tangent
    exact, step = copy.deepcopy(layer).double(), 1e-5
    differences = (exact(x.double() + step)[0] - exact(x.double() - step)[0]) / (2 * step)
    torch.testing.assert_close(tangent.double(), differences, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", LAYERS)
def test_several_gradients_at_once_are_refused_and_second_ones_when_they_are_taken(name: str) -> None:
    layer, x = LAYERS[name](2, 6), torch.randn(1, 3, 2)
    with pytest.raises(RuntimeError, match="takes one gradient at a time; for several at once run the layer inside"):
        torch.autograd.functional.jacobian(lambda x: layer(x)[0], x, vectorize=True)
    with using("reference"):
        assert torch.autograd.functional.jacobian(lambda x: layer(x)[0], x, vectorize=True).shape[-3:] == x.shape
    [first] = torch.autograd.grad(layer(x)[0].sum(), [next(layer.parameters())], create_graph=True)
    with pytest.raises(RuntimeError, match="has first derivatives only; for second ones run the layer inside"):
        first.sum().backward()


@pytest.mark.parametrize("name", LAYERS)
def test_returned_states_can_be_changed_in_place_while_training(name: str) -> None:
    layer, x = LAYERS[name](2, 6), torch.randn(3, 4, 2)
    outputs, state = layer(x)
    expected = torch.autograd.grad(outputs.sum() + 2 * sum(s.sum() for s in state), list(layer.parameters()))
    outputs, state = layer(x)
    for part in state:
        part.mul_(2)
    actual = torch.autograd.grad(outputs.sum() + sum(s.sum() for s in state), list(layer.parameters()))
    torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("name", [*LAYERS, "Transformer"])
def test_replicas_of_data_parallel_give_what_the_module_gives(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Replicas are made for GPUs; on a CPU the weights are copied by what stands in for torch's broadcast.
    replicating = importlib.import_module("torch.nn.parallel.replicate")
    monkeypatch.setattr(replicating, "_get_device_index", lambda *_: 0)
    copies = lambda tensors, devices, detach=False: [[t.clone() for t in tensors] for _ in devices]  # noqa: E731
    monkeypatch.setattr(replicating, "_broadcast_coalesced_reshape", copies)
    layer, x = getattr(lw, name)(1, 8), torch.randn(2, 3, 1)
    for replica in replicating.replicate(layer, [0, 0]):
        torch.testing.assert_close(replica(x)[0], layer(x)[0])


def test_pruned_weights_and_those_of_the_older_norms_are_what_these_compute() -> None:
    layer, x = lw.LEM(1, 8), torch.randn(2, 3, 1)
    prune.l1_unstructured(layer.layer, "W1", 0.5)
    layer(x)[0].sum().backward()
    assert int((layer.layer.W1 == 0).sum()) == 32
    assert torch.equal(layer.layer.W1_orig.grad == 0, layer.layer.W1_mask == 0)
    pruned = lw.LEM(1, 8)
    pruned.load_state_dict(layer.state_dict() | {"layer.W1": layer.layer.W1.detach()}, strict=False)
    torch.testing.assert_close(layer(x)[0], pruned(x)[0])


def test_a_parametrized_weight_is_drawn_again_with_the_others() -> None:
    layer = lw.LEM(1, 8)
    parametrizations.orthogonal(layer.layer, "Wz")
    before = layer.layer.Wz.detach().clone()
    layer.reset_parameters()
    after = layer.layer.Wz.detach()
    assert not torch.allclose(after, before)
    torch.testing.assert_close(after @ after.T, torch.eye(8), rtol=0, atol=1e-5)


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
