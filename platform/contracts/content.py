"""The content of a layer by name, so that changes by a call can be reported."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Mapping, Set
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

PLAIN = (int, float, complex, str, bytes, type(None), torch.dtype, torch.device)
CODE = (type, ModuleType, FunctionType, MethodType, BuiltinFunctionType)
"""Code objects are compared by identity, without their attributes."""
HELD = ("_parameters", "_buffers", "_modules")
"""Dictionaries of a module whose entries are read as its attributes."""


def layer_content(layer: nn.Module) -> dict[str, Any]:
    """Return weights, buffers, flags, attributes, contents of containers, and class attributes, by name. Gradients are
    left out. Values are compared by ``==``, tensors by their bits.
    """
    values: dict[str, Any] = {}
    visited: dict[int, object] = {}  # keeps the objects alive, so that no id is reused
    _add_value("", layer, values, visited)
    for kind in type(layer).__mro__[: type(layer).__mro__.index(nn.Module)]:
        for name, value in vars(kind).items():
            if not (name.startswith("__") or isinstance(value, (FunctionType, classmethod, staticmethod, property))):
                _add_value(f"{kind.__name__}.{name}", value, values, visited)
    return values


def random_states() -> dict[str, Any]:
    """Return the states of the random generators that a whole process shares, by name."""
    return {
        "torch's own random numbers": tensor_bits(torch.get_rng_state()),
        "NumPy's own random numbers": repr(np.random.get_state(legacy=False)),
        "Python's own random numbers": random.getstate(),
    }


def tensor_bits(tensor: Tensor) -> tuple[Any, ...]:
    """Return a tensor's content for comparison by bits: NaN equals NaN, and −0 differs from 0."""
    raw = tensor.detach().cpu().contiguous().flatten().view(torch.uint8)
    return tensor.dtype, tensor.shape, tensor.requires_grad, raw.numpy().tobytes()


def _add_value(name: str, value: Any, values: dict[str, Any], visited: dict[int, object]) -> None:
    """Add a value and its content to ``values``, each object once."""
    if id(value) in visited:
        return
    if isinstance(value, (*PLAIN, *CODE)):
        values[name] = value
        return
    visited[id(value)] = value
    inner = _parts_of(value)
    values[name] = _own_value(value) if inner is None else type(value)
    for part, item in (inner or {}).items():
        _add_value(f"{name}{part}".removeprefix("."), item, values, visited)


def _parts_of(value: Any) -> dict[str, Any] | None:
    """Return the content of a value by accessor, ``.name`` or ``[key]``; None if it is not a container."""
    if isinstance(value, nn.Module):
        attributes = {name: item for name, item in vars(value).items() if name not in HELD}
        return {
            f".{name}": item
            for part in (attributes, *(vars(value)[name] for name in HELD))
            for name, item in part.items()
        }
    if isinstance(value, Mapping):
        return {f"[{key!r}]": item for key, item in value.items()}
    if isinstance(value, (list, tuple, deque)):
        return {f"[{k}]": item for k, item in enumerate(value)}
    if isinstance(value, (Tensor, np.ndarray, random.Random)) or not hasattr(value, "__dict__"):
        return None
    return {f".{name}": item for name, item in vars(value).items()}


def _own_value(value: Any) -> Any:
    """Return the content of a value that is not a container, for comparison."""
    if isinstance(value, Tensor):
        return tensor_bits(value)
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    if isinstance(value, torch.Generator):
        return tensor_bits(value.get_state())
    if isinstance(value, random.Random):
        return value.getstate()
    if isinstance(value, np.random.Generator):
        return repr(value.bit_generator.state)
    return frozenset(value) if isinstance(value, Set) else (value, repr(value))
