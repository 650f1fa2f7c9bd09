"""All that a layer holds, by name, so that what a call changes of it can be named."""

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
"""What is code is compared as a whole; what hangs on it is not looked at."""
HELD = ("_parameters", "_buffers", "_modules")
"""Where a module holds what is read as an attribute of it."""


def layer_content(layer: nn.Module) -> dict[str, Any]:
    """Return weights, numbers, flags, attributes, what containers hold, and class attributes, by name.

    Gradients are left out. What is equal by ``==`` is unchanged, tensors by their bits.
    """
    values: dict[str, Any] = {}
    seen: dict[int, object] = {}  # the objects themselves, so that none gets the address of another
    _add_value("", layer, values, seen)
    for kind in type(layer).__mro__[: type(layer).__mro__.index(nn.Module)]:
        for name, value in vars(kind).items():
            if not (name.startswith("__") or isinstance(value, (FunctionType, classmethod, staticmethod, property))):
                _add_value(f"{kind.__name__}.{name}", value, values, seen)
    return values


def random_states() -> dict[str, Any]:
    """Return the states of the random generators that a whole process shares, by name."""
    return {
        "torch's own random numbers": tensor_bits(torch.get_rng_state()),
        "NumPy's own random numbers": repr(np.random.get_state(legacy=False)),
        "Python's own random numbers": random.getstate(),
    }


def tensor_bits(tensor: Tensor) -> tuple[Any, ...]:
    """Return what decides whether a tensor is the same: NaN is, −0 is not 0."""
    raw = tensor.detach().cpu().contiguous().flatten().view(torch.uint8)
    return tensor.dtype, tensor.shape, tensor.requires_grad, raw.numpy().tobytes()


def _add_value(name: str, value: Any, values: dict[str, Any], seen: dict[int, object]) -> None:
    """Add a value, and all that it holds, to ``values``; each object once."""
    if id(value) in seen:
        return
    if isinstance(value, (*PLAIN, *CODE)):
        values[name] = value
        return
    seen[id(value)] = value
    inner = _parts_of(value)
    values[name] = _own_value(value) if inner is None else type(value)
    for part, item in (inner or {}).items():
        _add_value(f"{name}{part}".removeprefix("."), item, values, seen)


def _parts_of(value: Any) -> dict[str, Any] | None:
    """Return what a value holds, by how it is read: ``.name`` or ``[key]``; None for what is no container."""
    if isinstance(value, nn.Module):
        own = {name: item for name, item in vars(value).items() if name not in HELD}
        return {
            f".{name}": item for part in (own, *(vars(value)[name] for name in HELD)) for name, item in part.items()
        }
    if isinstance(value, Mapping):
        return {f"[{key!r}]": item for key, item in value.items()}
    if isinstance(value, (list, tuple, deque)):
        return {f"[{k}]": item for k, item in enumerate(value)}
    if isinstance(value, (Tensor, np.ndarray, random.Random)) or not hasattr(value, "__dict__"):
        return None
    return {f".{name}": item for name, item in vars(value).items()}


def _own_value(value: Any) -> Any:
    """Return what decides whether a value that holds no others is the same."""
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
