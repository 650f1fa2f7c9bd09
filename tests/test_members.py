"""What every model keeps to: shapes, streaming, members that never mix, and seeds that decide the start alone."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from longwave.models.network import Network
from longwave.models.recurrence import Recurrence
from longwave.models.spec import ModelSpec, Param, Sizes
from longwave.platform.registry import all_models

SIZES = Sizes(inputs=2, hidden=4, outputs=3, length=7)
FLOAT64 = torch.float64


def every_case() -> list[Any]:
    """Return all models, each with all its static choices."""
    cases = []
    for spec in all_models().values():
        for chosen in product(*spec.options.values()):
            options = dict(zip(spec.options, chosen, strict=True))
            cases.append(pytest.param(spec, options, id="-".join([spec.name, *chosen])))
    return cases


def every_param() -> list[Any]:
    """Return all models and choices, each with each of its parameters."""
    return [
        pytest.param(*case.values, p, id=f"{case.id}-{p.name}") for case in every_case() for p in case.values[0].params
    ]


all_cases = pytest.mark.parametrize("spec, options", every_case())
all_params = pytest.mark.parametrize("spec, options, param", every_param())


def point(spec: ModelSpec, fraction: float) -> dict[str, float]:
    """Return each parameter at a fraction of its published range."""
    return {p.name: p.low + (p.high - p.low) * fraction for p in spec.params}


def points(spec: ModelSpec, members: int) -> dict[str, list[float]]:
    """Return different values for all members."""
    each = [point(spec, (k + 1) / (members + 1)) for k in range(members)]
    return {p.name: [one[p.name] for one in each] for p in spec.params}


def layer_of(
    spec: ModelSpec, options: dict[str, str], members: int | None = None, sizes: Sizes = SIZES, **more: Any
) -> Recurrence:
    torch.manual_seed(0)
    hyper: dict[str, Any] = point(spec, 0.3) if members is None else points(spec, members)
    return spec.build(sizes, members, **{**hyper, **options, **more}).to(FLOAT64)


def network_of(
    spec: ModelSpec, options: dict[str, str], seeds: list[int], every_step: bool = False, sizes: Sizes = SIZES
) -> Network:
    return Network(spec, sizes, points(spec, len(seeds)), seeds, options, every_step).to(FLOAT64)


def normal(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, dtype=FLOAT64, generator=torch.Generator().manual_seed(seed))


def assert_close(actual: Any, expected: Any) -> None:
    torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-13)


@all_cases
def test_a_layer_returns_every_step_and_the_last_state(spec: ModelSpec, options: dict[str, str]) -> None:
    layer = layer_of(spec, options)
    output, state = layer(normal(5, 6, 2))
    assert output.shape == (5, 6, 4)
    assert [s.shape for s in state] == [(6, 4)] * len(layer.STATE)
    assert torch.equal(output[-1], state[0])


@all_cases
def test_a_pack_carries_the_members_axis_first(spec: ModelSpec, options: dict[str, str]) -> None:
    layer = layer_of(spec, options, members=3)
    output, state = layer(normal(3, 5, 6, 2))
    assert output.shape == (3, 5, 6, 4)
    assert [s.shape for s in state] == [(3, 6, 4)] * len(layer.STATE)
    assert all(tensor.shape[0] == 3 for tensor in (*layer.parameters(), *layer.buffers()))


@all_cases
@pytest.mark.parametrize("members", [None, 2])
def test_batch_first_swaps_batch_and_time_and_nothing_else(
    spec: ModelSpec, options: dict[str, str], members: int | None
) -> None:
    lead = () if members is None else (members,)
    x, start = normal(*lead, 5, 6, 2), normal(*lead, 6, 4)
    time_first = layer_of(spec, options, members)
    swapped = layer_of(spec, options, members, batch_first=True)
    swapped.load_state_dict(time_first.state_dict())
    start_state = (start,) * len(time_first.STATE)
    output, state = time_first(x, start_state)
    output_swapped, state_swapped = swapped(x.transpose(-3, -2), start_state)
    assert torch.equal(output_swapped, output.transpose(-3, -2))
    assert all(map(torch.equal, state_swapped, state))


@all_cases
@settings(deadline=None, max_examples=20)
@given(length=st.integers(2, 9), data=st.data(), members=st.sampled_from([None, 1, 3]))
def test_a_sequence_in_pieces_gives_what_one_call_gives(
    spec: ModelSpec, options: dict[str, str], length: int, data: st.DataObject, members: int | None
) -> None:
    cut = data.draw(st.integers(1, length - 1))
    layer = layer_of(spec, options, members)
    x = normal(*(() if members is None else (members,)), length, 3, 2, seed=length)
    whole, last = layer(x)
    head, state = layer(x.narrow(-3, 0, cut))
    tail, state = layer(x.narrow(-3, cut, length - cut), state)
    assert_close(torch.cat([head, tail], -3), whole)
    assert_close(state, last)


@all_cases
def test_one_member_equals_no_members_axis(spec: ModelSpec, options: dict[str, str]) -> None:
    lone, pack = layer_of(spec, options), layer_of(spec, options, members=1)
    pack.load_state_dict({name: tensor.unsqueeze(0) for name, tensor in lone.state_dict().items()})
    x, start = normal(5, 6, 2), normal(6, 4)
    output, state = lone(x, (start,) * len(lone.STATE))
    output_pack, state_pack = pack(x.unsqueeze(0), (start.unsqueeze(0),) * len(lone.STATE))
    assert torch.equal(output_pack.squeeze(0), output)
    assert all(torch.equal(p.squeeze(0), s) for p, s in zip(state_pack, state, strict=True))


@all_cases
def test_each_member_of_a_pack_computes_what_it_computes_alone(spec: ModelSpec, options: dict[str, str]) -> None:
    pack, x = layer_of(spec, options, members=3), normal(3, 5, 6, 2)
    together, _ = pack(x)
    for k in range(3):
        lone = layer_of(spec, options)
        lone.load_state_dict({name: tensor[k] for name, tensor in pack.state_dict().items()})
        assert_close(lone(x[k])[0], together[k])


def outputs_and_gradients(network: Network, x: Tensor) -> dict[str, Tensor]:
    x = x.clone().requires_grad_()
    network.zero_grad()
    output = network(x)
    (output * torch.linspace(-1, 1, output.numel(), dtype=FLOAT64).view_as(output)).sum().backward()
    assert x.grad is not None
    found = {"output": output.detach(), "input": x.grad}
    return found | {name: p.grad.clone() for name, p in network.named_parameters() if p.grad is not None}


@all_cases
@pytest.mark.parametrize("change", ["input", "weights", "hyper", "nan weights", "nan input"])
def test_members_never_mix_whatever_happens_to_one(spec: ModelSpec, options: dict[str, str], change: str) -> None:
    if change == "hyper" and not spec.params:
        assert not list(layer_of(spec, options).buffers())
        return
    network, x = network_of(spec, options, [1, 2, 3], every_step=True), normal(3, 5, 6, 2)
    before = outputs_and_gradients(network, x)
    assert set(before) == {"output", "input", *dict(network.named_parameters())}
    amount = torch.nan if "nan" in change else 0.25
    if "input" in change:
        x[1] += amount
    for tensor in network.parameters() if "weights" in change else network.buffers() if change == "hyper" else ():
        tensor.data[1] += amount
    after = outputs_and_gradients(network, x)
    for name in before:
        assert torch.equal(after[name][[0, 2]], before[name][[0, 2]]), name
    assert not torch.equal(after["output"][1], before["output"][1])


@all_params
def test_every_hyper_parameter_changes_the_output(spec: ModelSpec, options: dict[str, str], param: Param) -> None:
    layer, x = layer_of(spec, options), normal(5, 6, 2)
    before = layer(x)[0]
    getattr(layer, param.name).mul_(2)
    assert (layer(x)[0] - before).abs().max() > 1e-6


@all_cases
@pytest.mark.parametrize("every_step", [False, True])
def test_a_network_reads_out_the_first_state_by_an_affine_map(
    spec: ModelSpec, options: dict[str, str], every_step: bool
) -> None:
    network, x = network_of(spec, options, [1, 2], every_step), normal(2, 5, 6, 2)
    output, states = network(x), network.layer(x)[0]
    assert output.shape == ((2, 5, 6, 3) if every_step else (2, 6, 3))
    for k in range(2):
        seen = states[k] if every_step else states[k, -1]
        assert_close(output[k], nn.functional.linear(seen, network.weight[k], network.bias[k]))


@all_cases
def test_saved_weights_and_hyper_parameters_give_the_same_network_back(
    spec: ModelSpec, options: dict[str, str]
) -> None:
    network, other, x = network_of(spec, options, [1, 2]), network_of(spec, options, [3, 4]), normal(2, 5, 6, 2)
    for buffer in other.buffers():
        buffer.mul_(0.5)
    assert not torch.equal(other(x), network(x))
    other.load_state_dict(network.state_dict())
    assert torch.equal(other(x), network(x))


@all_cases
@settings(deadline=None, max_examples=20)
@given(
    seeds=st.lists(st.integers(0, 2**32 - 1), min_size=2, max_size=4, unique=True),
    p=st.integers(1, 3),
    d=st.integers(1, 9),
    q=st.integers(1, 3),
    noise=st.integers(0, 100),
)
def test_a_trial_starts_from_the_same_weights_alone_and_in_a_pack(
    spec: ModelSpec, options: dict[str, str], seeds: list[int], p: int, d: int, q: int, noise: int
) -> None:
    sizes = Sizes(p, d, q, 7)
    pack = Network(spec, sizes, points(spec, len(seeds)), seeds, options)
    torch.manual_seed(noise)
    for k, seed in enumerate(seeds):
        alone = Network(spec, sizes, {name: [v[k]] for name, v in points(spec, len(seeds)).items()}, [seed], options)
        for (name, together), lone in zip(pack.named_parameters(), alone.parameters(), strict=True):
            assert torch.equal(together[k], lone[0]), name
    assert not torch.equal(pack.weight[0], pack.weight[1])


@all_cases
@settings(deadline=None, max_examples=20)
@given(index=st.permutations(range(4)).flatmap(lambda order: st.integers(1, 4).map(lambda n: order[:n])))
def test_keep_leaves_exactly_the_chosen_members(spec: ModelSpec, options: dict[str, str], index: list[int]) -> None:
    network, x, chosen = network_of(spec, options, [1, 2, 3, 4]), normal(4, 5, 6, 2), torch.tensor(index)
    before, output = {name: tensor.clone() for name, tensor in network.state_dict().items()}, network(x)
    network.keep(chosen)
    assert network.members == len(index)
    assert all(torch.equal(tensor, before[name][chosen]) for name, tensor in network.state_dict().items())
    assert_close(network(x[chosen]), output[chosen])
    with pytest.raises(ValueError, match=rf"x must be \({len(index)}, T, B, 2\) and not empty, got \(5, 5, 6, 2\)"):
        network(normal(5, 5, 6, 2))


@all_cases
@pytest.mark.parametrize("size", ["input_size", "hidden_size", "members"])
@pytest.mark.parametrize("value", [0, -3])
def test_a_size_below_one_is_refused(spec: ModelSpec, options: dict[str, str], size: str, value: int) -> None:
    sizes = {"input_size": 2, "hidden_size": 4, "members": 2} | {size: value}
    name, hyper = type(layer_of(spec, options)).__name__, point(spec, 0.3)
    with pytest.raises(ValueError, match=rf"^{name}: {size} must be at least 1, got {value}\.$"):
        spec.build(Sizes(sizes["input_size"], sizes["hidden_size"], 3, 7), sizes["members"], **hyper, **options)


@all_params
@pytest.mark.parametrize("value", [-1.0, 0.0, float("nan"), float("inf")])
def test_a_hyper_parameter_outside_its_valid_range_is_refused(
    spec: ModelSpec, options: dict[str, str], param: Param, value: float
) -> None:
    if value == 0 and param.zero:
        layer = layer_of(spec, options, **{param.name: 0.0})
        assert layer(normal(5, 6, 2))[0].isfinite().all()
        return
    name = type(layer_of(spec, options)).__name__
    rule = re.escape(f"{name}: {param.symbol} ({param.name}) must be a finite number {'≥' if param.zero else '>'} 0")
    with pytest.raises(ValueError, match=rf"^{rule}, got {value}\.$"):
        layer_of(spec, options, **{param.name: value})
    with pytest.raises(ValueError, match=rf"^{rule}, got {value}\.$"):
        layer_of(spec, options, members=2, **{param.name: [param.high, value]})


@all_params
def test_another_number_of_values_than_members_is_refused(
    spec: ModelSpec, options: dict[str, str], param: Param
) -> None:
    name = type(layer_of(spec, options)).__name__
    for members, value, rule in [
        (3, [param.high] * 2, r"one value for each of 3 members, got shape \(2,\)"),
        (3, [[param.high] * 3], r"one value for each of 3 members, got shape \(1, 3\)"),
        (3, nn.Parameter(torch.tensor(param.high)), r"one value for each of 3 members, got shape \(\)"),
        (None, [param.high], r"one number, got shape \(1,\)"),
    ]:
        with pytest.raises(ValueError, match=rf"^{name}: {param.name} must be {rule}\.$"):
            layer_of(spec, options, members, **{param.name: value})


@all_params
def test_one_number_holds_for_all_members(spec: ModelSpec, options: dict[str, str], param: Param) -> None:
    layer = layer_of(spec, options, members=3, **{param.name: param.high})
    assert getattr(layer, param.name).tolist() == pytest.approx([param.high] * 3, rel=1e-6)


@all_params
def test_a_learned_hyper_parameter_gets_a_gradient(spec: ModelSpec, options: dict[str, str], param: Param) -> None:
    learned = nn.Parameter(torch.tensor([param.low, param.high], dtype=FLOAT64))
    layer = layer_of(spec, options, members=2, **{param.name: learned})
    layer(normal(2, 5, 6, 2))[0].sum().backward()
    assert param.name in dict(layer.named_parameters())
    assert learned.grad is not None and (learned.grad != 0).all()


@all_cases
def test_an_input_or_state_that_does_not_fit_is_refused(spec: ModelSpec, options: dict[str, str]) -> None:
    layer, pack = layer_of(spec, options), layer_of(spec, options, members=2)
    name, n = type(layer).__name__, len(layer.STATE)
    for wrong in [(5, 2), (5, 6, 3), (1, 5, 6, 2), (0, 6, 2), (5, 0, 2)]:
        rule = re.escape(f"{name}: x must be (T, B, 2) and not empty, got {wrong}.")
        with pytest.raises(ValueError, match=f"^{rule}$"):
            layer(torch.zeros(wrong, dtype=FLOAT64))
    with pytest.raises(ValueError, match=rf"^{name}: x must be \(2, T, B, 2\) and not empty, got \(3, 5, 6, 2\)\.$"):
        pack(normal(3, 5, 6, 2))
    with pytest.raises(ValueError, match=rf"^{name}: x must be \(B, T, 2\) and not empty, got \(5, 6, 3\)\.$"):
        layer_of(spec, options, batch_first=True)(normal(5, 6, 3))
    for dtype in (torch.float32, torch.int64):
        with pytest.raises(ValueError, match=rf"^{name}: x must have the weights' dtype torch.float64, got {dtype}\.$"):
            layer(torch.zeros(5, 6, 2, dtype=dtype))
    for shapes in [[(6, 4)] * (n - 1), [(6, 4)] * (n + 1), [(5, 4)] * n, [(1, 6, 4)] * n]:
        rule = re.escape(f"{name}: state must be {n} tensors (6, 4) ({', '.join(layer.STATE)}), got {shapes}.")
        with pytest.raises(ValueError, match=f"^{rule}$"):
            layer(normal(5, 6, 2), tuple(normal(*shape) for shape in shapes))
    with pytest.raises(ValueError, match=rf"^{name}: {layer.STATE[-1]} must have the weights' dtype torch.float64"):
        layer(normal(5, 6, 2), (*[normal(6, 4)] * (n - 1), torch.zeros(6, 4)))


def test_a_range_that_makes_no_sense_is_refused() -> None:
    def param(low: float, high: float, log: bool = False) -> Param:
        return Param("dt", "Δt", low, high, log, "steps", "Step.")

    with pytest.raises(ValueError, match=r"^dt: low must not exceed high, got low=2\.0, high=1\.0\.$"):
        param(2.0, 1.0)
    with pytest.raises(ValueError, match=r"^dt: a log range needs low > 0, got low=0\.0\.$"):
        param(0.0, 1.0, log=True)
    with pytest.raises(ValueError, match=r"^Δt \(dt\) must be a finite number > 0, got inf\.$"):
        param(1.0, float("inf"))
    with pytest.raises(ValueError, match=r"^dt: low must not exceed high, got low=nan, high=1\.0\.$"):
        param(float("nan"), 1.0)
    with pytest.raises(ValueError, match=r"must be a finite number > 0, got 0\.0"):
        param(0.1, 1.0).between(0.0, 1.0)


def test_a_task_with_its_own_published_range_is_searched_there_and_others_as_usual() -> None:
    cornn = all_models()["cornn"]
    on_adding = {p.name: (p.low, p.high) for p in cornn.space("adding")}
    assert on_adding == {"lr": (1e-4, 0.1), "dt": (0.01, 0.1), "gamma": (1.0, 100.0), "epsilon": (1.0, 100.0)}
    elsewhere = {p.name: (p.low, p.high) for p in cornn.space("digits")}
    assert elsewhere == {"lr": (1e-4, 0.1), "dt": (0.01, 0.1), "gamma": (0.1, 10.0), "epsilon": (0.1, 10.0)}
    assert [p.name for p in cornn.space("adding")] == ["lr", "dt", "gamma", "epsilon"]


@all_cases
def test_a_model_declares_the_hyper_parameters_that_its_layer_has(spec: ModelSpec, options: dict[str, str]) -> None:
    layer = layer_of(spec, options)
    assert set(dict(layer.named_buffers())) == {p.name for p in spec.params}
    assert tuple(p.name for p in spec.space("any")) == ("lr", *(p.name for p in spec.params))
