"""How weights are held, and how a layer's mathematics reads them: shapes, complex numbers, the members axis, groups."""

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
    """The shape of a weight of complex numbers: ``Complex((d, p))``. It is held as real pairs, (d, p, 2).

    Optimiser, clipping and checkpoints meet real numbers alone; the mathematics reads a complex tensor.
    """

    __slots__ = ()


@dataclass(frozen=True)
class WeightGroup:
    """Weights that are trained by a rule of their own.

    Attributes:
        weights: Their names. One of a stack's, or of a part's, stands for those of all its layers: ``V`` for ``V1``.
        rate: Factor of the learning rate.
        decay: Whether weight decay acts on them.
    """

    weights: tuple[str, ...]
    rate: float = 1.0
    decay: bool = True


@dataclass(frozen=True)
class NoWeights:
    """What a layer reads that has no weights but those of its parts."""


def held_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of the real tensor that holds a weight of ``shape``."""
    return (*shape, 2) if isinstance(shape, Complex) else shape


def lifted(weight: Tensor, shape: tuple[int, ...], lone: bool) -> Tensor:
    """Return a weight of ``shape`` of M members, (M, ...), or of a ``lone`` layer without, as the mathematics reads it.

    Numbers and vectors become (M, 1, n), to be broadcast over a batch; matrices are (M, k, p), and what has more axes
    keeps them.
    """
    if isinstance(shape, Complex):
        weight = complex_of(weight)
    if weight.ndim < (2 if lone else 3):
        return weight.reshape(1 if lone else len(weight), 1, -1)
    return (weight.unsqueeze(0) if lone else weight).contiguous()


def typed(kind: type[W], given: Mapping[str, Any]) -> W:
    """Return the dataclass ``kind`` with what ``given`` has for its fields; a field that is absent has its default."""
    return kind(**{f.name: given[f.name] for f in fields(cast("Any", kind)) if f.name in given})


def hyper_tensor(param: Param, value: Any, lead: tuple[int, ...]) -> Tensor:
    """Return a hyper-parameter as a layer holds it, of shape ``lead``: (M,), or () without members.

    Args:
        param: What it is.
        value: A number, one a member, or a real tensor, which is kept; a ``nn.Parameter`` must have the shape already.
        lead: The shape.

    Raises:
        ValueError: Another shape, or a number that is not valid.
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
    return tensor if tensor.shape == lead else tensor.expand(lead).clone()
