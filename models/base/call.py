"""What a layer may be called with."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor


class Layer(Protocol):
    """What a check must know of a layer; see ``Recurrence``."""

    members: int | None
    batch_first: bool
    input_size: int

    @property
    def dtype(self) -> torch.dtype:
        """The weights' dtype."""

    def state_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of each tensor of the state, of one sequence, by name."""


def check_call(layer: Layer, x: Tensor, state: tuple[Tensor, ...] | None) -> None:
    """Raise ValueError where x or the state has another shape or another dtype than ``layer`` needs."""
    name = type(layer).__name__
    lead = () if layer.members is None else (layer.members,)
    axes = ("B", "T") if layer.batch_first else ("T", "B")
    wanted = f"({', '.join([*map(str, lead), *axes, str(layer.input_size)])})"
    if not isinstance(x, Tensor):
        raise ValueError(f"{name}: x must be one tensor {wanted}, of members of equal length, got {type(x).__name__}.")
    if x.ndim != len(lead) + 3 or x.shape[: len(lead)] != lead or x.shape[-1] != layer.input_size or 0 in x.shape:
        raise ValueError(f"{name}: x must be {wanted} and not empty, got {tuple(x.shape)}.")
    if state is not None and not (isinstance(state, (tuple, list)) and all(isinstance(s, Tensor) for s in state)):
        raise ValueError(f"{name}: state must be a tuple of tensors, got {type(state).__name__}.")
    for what, tensor in {"x": x, **dict(zip(layer.state_shapes(), state or (), strict=False))}.items():
        if tensor.dtype != layer.dtype:
            raise ValueError(f"{name}: {what} must have the weights' dtype {layer.dtype}, got {tensor.dtype}.")
    rows = (*lead, x.shape[-3 if layer.batch_first else -2])
    shapes = {s: (*rows, *shape) for s, shape in layer.state_shapes().items()}
    if state is not None and [tuple(s.shape) for s in state] != list(shapes.values()):
        got = [tuple(s.shape) for s in state]
        needed = ", ".join(f"{s} {shape}" for s, shape in shapes.items())
        raise ValueError(f"{name}: state must be the tensors {needed}, got {got}.")
