"""Shared by tests of fused loops: layers with every fused cell, and the comparison with their float64 reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from longwave.models.base.fused import Fusable
from longwave.models.base.recurrence import Recurrence
from longwave.models.cornn import CoRNN
from longwave.models.gru import GRU
from longwave.models.kernels.cpu.emit import emit
from longwave.models.lem import LEM
from longwave.models.lipschitz_rnn import LipschitzRNN
from longwave.models.lstm import LSTM
from longwave.models.residual_unicornn import ResidualUnICORNN
from longwave.models.tau_gru import TauGRU
from longwave.models.unicornn import UnICORNN

Case = tuple[type[Recurrence], Mapping[str, Any]]
CORNN = {"dt": [0.03, 0.1], "gamma": [1.0, 3.0], "epsilon": [4.0, 2.0]}
LIPSCHITZ = {"epsilon": [0.03, 0.1], "beta": [0.7, 0.75], "gamma": [1.0, 0.5]}
UNICORNN = {"dt": [0.02, 0.05], "alpha": [1.0, 0.5], "layers": 2}
CASES: dict[str, Case] = {
    "lem": (LEM, {"dt": [0.4, 1.0]}),
    "cornn explicit": (CoRNN, CORNN),
    "cornn implicit": (CoRNN, {**CORNN, "damping": "implicit"}),
    "lipschitz euler": (LipschitzRNN, LIPSCHITZ),
    "lipschitz rk2": (LipschitzRNN, {**LIPSCHITZ, "scheme": "rk2"}),
    "tau_gru": (TauGRU, {"tau": [5, 0], "alpha": [0.5, 1.0], "beta": [0.7, 1.0]}),
    "tau_gru, a lag beyond the end": (TauGRU, {"tau": [70, 1]}),
    "lstm": (LSTM, {}),
    "gru": (GRU, {}),
    "unicornn": (UnICORNN, UNICORNN),
    "residual_unicornn": (ResidualUnICORNN, {**UNICORNN, "layers": 3}),
}
"""Layers by name; hyper-parameters of two members, damped enough that float32 is accurate to 1e-5 over 1000 steps."""


def build(case: str, d: int, p: int = 3, members: int | None = 2) -> Recurrence:
    """Return a layer of the case. The hyper-parameters that its loop reads are trained, so that they have gradients."""
    kind, settings = CASES[case]
    member_settings = {k: v[0] if isinstance(v, list) and members is None else v for k, v in settings.items()}
    torch.default_generator.manual_seed(0)
    layer = kind(p, d, members=members, **member_settings)
    for name in ("dt", "epsilon", "alpha") + (("gamma", "beta") if kind is not LipschitzRNN else ()):
        value = layer._buffers.pop(name, None)
        if value is not None:
            layer.register_parameter(name, nn.Parameter(value.float()))
    return layer.float()


def exact(layer: Recurrence, case: str, d: int, p: int = 3) -> Recurrence:
    """Return the same layer in float64, which the reference computes."""
    same = build(case, d, p, layer.members).double()
    same.load_state_dict({name: t.double() for name, t in layer.state_dict().items()})
    return same


def inputs(layer: Recurrence, steps: int, batch: int) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Return an input sequence and an initial state, float32."""
    generator = torch.Generator().manual_seed(steps)
    lead = () if layer.members is None else (layer.members,)
    x = torch.randn(*lead, steps, batch, layer.input_size, generator=generator)
    state = tuple(0.3 * torch.randn(*lead, batch, *s, generator=generator) for s in layer.state_shapes().values())
    return x, state


def outcome(layer: Recurrence, x: Tensor, state: tuple[Tensor, ...], one_by_one: bool = False) -> dict[str, Tensor]:
    """Return outputs, last state and all gradients of a weighted sum of both, by name.

    The weights are mostly positive: sums that cancel would measure their own rounding. With ``one_by_one`` the layer
    is run on each sequence of the batch alone, so that gradients of its weights are summed in another order.
    """
    dtype = next(layer.parameters()).dtype
    x, *state = (t.to(dtype, copy=True).requires_grad_() for t in (x, *state))
    if one_by_one:
        axis = 0 if layer.members is None else 1  # of the batch in a state; inputs have the steps before it
        starts = zip(*(s.split(1, axis) for s in state), strict=True)
        rows = [layer(row, start) for row, start in zip(x.split(1, axis + 1), starts, strict=True)]
        outputs = torch.cat([y for y, _ in rows], axis + 1)
        last = tuple(torch.cat(parts, axis) for parts in zip(*(end for _, end in rows), strict=True))
    else:
        outputs, last = layer(x, tuple(state))
    tensors = {"outputs": outputs, **{f"last {name}": s for name, s in zip(layer.state_shapes(), last, strict=True)}}
    generator = torch.Generator().manual_seed(1)
    weights = [1 + 0.3 * torch.randn(t.shape, generator=generator).to(t) for t in tensors.values()]
    total = sum((w * t).mean() for w, t in zip(weights, tensors.values(), strict=True))
    sources = {"x": x, **dict(zip(layer.state_shapes(), state, strict=True)), **dict(layer.named_parameters())}
    gradients = torch.autograd.grad(total, list(sources.values()), allow_unused=True)  # type: ignore[arg-type]
    return tensors | {f"d{name}": g for name, g in zip(sources, gradients, strict=True) if g is not None}


def assert_close(tensors: Mapping[str, Tensor], truth: Mapping[str, Tensor], bound: float = 1e-5) -> None:
    """Fail where a tensor is further from the truth than ``bound`` times the truth's norm."""
    for name, value in truth.items():
        if value.norm() == 0:
            assert name not in tensors or tensors[name].norm() == 0
            continue
        error = ((tensors[name].double() - value).norm() / value.norm()).item()
        assert error <= bound, f"{name}: {error:.1e}"


def on_cpu(layer: Recurrence) -> None:
    """Skip the test if there is no compiled loop, and say why."""
    route = layer.why()
    if route.path != "cpu":
        pytest.skip(f"no fused CPU loop here: {route.reason}")


def text_of(layer: Fusable[Any]) -> str:
    """Return the printed C++ of a layer's cell."""
    loop, _ = layer.loop_of(0, layer.loops()[0])
    return emit(loop.plan)
