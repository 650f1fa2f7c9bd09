"""Modules that own their parameters, one a member, inside a layer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Generator, Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm

from longwave.models.base.owned import Owned, drawn_from

FLOAT64 = torch.float64
Make = Callable[[], nn.Module]


class Sinusoid(nn.Module):
    """Random features: a buffer that is drawn, and stays."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)
        self.register_buffer("frequencies", torch.randn(8))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.linear(torch.sin(x * self.frequencies))
        return out


MODULES: dict[str, tuple[Make, int]] = {
    "Linear": (partial(nn.Linear, 8, 8), 1),
    "stack": (lambda: nn.Sequential(nn.Linear(8, 6), nn.GELU(), nn.LayerNorm(6), nn.Linear(6, 8)), 1),
    "attention": (partial(nn.MultiheadAttention, 8, 2, batch_first=True), 3),
    "encoder": (partial(nn.TransformerEncoderLayer, 8, 2, 16, dropout=0.0, batch_first=True), 1),
    "convolution": (partial(nn.Conv1d, 5, 5, 3, padding=1), 1),
    "random features": (Sinusoid, 1),
}
LOOPED: dict[str, tuple[Make, int]] = {**MODULES, "LSTM": (partial(nn.LSTM, 8, 8, batch_first=True), 1)}
CASES = [(name, False) for name in MODULES] + [(name, True) for name in LOOPED]


def owned(make: Make, members: int | None, looped: bool = False) -> Owned:
    made = Owned(make, members, looped)
    for k in range(members or 1):
        made.draw(k, Generator().manual_seed(k))
    return made


def first(outputs: Any) -> Tensor:
    actual: Tensor = outputs[0] if isinstance(outputs, tuple) else outputs
    return actual


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(("name", "looped"), CASES)
def test_each_member_is_the_module_alone_from_its_start_to_its_gradients(
    name: str, looped: bool, training: bool
) -> None:
    make, inputs = LOOPED[name]
    pack = owned(make, 3, looped).to(FLOAT64).train(training)
    x = torch.randn(3, 4, 5, 8, dtype=FLOAT64, requires_grad=True)
    actual = first(pack(*[x] * inputs))
    (dx, *gradients) = torch.autograd.grad(actual.square().sum(), [x, *pack.parameters()])
    for k in range(3):
        torch.default_generator.manual_seed(int(torch.randint(2**62, (), generator=Generator().manual_seed(k))))
        alone, x_k = make().to(FLOAT64).train(training), x[k].detach().requires_grad_()
        for tensor, own in zip(pack.state_dict().values(), alone.state_dict().values(), strict=True):
            assert torch.equal(tensor[k], own)
        expected = first(alone(*[x_k] * inputs))
        torch.testing.assert_close(actual[k], expected, rtol=1e-11, atol=1e-12)
        for ours, theirs in zip(
            [dx, *gradients], torch.autograd.grad(expected.square().sum(), [x_k, *alone.parameters()]), strict=True
        ):
            torch.testing.assert_close(ours[k], theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("looped", [False, True])
def test_a_layer_without_members_has_the_module_itself(looped: bool) -> None:
    one, x = owned(partial(nn.Linear, 8, 6), None, looped), torch.randn(1, 4, 8)
    assert {name: tuple(p.shape) for name, p in one.named_parameters()} == {
        "module.weight": (6, 8),
        "module.bias": (6,),
    }
    torch.testing.assert_close(one(x)[0], nn.functional.linear(x[0], one.module.weight, one.module.bias))


@pytest.mark.parametrize(("name", "looped"), CASES)
def test_gradients_through_the_members_are_those_of_finite_differences(name: str, looped: bool) -> None:
    make, inputs = LOOPED[name]
    pack = owned(make, 2, looped).to(FLOAT64)
    names, weights = zip(*pack.named_parameters(), strict=True)

    def outputs(x: Tensor, *given: Tensor) -> Tensor:
        return first(torch.func.functional_call(pack, dict(zip(names, given, strict=True)), (x,) * inputs))

    x = torch.randn(2, 1, 5, 8, dtype=FLOAT64, requires_grad=True)
    assert torch.autograd.gradcheck(outputs, (x, *weights), fast_mode=True)


def test_what_a_module_leaves_out_stays_out_and_what_all_share_is_handed_on() -> None:
    pack, x = owned(MODULES["attention"][0], 3), torch.randn(3, 4, 5, 8)
    outputs, weights = pack(x, x, x, None, need_weights=False)
    assert weights is None and outputs.shape == x.shape
    outputs, weights = pack(x, x, x)
    assert weights.shape == (3, 4, 5, 5)


class Neighbours(nn.Module):
    """A message-passing module in torch_geometric's manner: nodes (N, p), edges (2, E)."""

    def __init__(self) -> None:
        super().__init__()
        self.own, self.others = nn.Linear(8, 4), nn.Linear(8, 4, bias=False)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        sent = self.others(x).index_select(0, edges[0])
        out: Tensor = self.own(x) + sent.new_zeros(len(x), 4).index_add(0, edges[1], sent)
        return out


@pytest.mark.parametrize("looped", [False, True])
def test_a_message_passing_module_serves_members_with_graphs_of_their_own_or_one_for_all(looped: bool) -> None:
    pack, x = owned(Neighbours, 3, looped).to(FLOAT64), torch.randn(3, 5, 8, dtype=FLOAT64)
    edges = torch.randint(5, (3, 2, 7), generator=Generator().manual_seed(1))
    apart, shared = pack(x, edges), pack(x, edges=edges[0])
    for k in range(3):
        own = {name: p[k] for name, p in pack.module.named_parameters()}
        sums = torch.stack([x[k][edges[k][0][edges[k][1] == n]].sum(0) for n in range(5)])
        expected = x[k] @ own["own.weight"].T + own["own.bias"] + sums @ own["others.weight"].T
        torch.testing.assert_close(apart[k], expected, rtol=1e-11, atol=1e-12)
    torch.testing.assert_close(shared[0], apart[0], rtol=1e-11, atol=1e-12)
    assert not torch.allclose(shared[1], apart[1])


def test_dropout_runs_member_by_member_from_each_members_own_generator() -> None:
    def module() -> nn.Module:
        return nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5))

    x, pack = torch.randn(1, 4, 8).expand(3, 4, 8), owned(module, 3, looped=True)
    seeded = [Generator().manual_seed(k) for k in (1, 2, 1)]
    torch.default_generator.manual_seed(5)
    state = torch.get_rng_state()
    kept = pack(x, generators=seeded) != 0
    assert torch.equal(torch.get_rng_state(), state), "torch's own generator was used"
    assert torch.equal(kept[0], kept[2]) and not torch.equal(kept[0], kept[1])
    with pytest.raises(ValueError, match=r"^Sequential cannot run for all members at once \(vmap: called random .*\)"):
        owned(module, 3)(x)
    torch.testing.assert_close(pack.eval()(x), owned(module, 3).eval()(x))


@pytest.mark.parametrize("make", [partial(nn.LSTM, 8, 8), lambda: spectral_norm(nn.Linear(8, 8))])
def test_what_vmap_cannot_take_is_refused_in_one_line_that_says_what_to_do(make: Make) -> None:
    rule = r"^(LSTM|ParametrizedLinear) cannot run for all members at once \([^\n]*\); name it in looped\(\)\.$"
    with pytest.raises(ValueError, match=rule):
        owned(make, 3)(torch.randn(3, 4, 5, 8))


def test_a_module_that_keeps_something_of_its_batches_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^BatchNorm1d \(1\) keeps statistics of its batches, which no checkpoint"):
        Owned(lambda: nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8)), 3)
    Owned(lambda: nn.BatchNorm1d(8, track_running_stats=False), 3)
    with pytest.raises(
        ValueError, match=r"^ParametrizedLinear changes its own buffers in training, which no checkpoint"
    ):
        owned(lambda: spectral_norm(nn.Linear(8, 8)), 3, looped=True)(torch.randn(3, 4, 8))


def test_a_module_with_complex_parameters_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^Linear has complex parameters; a layer's own weights may be Complex\.$"):
        Owned(lambda: nn.Linear(2, 2, dtype=torch.complex64), 3)


def test_making_and_drawing_leave_torchs_own_generator_alone() -> None:
    torch.default_generator.manual_seed(3)
    state = torch.get_rng_state()
    owned(partial(nn.Linear, 8, 8), 3)
    assert torch.equal(torch.get_rng_state(), state)


def test_drawing_leaves_no_trace_where_there_is_no_gpu() -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU: nothing is kept for later")
    waiting = torch.cuda._queued_calls  # what torch.manual_seed appends to, with a traceback, at every call
    before = len(waiting)
    with drawn_from(Generator().manual_seed(0)):
        torch.rand(1)
    assert len(waiting) == before
