"""Every model with every option that its fused loop may depend on, and its distance from float64."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import torch
from kernel_cases import inputs, outcome
from torch import Tensor, nn

from longwave.models.base.fused import Fusable
from longwave.models.base.matrix_recurrence import MatrixRecurrence
from longwave.models.base.sequence import SequenceLayer
from longwave.models.kernels import using
from longwave.platform.registry import all_models

NUMBERS = {
    "dt": 0.3, "gamma": 0.6, "epsilon": 0.2, "alpha": 0.5, "beta": 0.7, "sigma": 1.0, "floor": 0.1, "beta_w": 0.66,
    "gamma_w": 0.4,
}  # fmt: skip
"""Hyper-parameters by name; all but σ are trained, so that they have gradients."""

TAU = [5, 0]
"""Lags of two members."""


L = TypeVar("L", bound=SequenceLayer[Any])


def cases(kind: type[L]) -> dict[str, tuple[type[L], Mapping[str, Any]]]:
    """Return layer and options by name: each model with its defaults, and with one option changed at a time."""
    layers: dict[str, tuple[type[L], Mapping[str, Any]]] = {}
    for name, spec in all_models().items():
        if not issubclass(spec.layer, kind):
            continue
        few = {"layers": 4 if "skip" in spec.layer.OPTIONS else 2} if "layers" in spec.layer.OPTIONS else {}
        layers[name] = (spec.layer, few)
        for option, choices in spec.layer.OPTIONS.items():
            for choice in choices[1:] if option != "layers" else ():
                layers[f"{name}, {option} {choice}"] = (spec.layer, few | {option: choice})
    return layers


CASES = cases(Fusable)
CASES["lem, floor"] = (CASES["lem"][0], {"floor": 0.1})
MATRIX_CASES = cases(MatrixRecurrence)


def build(case: str, d: int, p: int = 3, members: int | None = 2, dtype: torch.dtype = torch.float32) -> Any:
    """Return a layer of the case, drawn from seed 0."""
    layer, settings = CASES[case] if case in CASES else MATRIX_CASES[case]
    options = {k: v for k, v in settings.items() if k in layer.OPTIONS}
    defaults = {k: v[0] for k, v in layer.OPTIONS.items()}
    lead = () if members is None else (members,)
    numbers: dict[str, Any] = {}
    for param in layer.relevant({**defaults, **options}):
        if param.name == "tau":
            numbers["tau"] = TAU[0] if members is None else TAU[:members]
        elif param.name in NUMBERS and (param.name != "floor" or "floor" in settings):
            value = torch.full(lead, NUMBERS[param.name], dtype=dtype)
            numbers[param.name] = NUMBERS["sigma"] if param.name == "sigma" else nn.Parameter(value)
    torch.default_generator.manual_seed(0)
    return layer(p, d, members=members, t_max=50, **options, **numbers).to(dtype)


def distances(
    case: str,
    d: int,
    steps: int,
    batch: int = 3,
    p: int = 3,
    draws: int = 0,
    device: str = "cpu",
    members: int | None = 2,
) -> dict[str, tuple[float, float]]:
    """Return, by tensor, how far the fused loop and the float32 reference are from the float64 reference.

    The float32 reference is run ``draws`` more times, with all its inputs perturbed by up to one unit in the last
    place, as by rounding, and every other time sequence by sequence; the furthest run counts.
    """
    layer, exact = (build(case, d, p, members, dtype).to(device) for dtype in (torch.float32, torch.float64))
    exact.load_state_dict({name: t.double() for name, t in layer.state_dict().items()})
    x, state = inputs(layer, steps, batch)
    x, state = x.to(device), tuple(s.to(device) for s in state)
    ours, truth = outcome(layer, x, state), outcome(exact, x, state)
    with using("reference"):
        plain = [outcome(layer, x, state)]
        for seed in range(draws):
            nudged, generator = build(case, d, p, members).to(device), torch.Generator().manual_seed(seed)
            nudged.load_state_dict({name: _moved(t, generator) for name, t in layer.state_dict().items()})
            plain.append(
                outcome(nudged, _moved(x, generator), tuple(_moved(s, generator) for s in state), seed % 2 == 1)
            )
    errors = {}
    for name, value in truth.items():
        size = value.norm().clamp_min(1e-300)
        ours_far, *others = (((t[name].double() - value).norm() / size).item() for t in (ours, *plain))
        errors[name] = (ours_far, max(others))
        if value.norm() == 0:
            errors[name] = (ours[name].norm().item() if name in ours else 0.0, 0.0)
    return errors


def _moved(t: Tensor, generator: torch.Generator) -> Tensor:
    if not t.is_floating_point():
        return t
    return t * (1 + 2.0**-23 * torch.randint(-1, 2, t.shape, generator=generator).to(t.device))


def too_far(errors: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Return the tensors further than 1e-5 from the truth, and three times further than the float32 loop."""
    return {name: (ours, plain) for name, (ours, plain) in errors.items() if not ours <= max(1e-5, 3 * plain)}
