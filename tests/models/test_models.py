"""The models' gradients: against finite differences, and against the thesis's backward recursion; what they refuse."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
from cases import sequence_models
from torch import Tensor
from torch.func import functional_call

from longwave.models.base.param import OptionValue
from longwave.models.base.recurrence import Recurrence
from longwave.models.base.spec import ModelSpec, Sizes
from longwave.models.cornn import CoRNN
from longwave.models.unicornn import UnICORNN
from longwave.platform.errors import ConfigError
from longwave.platform.registry import all_models, get_model
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.plan.resolve import resolve

FLOAT64 = torch.float64
UNDIFFERENTIABLE = {"tau", "sigma", "dropout"}
"""A whole number, the scale of the start alone, and a share of what is drawn at random."""


def other_choices(choices: tuple[OptionValue, ...]) -> tuple[OptionValue, ...]:
    """The choices beside the default; of numbers of layers or steps, the first alone."""
    return choices[1:2] if type(choices[0]) is int else choices[1:]


def cases() -> list[Any]:
    """Each model at its defaults with only what must be given, then with all, and with each other option, with all."""
    actual = []
    for spec in sequence_models().values():
        actual.append(pytest.param(spec, spec.defaults, False, id=f"{spec.name}-required"))
        actual.append(pytest.param(spec, spec.defaults, True, id=f"{spec.name}-all"))
        for name, choices in spec.layer.OPTIONS.items():
            for choice in other_choices(choices):
                changed = {**spec.defaults, name: choice}
                actual.append(pytest.param(spec, changed, True, id=f"{spec.name}-{name}-{choice}"))
    return actual


CASES = cases()
Function = Callable[..., tuple[Tensor, ...]]


def build(spec: ModelSpec, options: Mapping[str, OptionValue], whole: bool, members: int) -> Recurrence:
    """A layer of members with different hyper-parameters and delays, and random weights."""
    relevant = [p for p in spec.layer.relevant(options) if p.name != "dropout" and (whole or p.default is None)]
    hyper = {p.name: [p.low + (p.high - p.low) * (k + 1) / 5 for k in range(members)] for p in relevant}
    if "tau" in hyper:
        hyper["tau"] = [1, 3][:members]
    layer = spec.build(Sizes(1, 2, 1, 5), members, **hyper, **options).to(FLOAT64)
    with torch.no_grad():
        for name in layer.shapes():
            getattr(layer, name).normal_(0.0, 0.7)
    return layer


def function_and_inputs(
    spec: ModelSpec, options: Mapping[str, OptionValue], whole: bool, members: int = 2
) -> tuple[Function, tuple[Tensor, ...]]:
    """Return the layer as a function of the input, the start state, all weights and all hyper-parameters."""
    torch.default_generator.manual_seed(5)
    layer = build(spec, options, whole, members)
    tensors = {**dict(layer.named_parameters()), **dict(layer.named_buffers())}
    named = {name: tensor for name, tensor in tensors.items() if name not in UNDIFFERENTIABLE}
    shapes = layer.state_shapes().values()
    n = len(shapes)

    def function(x: Tensor, *rest: Tensor) -> tuple[Tensor, ...]:
        weights = dict(zip(named, rest[n:], strict=True))
        output, state = functional_call(layer, weights, (x, rest[:n]))
        return output, *state

    start = [torch.randn(members, 2, *shape, dtype=FLOAT64) for shape in shapes]
    inputs = [torch.randn(members, 3, 2, 1, dtype=FLOAT64), *start, *named.values()]
    return function, tuple(tensor.detach().clone().requires_grad_() for tensor in inputs)


@pytest.mark.parametrize(
    "name, options",
    [
        pytest.param("lem", {}, marks=pytest.mark.integration),
        ("cornn", {}),
        ("cornn", {"damping": "implicit"}),
        ("lipschitz_rnn", {"scheme": "rk2"}),
        pytest.param("tau_gru", {}, marks=pytest.mark.integration),
        pytest.param("unicornn", {"layers": 2}, marks=pytest.mark.integration),
    ],
)
def test_second_gradients_equal_finite_differences(name: str, options: dict[str, OptionValue]) -> None:
    spec = get_model(name)
    function, inputs = function_and_inputs(spec, {**spec.defaults, **options}, False, members=1)
    assert torch.autograd.gradgradcheck(function, inputs)


@pytest.mark.parametrize("spec, options, whole", [c for c in CASES if c.id.startswith(("exprnn", "indrnn", "cornn-t"))])
def test_the_gradients_are_compared_away_from_the_kinks_of_relu(
    spec: ModelSpec, options: dict[str, OptionValue], whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Tensor] = []

    def relu(u: Tensor) -> Tensor:
        seen.append(u.detach())
        return torch.relu(u)

    monkeypatch.setattr(f"longwave.models.{spec.name}.relu", relu)
    function, inputs = function_and_inputs(spec, options, whole)
    function(*inputs)
    assert seen
    kinks = torch.cat([u.flatten() for u in seen])
    assert kinks.abs().min() > 1e-3
    assert spec.name == "cornn" or kinks.min() < 0 < kinks.max()
    if spec.name == "exprnn":
        b = inputs[3].detach().unsqueeze(1)  # x, h, V, b, M; relu sees |u| + b
        assert min((u - b).min() for u in seen) > 1e-3


def thesis_adjoints(
    w: Tensor, s: Tensor, alpha: Tensor, x: Tensor, y: Tensor, z: Tensor, pull: Tensor
) -> dict[str, Tensor]:
    """Thesis eqs. 3.85-3.89 for one layer and all its neurons.

    Args:
        w, s: The weight and the step Δt σ(c) of each neuron, (d,).
        alpha: α.
        x: The drive V u + b of the steps 1 to N, (N, d).
        y, z: The states of the steps 0 to N, (N + 1, d).
        pull: de/dy of the steps 0 to N, (N + 1, d).
    """
    steps = len(x)
    delta_y, delta_z = pull[steps], torch.zeros_like(w)
    grad_w, grad_s, grad_x = torch.zeros_like(w), torch.zeros_like(w), torch.zeros_like(x)
    for k in range(1, steps + 1):
        at = w * y[steps - k] + x[steps - k]
        slope = 1 - torch.tanh(at) ** 2
        before, delta_z = delta_y, delta_z + s * delta_y
        delta_y = delta_y - s * delta_z * (slope * w + alpha) + pull[steps - k]
        grad_w = grad_w - s * delta_z * slope * y[steps - k]
        grad_x[steps - k] = -s * delta_z * slope
        grad_s = grad_s + before * z[steps - k + 1] - delta_z * (torch.tanh(at) + alpha * y[steps - k])
    return {"w": grad_w, "x": grad_x, "s": grad_s, "y": delta_y, "z": delta_z}


@pytest.mark.parametrize("alpha", [0.0, 9.0])
def test_unicornns_gradients_are_those_of_the_thesiss_backward_recursion(alpha: float) -> None:
    torch.default_generator.manual_seed(1)
    dt, steps, d = 0.4, 12, 4
    layer = UnICORNN(3, d, layers=1, dt=torch.tensor(dt, dtype=FLOAT64), alpha=alpha).to(FLOAT64)
    torch.nn.init.normal_(layer.b1)
    torch.nn.init.normal_(layer.c1)
    u = torch.randn(steps, 1, 3, dtype=FLOAT64, requires_grad=True)
    start = [torch.randn(1, d, dtype=FLOAT64, requires_grad=True) for _ in "yz"]
    output, _ = layer(u, tuple(start))
    pull = torch.randn(steps, d, dtype=FLOAT64)
    (output[:, 0] * pull).sum().backward()

    ys, zs = [start[0].detach()], [start[1].detach()]
    for n in range(steps):  # the states of every step, one call each
        _, (y, z) = layer(u.detach()[n : n + 1], (ys[-1], zs[-1]))
        ys.append(y.detach())
        zs.append(z.detach())
    gate = torch.sigmoid(layer.c1.detach())
    drive = u.detach()[:, 0] @ layer.V1.detach().T + layer.b1.detach()
    w, pulls = layer.w1.detach(), torch.cat([torch.zeros(1, d, dtype=FLOAT64), pull])
    actual = thesis_adjoints(w, dt * gate, torch.tensor(alpha), drive, torch.cat(ys), torch.cat(zs), pulls)

    pairs = {
        "w": (layer.w1.grad, actual["w"]),
        "c": (layer.c1.grad, dt * gate * (1 - gate) * actual["s"]),
        "b": (layer.b1.grad, actual["x"].sum(0)),
        "V": (layer.V1.grad, actual["x"].T @ u.detach()[:, 0]),
        "u": (u.grad[:, 0], actual["x"] @ layer.V1.detach()),
        "y": (start[0].grad[0], actual["y"]),
        "z": (start[1].grad[0], actual["z"]),
    }
    for ours, thesis in pairs.values():
        torch.testing.assert_close(ours, thesis, rtol=1e-11, atol=1e-12)


def test_a_trainable_cornn_refuses_a_step_that_no_sigmoid_gives() -> None:
    with pytest.raises(ValueError, match=r"^CoRNN: Δt \(dt\) must be a finite number > 0 and ≤ 0\.99, got 1\.0\.$"):
        CoRNN(1, 2, dt=1.0, gamma=1.0, epsilon=1.0, trainable=True)
    CoRNN(1, 2, dt=1.0, gamma=1.0, epsilon=1.0)


def test_a_search_draws_no_step_that_a_trainable_cornn_refuses() -> None:
    spaces = [get_model("cornn").space("any", {"trainable": t}, time_scale=100) for t in (False, True)]
    assert [{p.name: p.high for p in space}["dt"] for space in spaces] == [3.0, 0.99]


@pytest.mark.parametrize(
    "name, options, message",
    [
        ("graphcon", {"coupling": "tran", "residual": "plus"}, "coupling tran takes residual none, got 'plus'."),
        (
            "residual_unicornn",
            {"layers": 3, "skip": 3},
            "layers 3 with skip 3 has no skip connection. Set layers above skip, up to 6.",
        ),
    ],
)
def test_options_that_exclude_each_other_are_refused_in_a_line_before_anything_runs(
    name: str, options: dict[str, OptionValue], message: str
) -> None:
    task, variant = ("karate", "") if name == "graphcon" else ("adding", "N=20")
    file = SweepFile(name="s", task=task, variant=variant, models=[name], trials=2, retrain=1, model={name: options})
    with pytest.raises(ConfigError, match=re.escape(f"model.{name}: {message}")):
        resolve(file)
    with pytest.raises(ValueError, match=re.escape(f"{get_model(name).layer.__name__}: {message}")):
        get_model(name).build(Sizes(3, 4, 2, 6), alpha=1.0, dt=1.0, gamma=1.0, **options)


@pytest.mark.parametrize("name", sorted(all_models()))
def test_a_memory_below_one_step_is_refused(name: str) -> None:
    spec = get_model(name)
    message = rf"^{spec.layer.__name__}: t_max must be at least 1, got 0\.$"
    with pytest.raises(ValueError, match=message):
        spec.build(Sizes(1, 2, 1, 0))


@pytest.mark.parametrize(
    "name, option, wrong, allowed",
    [
        ("cornn", "damping", "none", "explicit, implicit"),
        ("lem", "biases", 2, "8, 4"),
        ("lem", "multiscale", 1, "True, False"),
        ("lstm", "biases", 1.0, "2, 1"),
        ("unicornn", "layers", 7, "3, 1, 2, 4, 5, 6"),
        ("unicornn", "layers", True, "3, 1, 2, 4, 5, 6"),
        ("residual_unicornn", "layers", 2, "6, 3, 4, 5"),
    ],
)
def test_an_option_refuses_any_other_value_and_type(name: str, option: str, wrong: object, allowed: str) -> None:
    spec = get_model(name)
    message = re.escape(f"{spec.layer.__name__}: {option} must be one of {allowed}, got {wrong!r}.")
    with pytest.raises(ValueError, match=f"^{message}$"):
        spec.build(Sizes(1, 2, 1, 5), **{option: wrong})


@pytest.mark.parametrize(
    "name, options, hyper",
    [
        ("lem", {"multiscale": False}, "floor"),
        ("tau_gru", {"form": "alpha=0"}, "tau"),
        ("tau_gru", {"form": "beta=0"}, "beta"),
        ("tau_gru", {"form": "no gating"}, "alpha"),
        ("unicornn", {"layers": 2}, "dt_3"),
        ("lstm", {}, "dt"),
    ],
)
def test_a_hyper_parameter_without_meaning_is_refused(name: str, options: dict[str, OptionValue], hyper: str) -> None:
    with pytest.raises(ValueError, match=rf" has no parameter '{hyper}' here; it has: "):
        get_model(name).build(Sizes(1, 2, 1, 5), **options, **{hyper: 1.0})
