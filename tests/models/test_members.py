"""What every model computes: shapes, streaming, members that never mix, and seeds that decide the start alone."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from batches import batch_of
from cases import Options, every_case
from hypothesis import given, settings
from hypothesis import strategies as st
from layers import draw_normal
from torch import Generator, nn

from longwave.models.base.layer import State
from longwave.models.base.network import Network
from longwave.models.base.param import Param
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import ModelSpec, Sizes

SIZES = Sizes(inputs=2, hidden=4, outputs=3, length=7)
FLOAT64 = torch.float64
STEP = 5
"""A number of a training step: with it, dropout depends on the seeds alone."""


def params_of(spec: ModelSpec, options: Options, optional: bool = True) -> list[Param]:
    """Return the hyper-parameters of a case, with those that may be left out or without."""
    return [p for p in spec.layer.relevant({**spec.defaults, **options}) if p.searched or optional]


def every_param() -> list[Any]:
    """Return all cases, each with each of its hyper-parameters."""
    return [
        pytest.param(*case.values, p, id=f"{case.id}-{p.name}")
        for case in every_case()
        for p in params_of(*case.values)
    ]


all_cases = pytest.mark.parametrize("spec, options", every_case())
all_params = pytest.mark.parametrize("spec, options, param", every_param())


def value(param: Param, fraction: float) -> float:
    """Return the value at a fraction of the parameter's range, or a whole number from 0 to 3, so that delays show."""
    return float(int(5 * fraction - 1)) if param.whole else param.low + (param.high - param.low) * fraction


def points(spec: ModelSpec, options: Options, members: int, optional: bool = False) -> dict[str, list[float]]:
    """Return different values for all members, of the hyper-parameters that must be given or of all."""
    fractions = [(k + 1) / (members + 1) for k in range(members)]
    return {p.name: [value(p, f) for f in fractions] for p in params_of(spec, options, optional)}


def layer_of(
    spec: ModelSpec, options: Options, members: int | None = None, sizes: Sizes = SIZES, **more: Any
) -> Recurrence:
    torch.default_generator.manual_seed(0)
    lone = {p.name: value(p, 0.6) for p in params_of(spec, options, optional=False)}
    hyper: dict[str, Any] = lone if members is None else points(spec, options, members)
    return spec.build(sizes, members, **{**hyper, **options, **more}).to(FLOAT64)


def network_of(spec: ModelSpec, options: Options, seeds: list[int]) -> Network:
    """Return a network with all its hyper-parameters, those that may be left out too."""
    hyper = points(spec, options, len(seeds), optional=True)
    return Network(spec, SIZES, hyper, seeds, options, FLOAT64)


def start_of(layer: Recurrence, batch: int) -> State:
    """Return a start state that is nowhere zero."""
    lead = () if layer.members is None else (layer.members,)
    return tuple(draw_normal(*lead, batch, *shape, seed=k) for k, shape in enumerate(layer.state_shapes().values()))


def assert_close(actual: Any, expected: Any) -> None:
    torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-13)


@all_cases
def test_one_member_equals_no_members_axis(spec: ModelSpec, options: Options) -> None:
    lone, pack = layer_of(spec, options), layer_of(spec, options, members=1)
    pack.load_state_dict({name: tensor.unsqueeze(0) for name, tensor in lone.state_dict().items()})
    x, start = draw_normal(5, 6, 2), start_of(lone, 6)
    output, state = lone(x, start)
    output_pack, state_pack = pack(x.unsqueeze(0), tuple(s.unsqueeze(0) for s in start))
    assert torch.equal(output_pack.squeeze(0), output)
    assert all(torch.equal(p.squeeze(0), s) for p, s in zip(state_pack, state, strict=True))


@pytest.mark.parametrize("spec, options, param", [c for c in every_param() if c.values[2].default is not None])
def test_a_hyper_parameter_left_out_counts_as_its_default(spec: ModelSpec, options: Options, param: Param) -> None:
    given = points(spec, options, 2, optional=True)
    others = {name: values for name, values in given.items() if name != param.name}
    default = given[param.default] if isinstance(param.default, str) else param.default
    other = [value(param, 0.1), value(param, 0.9)]
    outputs = []
    for hyper in (others, {**others, param.name: default}, {**others, param.name: other}):
        torch.default_generator.manual_seed(0)
        layer = spec.build(SIZES, 2, **hyper, **options).to(FLOAT64)
        outputs.append(layer(draw_normal(2, 5, 6, 2), None, [Generator().manual_seed(k) for k in range(2)])[0])
    assert torch.equal(outputs[0], outputs[1])
    assert not torch.equal(outputs[0], outputs[2])


@all_params
def test_a_learned_hyper_parameter_gets_a_gradient_and_a_whole_one_is_refused(
    spec: ModelSpec, options: Options, param: Param
) -> None:
    learned = nn.Parameter(torch.tensor([value(param, 0.6), value(param, 0.9)], dtype=FLOAT64))
    if param.whole:  # a number of steps
        with pytest.raises(ValueError, match="which is not trained, got a Parameter"):
            layer_of(spec, options, members=2, **{param.name: learned})
        return
    layer = layer_of(spec, options, members=2, **{param.name: learned})
    assert dict(layer.named_parameters())[param.name] is learned
    layer(draw_normal(2, 5, 6, 2))[0].sum().backward()
    if param.name == "sigma":  # what acts on the start only
        assert learned.grad is None
    elif param.name != "dropout":
        assert learned.grad is not None and (learned.grad != 0).all() and learned.grad.isfinite().all()


@all_cases
@pytest.mark.parametrize("every_step", [False, True])
def test_a_network_reads_out_the_output_by_an_affine_map(spec: ModelSpec, options: Options, every_step: bool) -> None:
    network, x = network_of(spec, options, [1, 2]).eval(), draw_normal(2, 5, 6, 2)
    output, states = network(batch_of(x, every_step)), network.layer(x)[0]
    assert output.shape == ((2, 5, 6, 3) if every_step else (2, 6, 3))
    for k in range(2):
        seen = states[k] if every_step else states[k, -1]
        assert_close(output[k], nn.functional.linear(seen, network.weight[k], network.bias[k]))


@all_cases
def test_saved_weights_and_hyper_parameters_give_the_same_network_back(spec: ModelSpec, options: Options) -> None:
    network, other = network_of(spec, options, [1, 2]).eval(), network_of(spec, options, [3, 4]).eval()
    x = batch_of(draw_normal(2, 5, 6, 2))
    for buffer in other.buffers():
        buffer.mul_(0.5)
    assert not torch.equal(other(x), network(x))
    other.load_state_dict(network.state_dict())
    assert torch.equal(other(x), network(x))


@all_cases
@settings(max_examples=5)
@given(
    seeds=st.lists(st.integers(0, 2**32 - 1), min_size=2, max_size=3, unique=True),
    p=st.integers(1, 3),
    d=st.integers(1, 9),
    q=st.integers(1, 3),
    noise=st.integers(0, 100),
)
def test_a_trial_starts_from_the_same_weights_alone_and_in_a_pack(
    spec: ModelSpec, options: Options, seeds: list[int], p: int, d: int, q: int, noise: int
) -> None:
    sizes, hyper = Sizes(p, d, q, 7), points(spec, options, len(seeds), optional=True)
    pack = Network(spec, sizes, hyper, seeds, options)
    torch.default_generator.manual_seed(noise)
    for k, seed in enumerate(seeds):
        alone = Network(spec, sizes, {name: [v[k]] for name, v in hyper.items()}, [seed], options)
        for name, lone in alone.state_dict().items():
            assert torch.equal(pack.state_dict()[name][k], lone[0]), name
    assert not torch.equal(pack.weight[0], pack.weight[1])


@all_cases
@settings(max_examples=5)
@given(index=st.permutations(range(4)).flatmap(lambda order: st.integers(1, 4).map(lambda n: order[:n])))
def test_keep_leaves_exactly_the_chosen_members(spec: ModelSpec, options: Options, index: list[int]) -> None:
    network, x, chosen = network_of(spec, options, [1, 2, 3, 4]), draw_normal(4, 5, 6, 2), torch.tensor(index)
    before, output = {name: tensor.clone() for name, tensor in network.state_dict().items()}, network(batch_of(x), STEP)
    network.keep(chosen)
    assert network.members == len(index)
    assert all(torch.equal(tensor, before[name][chosen]) for name, tensor in network.state_dict().items())
    assert_close(network(batch_of(x[chosen]), STEP), output[chosen])
    with pytest.raises(ValueError, match=rf"x must be \({len(index)}, T, B, 2\) and not empty, got \(5, 5, 6, 2\)"):
        network(batch_of(draw_normal(5, 5, 6, 2)))
