"""Shared by tests of layers as numerical methods: weights by hand, runs, Jacobians, measured orders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from longwave.models.base.recurrence import Recurrence
from longwave.models.cornn import CoRNN

FLOAT64 = torch.float64
STEPS = (64, 128, 256, 512)
OPEN = 40.0
"""Bias of an open gate: σ(40) is 1 in float64 to the last bit."""
Weights = Mapping[str, np.ndarray]


def build(kind: type[Recurrence], d: int, p: int = 1, **settings: Any) -> Recurrence:
    """Return a layer in float64, whose hyper-parameters are never rounded to float32."""
    exact = {k: torch.tensor(v, dtype=FLOAT64) if isinstance(v, float) else v for k, v in settings.items()}
    return kind(p, d, **exact).to(FLOAT64)


def cornn(d: int, dt: float, gamma: float, epsilon: float, damping: str = "explicit") -> Recurrence:
    return build(CoRNN, d, dt=float(dt), gamma=float(gamma), epsilon=float(epsilon), damping=damping)


def fill(layer: Recurrence, weights: Weights | None = None) -> dict[str, np.ndarray]:
    """Set the named weights, and all others to zero; return all of them."""
    for name, parameter in layer.named_parameters():
        values = np.asarray((weights or {}).get(name, np.zeros(tuple(parameter.shape))), dtype=np.float64)
        parameter.data = torch.from_numpy(values.copy()).reshape(parameter.shape)
    return {name: parameter.detach().numpy() for name, parameter in layer.named_parameters()}


def random_weights(layer: Recurrence, seed: int, scale: float = 1.0) -> dict[str, np.ndarray]:
    """Set all weights to normal numbers of standard deviation ``scale`` and return them."""
    rng = np.random.default_rng(seed)
    return fill(layer, {name: scale * rng.standard_normal(tuple(p.shape)) for name, p in layer.named_parameters()})


def noise(steps: int, seed: int, scale: float = 1.0, p: int = 1) -> Tensor:
    """Return a random sequence, (T, p)."""
    return scale * torch.randn(steps, p, dtype=FLOAT64, generator=torch.Generator().manual_seed(seed))


def draw_normal(*shape: int, seed: int = 1) -> Tensor:
    """Return standard normal numbers of a shape."""
    return torch.randn(*shape, dtype=FLOAT64, generator=torch.Generator().manual_seed(seed))


def start(*state: Sequence[float] | np.ndarray) -> tuple[Tensor, ...]:
    """Return a layer's state for one sequence."""
    return tuple(torch.from_numpy(np.array([s], dtype=np.float64)) for s in state)


@torch.no_grad()
def path(layer: Recurrence, x: Tensor, *state: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return the state's k tensors after each step of one sequence x, (T, p), from an initial state: (T, k, d)."""
    now, rows = start(*state), []
    for x_n in x:
        _, now = layer(x_n.view(1, 1, -1), now)
        rows.append(np.stack([s[0].numpy() for s in now]))
    return np.stack(rows)


@torch.no_grad()
def end(layer: Recurrence, steps: int, *state: Sequence[float] | np.ndarray, x: float = 0.0) -> np.ndarray:
    """Return the state's k tensors after ``steps`` steps of the constant input x in one call: (k, d)."""
    _, last = layer(torch.full((steps, 1, 1), x, dtype=FLOAT64), start(*state))
    return np.stack([s[0].numpy() for s in last])


@torch.no_grad()
def outputs(layer: Recurrence, x: Tensor) -> np.ndarray:
    """Return the outputs of one sequence x, (T, p), from rest: (T, d)."""
    return np.asarray(layer(x.unsqueeze(1))[0][:, 0].numpy())


def jacobian(layer: Recurrence, x: Tensor, *state: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return the derivative of the state after one step with input x, (p,), by the previous state: (k d, k d)."""

    def step(flat: Tensor) -> Tensor:
        _, after = layer(x.view(1, 1, -1), tuple(flat.view(1, -1).split(len(state[0]), 1)))
        return torch.cat(after, 1)[0]

    flat = torch.cat(start(*state), 1)[0]
    return np.asarray(torch.autograd.functional.jacobian(step, flat).numpy())


def measured_order(solve: Callable[[int], np.ndarray], truth: np.ndarray) -> float:
    """Return the slope of log(error) against log(Δt) between the coarsest and the finest of ``STEPS``."""
    errors = [np.abs(solve(n) - truth).max() for n in STEPS]
    return float(np.log(errors[0] / errors[-1]) / np.log(STEPS[-1] / STEPS[0]))
