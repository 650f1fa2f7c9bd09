"""Layers whose step multiplies the state by what a test says, and the comparison with their reference."""

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
    """h[n] = tanh(W g(h[n-1]) + V x[n]); a test says g as ``gain``, and what the layer holds beside its weights."""

    WEIGHTS = GainWeights
    STATE = ("h",)

    def __init__(self, members: int | None = None, **held: Any) -> None:
        super().__init__(2, 4, members=members)
        for name, value in held.items():
            setattr(self, name, value)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return V and W."""
        return {"V": (4, 2), "W": (4, 4)}

    def gain(self, h: Tensor) -> Tensor:
        """Return what W meets."""
        return h

    def drive(self, x: Tensor, w: GainWeights) -> tuple[Tensor, ...]:
        """Return the drive."""
        return (affine(w.V, x),)

    def step(self, u: tuple[Tensor, ...], state: State, w: GainWeights) -> State:
        """Return the next state."""
        return (tanh(affine(w.W, self.gain(state[0]), u[0])),)


def layer_of(gain: Callable[[Any, Tensor], Tensor], **held: Any) -> Gain:
    """Return a layer of a class of its own, drawn from seed 0, with this gain and these attributes."""
    torch.default_generator.manual_seed(0)
    return type("Own", (Gain,), {"gain": gain})(**held)  # type: ignore[no-any-return]


def assert_right(layer: Recurrence[Any], path: str) -> Tensor:
    """Fail unless outputs and gradients, by the given path, are those of the reference; return the outputs."""
    on_cpu(LEM(1, 4))
    way = layer.why()
    assert way.path == path, way
    x, state = inputs(layer, 5, 3)
    with using("reference"):
        truth = outcome(layer, x, state)
    tensors = outcome(layer, x, state)
    assert_close(tensors, truth)
    return tensors["outputs"].detach()
