"""Rules for gradients and weights: gradients agree with finite differences, and no weight is unused."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Generator, Tensor
from torch.func import functional_call

from longwave.models.base.spec import Sizes
from longwave.platform.contracts.rule import NotMeant, require
from longwave.platform.contracts.small import Case, draw_normal, make_batch, value_at

SCALE = 0.7
"""Standard deviation of the weights at which gradients are compared: far from initialisation, but not saturated."""


def check_differentiable(case: Case) -> None:
    """Check the gradients of input, state, weights and hyper-parameters against finite differences, in float64.

    Once with only the required hyper-parameters, once with all. Layers with surrogate gradients are not checked.
    """
    if case.spec.layer.SURROGATE:
        raise NotMeant("not checked: the layer declares a surrogate gradient")
    _check_slopes(case, {})
    if optional := [p for p in case.params if not p.searched and p.name != "dropout"]:
        _check_slopes(case, case.points(1, optional))


def _check_slopes(case: Case, chosen: Mapping[str, Any]) -> None:
    torch.default_generator.manual_seed(5)
    layer = case.layer(1, Sizes(1, 2, 1, 5), **chosen)  # members are compared with each other by other rules
    for name in layer.shapes():
        getattr(layer, name).data.normal_(0.0, SCALE)
    idle = {p.name for p in case.params if p.whole or p.name == "dropout"}
    tensors = {**dict(layer.named_parameters()), **dict(layer.named_buffers())}
    names, states = [name for name in tensors if name not in idle], list(layer.state_shapes().values())

    def function(x: Tensor, *states_and_weights: Tensor) -> tuple[Tensor, ...]:
        weights = dict(zip(names, states_and_weights[len(states) :], strict=True))
        output, state = functional_call(layer, weights, (x, states_and_weights[: len(states)]))
        return output, *state

    drawn = [draw_normal(1, 3, 2, 1), *(draw_normal(1, 2, *shape, seed=k) for k, shape in enumerate(states))]
    inputs = [t.detach().clone().requires_grad_() for t in (*drawn, *(tensors[name] for name in names))]
    if torch.autograd.gradcheck(function, tuple(inputs), raise_exception=False):
        return
    labels = ["the input", *(f"the state {name}" for name in layer.state_shapes()), *names]
    for k, name in enumerate(labels):  # find the wrong one
        isolated = [t if j == k else t.detach() for j, t in enumerate(inputs)]
        try:
            is_exact = torch.autograd.gradcheck(function, tuple(isolated), raise_exception=False)
        except ValueError:  # no output requires a gradient
            is_exact = not _input_matters(function, isolated, k)
        require(is_exact, f"the gradient of {name} differs from finite differences")
    require(False, "the gradients differ from finite differences")


def _input_matters(function: Any, inputs: list[Tensor], k: int) -> bool:
    """Return whether one of a function's inputs changes its outputs."""
    other = [t.detach() + 0.01 * (j == k) for j, t in enumerate(inputs)]
    plain = [t.detach() for t in inputs]
    return any(not torch.equal(a, b) for a, b in zip(function(*plain), function(*other), strict=True))


def weights_used(case: Case) -> None:
    """Check that every trained number has a finite gradient that is not zero."""
    torch.default_generator.manual_seed(5)
    network = case.network([1, 2])
    for name in network.layer.shapes():
        getattr(network.layer, name).data.normal_(
            0.0, SCALE
        )  # weights initialised at 0 can block the gradients of others
    output = network(make_batch(draw_normal(2, 5, 6, 2), every_step=True), 3)
    (output * torch.linspace(-1, 1, output.numel(), dtype=output.dtype).view_as(output)).sum().backward()
    for name, weight in network.layer.named_parameters():
        require(weight.grad is not None, f"{name} gets no gradient: nothing depends on it, or it is detached")
        assert weight.grad is not None
        require(weight.grad.isfinite().all(), f"the gradient of {name} is not finite")
        require(
            weight.grad.reshape(len(weight), -1).any(1).all(), f"the gradient of {name} is zero: nothing depends on it"
        )


def numbers_matter(case: Case) -> None:
    """Check that each hyper-parameter changes the outputs, and that calls are deterministic."""
    for param in case.params:
        outputs = []
        for fraction in (0.6, 0.6, 0.9):
            chosen: dict[str, Any] = {param.name: value_at(param, fraction)}
            layer = case.layer(**chosen)
            outputs.append(layer(draw_normal(9, 6, 2), None, [Generator().manual_seed(1)])[0])
        require(torch.equal(outputs[0], outputs[1]), "the same call gives different numbers the second time")
        require((outputs[2] - outputs[0]).abs().max() > 1e-9, f"{param.name} changes no output")


def ends_of_ranges(case: Case) -> None:
    """Check that outputs are finite at both ends of each range."""
    for param in case.params:
        smallest = max(param.low, 0.0 if param.zero else 1e-6)
        for number in (smallest, min(param.most, param.high)):
            chosen: dict[str, Any] = {param.name: float(math.ceil(number)) if param.whole else number}
            layer = case.layer(**chosen)
            output = layer(draw_normal(5, 6, 2), None, [Generator().manual_seed(1)])[0]
            require(output.isfinite().all(), f"{param.name} = {number:g} gives numbers that are not finite")
