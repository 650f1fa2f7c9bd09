"""How weights are stored, and how a layer's equations read them: shapes, complex numbers, members axis, groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar, cast

import torch
from torch import Tensor, nn

from longwave.models.base.algebra import complex_of
from longwave.models.base.param import Param

W = TypeVar("W")


class Complex(tuple[int, ...]):
    """The shape of a complex weight: ``Complex((d, p))``. It is stored as real pairs, (d, p, 2).

    Optimiser, clipping and checkpoints see only real numbers; the equations read a complex tensor.
    """

    __slots__ = ()


@dataclass(frozen=True)
class WeightGroup:
    """Weights with their own training rule.

    Attributes:
        weights: Their names. In a stack or a part, a name means the weights of all its layers: ``V`` for ``V1``.
        rate: Factor of the learning rate.
        decay: Whether they have weight decay.
    """

    weights: tuple[str, ...]
    rate: float = 1.0
    decay: bool = True


@dataclass(frozen=True)
class NoWeights:
    """Weights of a layer that has none but those of its parts."""


def held_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of the real tensor that stores a weight of ``shape``."""
    return (*shape, 2) if isinstance(shape, Complex) else shape


def lifted(weight: Tensor, shape: tuple[int, ...], lone: bool) -> Tensor:
    """Return a weight of ``shape`` of M members, (M, ...), or of a ``lone`` layer, in the form that the equations read.

    Numbers and vectors become (M, 1, n), to broadcast over a batch; matrices are (M, k, p), and tensors with more axes
    keep them.
    """
    if isinstance(shape, Complex):
        weight = complex_of(weight)
    if weight.ndim < (2 if lone else 3):
        return weight.reshape(1 if lone else len(weight), 1, -1)
    return (weight.unsqueeze(0) if lone else weight).contiguous()


def typed(kind: type[W], values: Mapping[str, Any]) -> W:
    """Return the dataclass ``kind`` filled from ``values``; absent fields get their defaults."""
    return kind(**{f.name: values[f.name] for f in fields(cast("Any", kind)) if f.name in values})


def hyper_tensor(param: Param, value: Any, lead: tuple[int, ...]) -> Tensor:
    """Return a hyper-parameter as a layer stores it, of shape ``lead``: (M,), or () without members.

    Args:
        param: Its declaration.
        value: A number, one per member, or a real tensor. One that is trained is kept, so that all layers share it; a
            ``nn.Parameter`` must have the shape already.
        lead: The shape.

    Raises:
        ValueError: Another shape, a number that is not valid, or a whole number that would have to be trained.
    """
    try:
        tensor = value if isinstance(value, Tensor) else torch.tensor(value, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(f"{param.symbol} ({param.name}) must be {param.rule}, got {value!r}.") from None
    if tensor.is_complex():
        raise ValueError(f"{param.symbol} ({param.name}) must be {param.rule}, got a tensor of {tensor.dtype}.")
    if tuple(tensor.shape) != lead and (tensor.ndim or isinstance(tensor, nn.Parameter)):
        expected = f"one value for each of {lead[0]} members" if lead else "one number"
        raise ValueError(f"{param.name} must be {expected}, got shape {tuple(tensor.shape)}.")
    for number in tensor.detach().flatten().tolist():
        param.check(number)
    trained = tensor.requires_grad or isinstance(tensor, nn.Parameter)
    if trained and param.whole:
        rule, got = f"{param.rule}, which is not trained", f"a {type(tensor).__name__} of {tensor.tolist()}"
        raise ValueError(f"{param.symbol} ({param.name}) must be {rule}, got {got}. Give a plain number.")
    if not tensor.is_floating_point():
        tensor = tensor.to(torch.get_default_dtype())
    return tensor if trained and tensor.shape == lead else tensor.expand(lead).clone()
