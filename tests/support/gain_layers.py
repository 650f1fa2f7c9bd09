"""Layers whose step multiplies the state by a gain that the test defines, and the comparison with their reference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from kernel_cases import assert_close, inputs, on_cpu, outcome
from torch import Tensor, tanh

from longwave.models.base.algebra import affine
from longwave.models.base.layer import State
from longwave.models.base.recurrence import Recurrence
from longwave.models.kernels import using
from longwave.models.lem import LEM


@dataclass(frozen=True)
class GainWeights:
    """V and W."""

    V: Tensor
    W: Tensor


class Gain(Recurrence[GainWeights]):
    """h[n] = tanh(W g(h[n-1]) + V x[n]); a test defines g as ``gain``, and further attributes of the layer."""

    WEIGHTS = GainWeights
    STATE = ("h",)

    def __init__(self, members: int | None = None, **attributes: Any) -> None:
        super().__init__(2, 4, members=members)
        for name, value in attributes.items():
            setattr(self, name, value)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return V and W."""
        return {"V": (4, 2), "W": (4, 4)}

    def gain(self, h: Tensor) -> Tensor:
        """Return g(h), which W multiplies."""
        return h

    def drive(self, x: Tensor, w: GainWeights) -> tuple[Tensor, ...]:
        """Return the drive."""
        return (affine(w.V, x),)

    def step(self, u: tuple[Tensor, ...], state: State, w: GainWeights) -> State:
        """Return the next state."""
        return (tanh(affine(w.W, self.gain(state[0]), u[0])),)


def layer_of(gain: Callable[[Any, Tensor], Tensor], **attributes: Any) -> Gain:
    """Return a layer of a new class, drawn from seed 0, with this gain and these attributes."""
    torch.default_generator.manual_seed(0)
    return type("Own", (Gain,), {"gain": gain})(**attributes)  # type: ignore[no-any-return]


def assert_right(layer: Recurrence[Any], path: str) -> Tensor:
    """Fail unless outputs and gradients, by the given path, match the reference; return the outputs."""
    on_cpu(LEM(1, 4))
    route = layer.why()
    assert route.path == path, route
    x, state = inputs(layer, 5, 3)
    with using("reference"):
        truth = outcome(layer, x, state)
    tensors = outcome(layer, x, state)
    assert_close(tensors, truth)
    return tensors["outputs"].detach()
