"""What every model refuses and declares, and the dropout of stacked layers."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
import torch
from batches import batch_of
from cases import Options, every_case
from layers import draw_normal
from torch import Generator, nn

from longwave.models.base.delay import TAU
from longwave.models.base.network import Network
from longwave.models.base.param import Param
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import ModelSpec, Sizes
from longwave.models.base.stack import DROPOUT
from longwave.models.indrnn import IndRNN
from longwave.platform.registry import all_models

SIZES = Sizes(inputs=2, hidden=4, outputs=3, length=7)
FLOAT64 = torch.float64


def relevant(spec: ModelSpec, options: Options) -> list[Param]:
    return list(spec.layer.relevant({**spec.defaults, **options}))


def list_irrelevant(spec: ModelSpec, options: Options) -> list[Param]:
    names = {p.name for p in relevant(spec, options)}
    return [p for p in spec.layer.PARAMS if p.name not in names]


def every_param(relevant_ones: bool = True) -> list[Any]:
    """Return all cases, each with each hyper-parameter that means something under its options, or nothing."""
    return [
        pytest.param(*case.values, p, id=f"{case.id}-{p.name}")
        for case in every_case()
        for p in (relevant(*case.values) if relevant_ones else list_irrelevant(*case.values))
    ]


all_cases = pytest.mark.parametrize("spec, options", every_case())
all_params = pytest.mark.parametrize("spec, options, param", every_param())
with_dropout = pytest.mark.parametrize(
    "spec, options", [c for c in every_case() if DROPOUT in c.values[0].layer.PARAMS]
)


def valid(param: Param) -> float:
    """Return a valid value, a small one for a number of steps."""
    return 2.0 if param.whole else (param.low + param.high) / 2


def layer_of(
    spec: ModelSpec, options: Options, members: int | None = None, sizes: Sizes = SIZES, **more: Any
) -> Recurrence:
    """Return a layer with the hyper-parameters that must be given, the same for all members."""
    torch.default_generator.manual_seed(0)
    hyper: dict[str, Any] = {p.name: valid(p) for p in relevant(spec, options) if p.searched}
    return spec.build(sizes, members, **{**hyper, **options, **more}).to(FLOAT64)


def seeded(*seeds: int) -> list[Generator]:
    return [Generator().manual_seed(seed) for seed in seeds]


@all_cases
def test_a_size_that_is_not_a_whole_number_of_at_least_one_is_refused(spec: ModelSpec, options: Options) -> None:
    good = {"input_size": 2, "hidden_size": 4, "members": 2, "t_max": 7}
    for size in good:
        for value, rule in ((0, "at least 1, got 0"), (-3, "at least 1, got -3"), (2.5, "a whole number, got 2.5")):
            p, d, members, length = {**good, size: value}.values()
            rule = rf"^{spec.layer.__name__}: {size} must be {re.escape(rule)}\.$"
            with pytest.raises(ValueError, match=rule):
                layer_of(spec, options, members, Sizes(p, d, 3, length))


@all_params
def test_a_hyper_parameter_outside_its_valid_range_is_refused(spec: ModelSpec, options: Options, param: Param) -> None:
    wrong = [-1.0, math.nan, math.inf, *([] if param.zero else [0.0]), *([2.5] if param.whole else [])]
    for value in [*wrong, *([param.most + 0.5] if param.most < math.inf else [])]:
        rule = re.escape(f"{spec.layer.__name__}: {param.symbol} ({param.name}) must be {param.rule}, got {value}.")
        with pytest.raises(ValueError, match=f"^{rule}$"):
            layer_of(spec, options, **{param.name: value})
        with pytest.raises(ValueError, match=f"^{rule}$"):
            layer_of(spec, options, members=2, **{param.name: [valid(param), value]})


@all_params
def test_the_smallest_and_the_largest_valid_value_give_numbers(spec: ModelSpec, options: Options, param: Param) -> None:
    for value in (0.0 if param.zero else 1e-6, min(param.most, valid(param))):
        output, _ = layer_of(spec, options, **{param.name: value})(draw_normal(5, 6, 2))
        assert output.isfinite().all()


@pytest.mark.parametrize(
    "spec, options, param", [c for c in every_param() if c.values[2].default is None and c.values[2].searched]
)
def test_a_hyper_parameter_without_default_must_be_given(spec: ModelSpec, options: Options, param: Param) -> None:
    rule = rf"^{spec.layer.__name__}: {param.symbol} \({param.name}\) must be given\.$"
    hyper = {p.name: valid(p) for p in relevant(spec, options) if p != param}
    with pytest.raises(ValueError, match=rule):
        spec.build(SIZES, **hyper, **options)
    with pytest.raises(ValueError, match=rule):
        Network(spec, SIZES, {name: [v, v] for name, v in hyper.items()}, [1, 2], options)


@all_cases
def test_an_unknown_hyper_parameter_is_refused(spec: ModelSpec, options: Options) -> None:
    known = ", ".join([*(p.name for p in relevant(spec, options)), *spec.layer.OPTIONS]) or "none"
    rule = re.escape(f"{spec.layer.__name__} has no parameter 'nonsense' here; it has: {known}.")
    with pytest.raises(ValueError, match=f"^{rule}$"):
        layer_of(spec, options, nonsense=1.0)


@pytest.mark.parametrize("spec, options, param", every_param(relevant_ones=False))
def test_a_hyper_parameter_that_means_nothing_under_the_options_is_refused(
    spec: ModelSpec, options: Options, param: Param
) -> None:
    with pytest.raises(ValueError, match=rf"^{spec.layer.__name__} has no parameter '{param.name}' here; it has: "):
        layer_of(spec, options, **{param.name: valid(param)})


@pytest.mark.parametrize(
    "spec, name",
    [pytest.param(s, name, id=f"{s.name}-{name}") for s in all_models().values() for name in s.layer.OPTIONS],
)
def test_a_choice_that_an_option_does_not_offer_is_refused(spec: ModelSpec, name: str) -> None:
    choices = spec.layer.OPTIONS[name]
    assert len(set(choices)) == len(choices) > 1
    equal: list[object] = {bool: [1, 1.0], int: [True, 1.0]}.get(type(choices[0]), [])  # as Python's == has it
    hyper = {p.name: valid(p) for p in relevant(spec, {}) if p.searched}
    for value in ["nonsense", 99, None, *equal]:
        rule = f"{spec.layer.__name__}: {name} must be one of {', '.join(map(str, choices))}, got {value!r}."
        with pytest.raises(ValueError, match=f"^{re.escape(rule)}$"):
            spec.build(SIZES, **hyper, **{name: value})


@all_params
def test_another_number_of_values_than_members_is_refused(spec: ModelSpec, options: Options, param: Param) -> None:
    v = valid(param)
    for members, value, rule in [
        (3, [v] * 2, r"one value for each of 3 members, got shape \(2,\)"),
        (3, [[v] * 3], r"one value for each of 3 members, got shape \(1, 3\)"),
        (3, nn.Parameter(torch.tensor(v)), r"one value for each of 3 members, got shape \(\)"),
        (None, [v], r"one number, got shape \(1,\)"),
    ]:
        with pytest.raises(ValueError, match=rf"^{spec.layer.__name__}: {param.name} must be {rule}\.$"):
            layer_of(spec, options, members, **{param.name: value})


@all_params
def test_one_number_holds_for_all_members(spec: ModelSpec, options: Options, param: Param) -> None:
    layer = layer_of(spec, options, members=3, **{param.name: valid(param)})
    assert getattr(layer, param.name).tolist() == pytest.approx([valid(param)] * 3, rel=1e-6)


@all_cases
def test_an_input_that_does_not_fit_is_refused(spec: ModelSpec, options: Options) -> None:
    layer, pack, name = layer_of(spec, options), layer_of(spec, options, members=2), spec.layer.__name__
    for wrong in [(5, 2), (5, 6, 3), (1, 5, 6, 2), (0, 6, 2), (5, 0, 2)]:
        rule = re.escape(f"{name}: x must be (T, B, 2) and not empty, got {wrong}.")
        with pytest.raises(ValueError, match=f"^{rule}$"):
            layer(torch.zeros(wrong, dtype=FLOAT64))
    with pytest.raises(ValueError, match=rf"^{name}: x must be \(2, T, B, 2\) and not empty, got \(3, 5, 6, 2\)\.$"):
        pack(draw_normal(3, 5, 6, 2))
    with pytest.raises(ValueError, match=rf"^{name}: x must be \(B, T, 2\) and not empty, got \(5, 6, 3\)\.$"):
        layer_of(spec, options, batch_first=True)(draw_normal(5, 6, 3))
    for dtype in (torch.float32, torch.int64):
        with pytest.raises(ValueError, match=rf"^{name}: x must have the weights' dtype torch.float64, got {dtype}\.$"):
            layer(torch.zeros(5, 6, 2, dtype=dtype))
    rule = re.escape(f"{name}: x must be one tensor (2, T, B, 2), of members of equal length, got list.")
    with pytest.raises(ValueError, match=f"^{rule}$"):
        pack([draw_normal(5, 6, 2), draw_normal(4, 6, 2)])


@pytest.mark.parametrize("spec, options", [case for case in every_case() if case.values[0].layer.STATE])
def test_a_state_that_does_not_fit_is_refused(spec: ModelSpec, options: Options) -> None:
    layer = layer_of(spec, options)
    needed = {name: (6, *shape) for name, shape in layer.state_shapes().items()}
    right = list(needed.values())
    lead = [(1, *shape) for shape in right]
    for shapes in [right[:-1], [*right, right[0]], [(5, *right[0][1:]), *right[1:]], [*right[:-1], lead[-1]], lead]:
        listed = ", ".join(f"{name} {shape}" for name, shape in needed.items())
        rule = re.escape(f"{spec.layer.__name__}: state must be the tensors {listed}, got {shapes}.")
        with pytest.raises(ValueError, match=f"^{rule}$"):
            layer(draw_normal(5, 6, 2), tuple(draw_normal(*shape) for shape in shapes))
    rule = re.escape(f"{spec.layer.__name__}: {[*needed][-1]} must have the weights' dtype torch.float64, got ")
    with pytest.raises(ValueError, match=rf"^{rule}torch.float32\.$"):
        layer(draw_normal(5, 6, 2), (*(draw_normal(*shape) for shape in right[:-1]), torch.zeros(right[-1])))
    with pytest.raises(ValueError, match=r": x must have the weights' dtype torch.float64, got torch.float32\.$"):
        layer(torch.zeros(5, 6, 2), tuple(draw_normal(*shape) for shape in right))


def test_a_range_that_makes_no_sense_is_refused() -> None:
    def param(low: float, high: float, log: bool = False, **more: Any) -> Param:
        return Param("dt", "Δt", low, high, log, "steps", "Step.", **more)

    with pytest.raises(ValueError, match=r"^dt: low must not exceed high, got low=2\.0, high=1\.0\.$"):
        param(2.0, 1.0)
    with pytest.raises(ValueError, match=r"^dt: a log range needs low > 0, got low=0\.0\.$"):
        param(0.0, 1.0, log=True)
    with pytest.raises(ValueError, match=r"^Δt \(dt\) must be a finite number > 0, got inf\.$"):
        param(1.0, float("inf"))
    with pytest.raises(ValueError, match=r"^dt: low must not exceed high, got low=nan, high=1\.0\.$"):
        param(float("nan"), 1.0)
    with pytest.raises(ValueError, match=r"^Δt \(dt\) must be a finite number > 0 and ≤ 0\.5, got 1\.0\.$"):
        param(0.1, 1.0, most=0.5)
    with pytest.raises(ValueError, match=r"^Δt \(dt\) must be a whole number ≥ 0, got 0\.5\.$"):
        param(0.5, 1.0, whole=True, zero=True)
    with pytest.raises(ValueError, match=r"must be a finite number > 0, got 0\.0"):
        param(0.1, 1.0).between(0.0, 1.0)
    assert TAU.rule == "a whole number ≥ 0 and ≤ 100000"


def test_a_task_with_its_own_published_range_is_searched_there_and_others_as_usual() -> None:
    cornn = all_models()["cornn"]
    on_adding = {p.name: (p.low, p.high) for p in cornn.space("adding")}
    assert on_adding == {"lr": (1e-4, 0.1), "dt": (0.01, 0.1), "gamma": (1.0, 100.0), "epsilon": (1.0, 100.0)}
    elsewhere = {p.name: (p.low, p.high) for p in cornn.space("digits")}
    assert elsewhere == {"lr": (1e-4, 0.1), "dt": (0.01, 0.1), "gamma": (0.1, 10.0), "epsilon": (0.1, 10.0)}
    assert [p.name for p in cornn.space("adding")] == ["lr", "dt", "gamma", "epsilon"]


@all_cases
def test_a_model_declares_the_hyper_parameters_that_its_layer_has(spec: ModelSpec, options: Options) -> None:
    layer, params = layer_of(spec, options), relevant(spec, options)
    assert {p.name for p in params} <= {p.name for p in spec.params}
    own = {p.name for p in params if p.searched or isinstance(p.default, float)}
    assert set(dict(layer.named_buffers())) == own | layer.untrained()
    names = [p.name for p in params]
    assert [p.name for p in spec.space("any", options)] == ["lr", *(p.name for p in params if p.searched)]
    assert [p.name for p in spec.space("any", options, requested=[*names, "nonsense"])] == ["lr", *names]
    assert all(p.default is None or isinstance(p.default, float) or p.default in names for p in params)


@pytest.mark.parametrize("spec", [all_models()["unicornn"], all_models()["residual_unicornn"]])
def test_weights_that_stay_as_drawn_are_no_parameters(spec: ModelSpec) -> None:
    hyper = {p.name: [valid(p)] * 3 for p in relevant(spec, {}) if p.searched}
    fixed, trained = (Network(spec, SIZES, hyper, [1, 1, 2], {"multiscale": m}).layer for m in (False, True))
    assert fixed.untrained() == {f"c{k}" for k in range(1, int(spec.defaults["layers"]) + 1)}
    for name in fixed.untrained():
        weight = getattr(fixed, name)
        assert not weight.requires_grad and name not in dict(fixed.named_parameters())
        assert torch.equal(weight[0], weight[1]) and not torch.equal(weight[0], weight[2])
        assert torch.equal(weight, getattr(trained, name)) and getattr(trained, name).requires_grad


def open_layer(spec: ModelSpec, options: Options, p: float, members: int | None = None) -> Recurrence:
    """Return a stack with dropout whose neurons are all away from 0, so that zeros are those of the mask."""
    layer = layer_of(spec, options, members, Sizes(2, 64, 3, 7), dropout=p)
    for name, weight in layer.named_parameters():
        if name.startswith("b"):
            weight.data.fill_(9.0)
        weight.data.abs_()
    return layer


@with_dropout
def test_dropout_keeps_one_mask_a_sequence_at_all_steps_and_scales_what_it_keeps(
    spec: ModelSpec, options: Options
) -> None:
    p, x = 0.3, draw_normal(2, 5, 20, 2)
    layer = open_layer(spec, options, p, members=2)
    output, state = layer(x, None, seeded(1, 2))
    kept = output != 0
    assert (kept == kept[:, :1]).all()
    last = dict(zip(layer.state_shapes(), state, strict=True))[f"{layer.STATE[0]}{layer.layers}"]  # not dropped
    torch.testing.assert_close(output[:, -1], kept[:, -1] * last / (1 - p), rtol=1e-6, atol=0)
    masks = kept[:, 0].flatten(0, 1)
    assert len({tuple(mask.tolist()) for mask in masks}) == len(masks)
    n = masks.numel()
    assert abs((~masks).sum().item() - n * p) < 4 * math.sqrt(n * p * (1 - p))


@with_dropout
def test_dropout_of_everything_gives_zeros_and_finite_gradients(spec: ModelSpec, options: Options) -> None:
    x = draw_normal(5, 20, 2).requires_grad_()
    for p in (0.5, 1.0):
        share = nn.Parameter(torch.tensor(p, dtype=FLOAT64))
        for dropout in (p, share):
            layer = layer_of(spec, options, dropout=dropout)
            output, state = layer(x, None, seeded(1))
            assert (output == 0).all() if p == 1 else (output != 0).any()
            assert all(s.isfinite().all() for s in state)
            layer.zero_grad()
            (actual,) = torch.autograd.grad(output.sum(), [x], retain_graph=True)
            output.sum().backward()
            grads = [actual, *(w.grad for w in layer.parameters() if w.grad is not None)]
            assert len(grads) == 1 + len(list(layer.parameters()))
            assert all(g.isfinite().all() for g in grads)


@with_dropout
def test_dropout_leaves_outputs_as_they_are_in_evaluation_and_with_p_0(spec: ModelSpec, options: Options) -> None:
    x = draw_normal(5, 20, 2)
    expected = open_layer(spec, options, 0.5).eval()(x)[0]
    assert (expected != 0).all()
    assert torch.equal(open_layer(spec, options, 0.0)(x)[0], expected)
    layer = open_layer(spec, options, 0.5)
    torch.default_generator.manual_seed(1)
    first, second = layer(x)[0], layer(x)[0]
    assert not torch.equal(first, second)
    torch.default_generator.manual_seed(1)
    assert torch.equal(layer(x)[0], first)
    assert torch.equal(layer.eval()(x, None, seeded(1))[0], expected)


def test_dropout_acts_between_layers_with_a_mask_for_each_and_not_on_the_recursion() -> None:
    layer = IndRNN(2, 64, layers=2, dropout=0.5)
    for name, weight in layer.named_parameters():
        weight.data.copy_({"b1": torch.ones(64), "V2": torch.eye(64)}.get(name, torch.zeros_like(weight)))
    layer.w1.data.fill_(0.5)
    output, (below, above) = layer(torch.zeros(2, 3, 2), None, seeded(1))
    assert (below == 1.5).all()
    assert set(above.unique().tolist()) == {0.0, 3.0}
    assert set(output[-1].unique().tolist()) == {0.0, 6.0}
    assert (above[output[-1] == 0] != 0).any()


@with_dropout
def test_a_member_drops_the_same_alone_and_in_a_pack(spec: ModelSpec, options: Options) -> None:
    def network(*seeds: int) -> Network:
        hyper = {p.name: [valid(p)] * len(seeds) for p in relevant(spec, options) if p.searched or p is DROPOUT}
        return Network(spec, Sizes(2, 32, 3, 7), hyper, seeds, options, dtype=FLOAT64)

    pack, x = network(1, 2, 3), draw_normal(1, 5, 6, 2).expand(3, -1, -1, -1)
    together = pack(batch_of(x), 4)
    for k, seed in enumerate((1, 2, 3)):
        torch.testing.assert_close(network(seed)(batch_of(x[:1]), 4)[0], together[k], rtol=1e-12, atol=1e-13)
        assert not torch.equal(network(seed)(batch_of(x[:1]), 5)[0], together[k])
    assert torch.equal(pack(batch_of(x), 4), together)
    pack.seeds = [9, 2, 3]  # of the same weights
    assert [torch.equal(*pair) for pair in zip(pack(batch_of(x), 4), together, strict=True)] == [False, True, True]
    assert torch.equal(pack.eval()(batch_of(x), 4), pack(batch_of(x)))


@all_params
@pytest.mark.parametrize("value", ["0.1", None, {}])
def test_a_hyper_parameter_that_is_no_number_is_refused(
    spec: ModelSpec, options: Options, param: Param, value: object
) -> None:
    hyper = {p.name: valid(p) for p in relevant(spec, options) if p.searched}
    with pytest.raises(ValueError, match=rf"{re.escape(param.name)}\) must be {re.escape(param.rule)}, got"):
        spec.build(SIZES, **{**hyper, param.name: value}, **options)


def test_a_state_that_is_no_tuple_of_tensors_and_generators_for_other_members_are_refused() -> None:
    layer, x = all_models()["gru"].build(SIZES), torch.zeros(5, 6, 2)
    for state in (torch.zeros(6, 4), (1,), 3):
        with pytest.raises(ValueError, match=r"^GRU: state must be a tuple of tensors, got "):
            layer(x, state)
    with pytest.raises(ValueError, match=r"^GRU: one generator per member is needed, got 2\.$"):
        layer(x, None, [torch.Generator()] * 2)


def test_a_number_given_to_a_layer_is_held_in_full_precision() -> None:
    layer = all_models()["lem"].build(SIZES, dt=0.1).double()
    assert layer.dt.item() == 0.1
