"""One node from the weights as they are held: who asks for gradients, and who looks on, sees what torch would show."""

from __future__ import annotations

import pytest
import torch
from every_model import CASES, build
from kernel_cases import inputs, on_cpu, outcome
from tiers import mark_long
from torch import nn
from torch.func import functional_call, vmap

from longwave.models.kernels import dispatch
from longwave.models.kernels.cpu import run
from longwave.models.kernels.cpu.direct import BLOCK
from longwave.models.lem import LEM
from longwave.models.lstm import LSTM

COMPILED = mark_long({case: (case,) for case in CASES}, *(case for case in CASES if ", " in case))
"""Those of other choices than the defaults take the compiler a minute together."""


@pytest.mark.parametrize("members", [None, 2])
@pytest.mark.parametrize("case", COMPILED)
def test_operands_that_are_copied_are_those_that_torch_makes(
    case: str, members: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = build(case, 6, members=members)
    on_cpu(layer)
    x, state = inputs(layer, 3, 2)
    ours = outcome(layer, x, state)
    monkeypatch.setattr(dispatch, "traced", lambda: True)
    for name, value in outcome(layer, x, state).items():
        assert torch.allclose(ours[name], value, rtol=1e-5, atol=1e-6), name


def test_a_weight_is_one_step_from_the_outputs_and_its_hook_is_called_once() -> None:
    layer = LEM(2, 5)
    on_cpu(layer)
    outputs, _ = layer(torch.randn(4, 3, 2))
    seen: list[torch.Size] = []
    for p in layer.parameters():
        p.register_hook(lambda g: seen.append(g.shape))
    node = outputs.grad_fn.next_functions[0][0]  # behind the members axis
    assert type(node).__name__ == "DirectBackward"
    assert sum(type(n).__name__ == "AccumulateGrad" for n, _ in node.next_functions if n) == len([*layer.parameters()])
    outputs.sum().backward()
    assert sorted(seen) == sorted(p.shape for p in layer.parameters())


def test_gradients_are_apart_in_memory_so_that_clipping_scales_each_once() -> None:
    layer = LEM(2, 5)
    on_cpu(layer)
    layer(torch.randn(4, 3, 2))[0].sum().backward()
    grads = [p.grad for p in layer.parameters() if p.grad is not None]
    before = [g.clone() for g in grads]
    assert len(before) == len([*layer.parameters()]) and all(b.any() for b in before)
    for g in grads:
        g.mul_(0.5)
    assert all(torch.equal(g, 0.5 * b) for g, b in zip(grads, before, strict=True))


def test_what_needs_no_gradient_gets_none_and_changes_no_other() -> None:
    layer = LSTM(2, 5)
    on_cpu(layer)
    x = torch.randn(4, 3, 2)
    layer(x)[0].sum().backward()
    whole = {name: p.grad for name, p in layer.named_parameters()}
    layer.zero_grad()
    layer.weight_hh.requires_grad_(False)
    layer(x)[0].sum().backward()
    assert layer.weight_hh.grad is None
    assert all(torch.equal(p.grad, whole[name]) for name, p in layer.named_parameters() if p.requires_grad)


def test_a_trained_number_in_float64_has_a_gradient_in_float64() -> None:
    layer = LEM(2, 5, dt=nn.Parameter(torch.tensor(0.5, dtype=torch.float64)))
    on_cpu(layer)
    layer(torch.randn(4, 3, 2))[0].sum().backward()
    assert layer.dt.grad.dtype == torch.float64 and layer.dt.grad.abs() > 0


def test_other_weights_can_be_lent_to_a_layer_one_by_one_and_mapped() -> None:
    layer = LSTM(2, 5)
    on_cpu(layer)
    x, own = torch.randn(4, 3, 2), dict(layer.named_parameters())
    several = {name: torch.stack([p.detach(), 0.5 * p.detach()]) for name, p in own.items()}
    mapped = vmap(lambda w: functional_call(layer, w, x)[0])(several)
    for k in range(2):
        alone = functional_call(layer, {name: t[k] for name, t in several.items()}, x)[0]
        assert torch.allclose(mapped[k], alone, atol=1e-6)


@pytest.mark.parametrize("name", ["lem", "gru", "indrnn", "linoss"])
def test_sequences_can_be_mapped_over_a_layer_with_and_without_gradients(name: str) -> None:
    layer, x = build(name, 5, members=None), torch.randn(3, 9, 2, 3)
    on_cpu(layer)
    expected = torch.stack([layer(one)[0] for one in x])
    assert torch.equal(vmap(lambda one: layer(one)[0])(x), expected)
    with torch.no_grad():
        assert torch.equal(vmap(lambda one: layer(one)[0])(x), expected)


def test_weights_that_lie_across_memory_give_the_same_numbers() -> None:
    layer = LSTM(2, 5)
    on_cpu(layer)
    x = torch.randn(4, 3, 2)
    before = layer(x)[0]
    layer.weight_hh.data = layer.weight_hh.data.mT.contiguous().mT
    assert not layer.weight_hh.is_contiguous()
    assert torch.equal(layer(x)[0], before)


@pytest.mark.parametrize("last", [0, 1])
def test_a_gradient_of_one_last_state_alone_is_right(last: int) -> None:
    layer = LSTM(2, 5)
    on_cpu(layer)
    x = torch.randn(4, 3, 2)
    exact = LSTM(2, 5).double()
    exact.load_state_dict({name: p.double() for name, p in layer.state_dict().items()})
    (ours,) = torch.autograd.grad(layer(x)[1][last].sum(), layer.weight_hh)
    (truth,) = torch.autograd.grad(exact(x.double())[1][last].sum(), exact.weight_hh)
    assert torch.allclose(ours.double(), truth, atol=1e-5)


@pytest.mark.parametrize("hidden", [7, 16])
@pytest.mark.parametrize("case", ["lem", "tau_gru", "gru"])
def test_rows_sent_past_the_cache_come_back_to_the_bit(case: str, hidden: int, monkeypatch: pytest.MonkeyPatch) -> None:
    layer = build(case, hidden)
    on_cpu(layer)
    x, state = inputs(layer, 200, 33)  # several chunks, and blocks of 17 and 16 rows
    near = outcome(layer, x, state)
    outcome(layer, 2 * x, state)  # or the memory still holds what the backward pass is to read
    monkeypatch.setattr(run, "NEAR", 0)
    far = outcome(layer, x, state)
    assert near.keys() == far.keys()
    assert [name for name in near if not torch.equal(near[name], far[name])] == []


def test_blocks_are_added_where_they_belong_and_what_has_no_gradient_is_left_alone() -> None:
    layer = LSTM(1, 4)
    on_cpu(layer)
    copies, tasks, M = run.compiled(layer.cell_on("cpu")), 3, 2
    # Each block: rows, columns, whether in double, factor; array, start, member, row and column in the source, in the
    # operands, and in a task's gradients; start and size of the source's gradient.
    shared = BLOCK.pack(2, 3, 0, 0.5, *(0, 1, 0, 3, 1), *(0, 2, 10, 3, 1), *(0, 0, 6, 3, 1), 1, 0)
    own = BLOCK.pack(1, 2, 0, -2.0, *(1, 0, 1, 0, 1), *(0, 2, 10, 0, 1), *(1, 1, 3, 0, 1), 8, 2)
    still = BLOCK.pack(1, 1, 1, 1.0, *(2, 0, 0, 0, 1), *(0, 9, 10, 0, 1), *(1, 0, 3, 0, 1), -1, 0)
    table = shared + own + still
    sources = torch.randn(7), torch.randn(M, 5), torch.randn(1, dtype=torch.float64)
    pointers = b"".join(s.data_ptr().to_bytes(8, "little") for s in sources)
    strides = b"".join(n.to_bytes(8, "little") for n in (7, 5, 1))
    operands = torch.zeros(M, 10)
    copies.gather(table, 3, M, pointers, strides, operands.data_ptr())
    truth = torch.zeros(M, 10)
    for k in range(M):
        truth[k, 2:8] += 0.5 * sources[0][1:]
        truth[k, 2:4] += -2.0 * sources[1][k, :2]
        truth[k, 9] += sources[2][0].float()
    torch.testing.assert_close(operands, truth)

    parts, around = (torch.randn(M * tasks, 6), torch.randn(M * tasks, 3)), torch.full((14,), 7.0)
    pointers = b"".join(p.data_ptr().to_bytes(8, "little") for p in parts)
    actual = around[1:13]
    actual.zero_()
    copies.scatter(table, 3, M, tasks, pointers, actual.data_ptr())
    copies.scatter(table, 3, M, tasks, pointers, actual.data_ptr())  # adds
    truth = torch.zeros(12)
    truth[1:7] = 2 * 0.5 * parts[0].sum(0)
    truth[8:12] = 2 * -2.0 * parts[1][:, 1:].unflatten(0, (M, tasks)).sum(1).flatten()
    torch.testing.assert_close(actual, truth)
    assert around[0] == around[13] == 7.0


@pytest.mark.parametrize("case", ["lem", "tau_gru"])
def test_a_loop_computes_in_float32_whatever_torchs_default_is(case: str) -> None:
    layer = build(case, 5)
    on_cpu(layer)
    x, state = inputs(layer, 4, 3)

    def results() -> list[torch.Tensor]:
        outputs, last = layer(x, state)
        return [outputs, *last, *torch.autograd.grad(outputs.sum() + last[0].sum(), [*layer.parameters()])]

    before = results()
    torch.set_default_dtype(torch.float64)
    try:
        after = results()
    finally:
        torch.set_default_dtype(torch.float32)
    assert all(a.dtype == b.dtype and torch.equal(a, b) for a, b in zip(after, before, strict=True))
