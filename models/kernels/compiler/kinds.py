"""Kinds of values that code may read: numbers and texts, containers, and objects whose content is hidden."""

from __future__ import annotations

import functools
import operator
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator, Mapping
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodWrapperType,
    ModuleType,
    SimpleNamespace,
    WrapperDescriptorType,
)
from typing import Any

import torch
from torch import nn

from longwave.models.kernels.compiler.names import is_fixed, is_library

NUMBERS = (int, float, complex, str, bytes)
ATOMS = frozenset(
    (*NUMBERS, bool, type(None), type(...), type(NotImplemented), range, slice)
    + (torch.dtype, torch.device, torch.layout, torch.memory_format)
)
"""Types whose repr determines the value."""
CONTAINERS = (list, tuple, set, frozenset, deque, dict, MappingProxyType)
BUILTINS = (BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType, MethodWrapperType)
"""Functions implemented in C."""
PLAIN = (CodeType, GetSetDescriptorType, MemberDescriptorType)
"""Types compared by identity."""
WRAPPED: Mapping[type, tuple[str, ...]] = {
    functools.partial: ("func", "args", "keywords"),
    functools.cached_property: ("func",),
    property: ("fget", "fset", "fdel"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
}
"""Attributes of an object that wraps functions."""
GETTERS = (operator.attrgetter, operator.methodcaller)
SEEN = (object, *NUMBERS, *CONTAINERS, OrderedDict, defaultdict, SimpleNamespace)
"""Types implemented in C whose content is fully visible, so that classes may derive from them."""
IMMUTABLE = 1 << 8
"""The flag of types implemented in C: Py_TPFLAGS_IMMUTABLETYPE."""


HELD = frozenset(("_parameters", "_buffers", "_modules"))
"""The dictionaries of a torch module with separate treatment."""
HOOKS = frozenset(("_forward_hooks", "_forward_pre_hooks"))
"""Attributes that torch reads when a module is called."""


class Same:
    """Identity of an object: equal for the same object."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def is_made_in_c(value: Any) -> bool:
    """Return whether a value is a stateless function or descriptor of a library, implemented in C."""
    kind = type(value)
    used = callable(value) or hasattr(kind, "__get__")
    stateless = is_fixed(str(kind.__module__)) and kind is not functools._lru_cache_wrapper
    return bool(used and stateless and kind.__flags__ & IMMUTABLE)


def is_followed(owner: Any) -> bool:
    """Return whether the result of a C method depends only on its owner's content, or on the owner's code."""
    if isinstance(owner, type):
        return issubclass(owner, torch.autograd.Function)  # the recorder reports what is wrong with its ``apply``
    return owner is not None and not isinstance(owner, ModuleType)


def hides(kind: type) -> bool:
    """Return whether an object of a class may have hidden content."""
    return any(
        (is_library(c.__module__) and not is_fixed(c.__module__)) or (c.__flags__ & IMMUTABLE and c not in SEEN)
        for c in kind.__mro__
    )


def is_named_only(module: nn.Module) -> bool:
    """Return whether code that reads a module's attributes is followed: torch's own is not."""
    return not any(c.__module__.startswith("torch.") and c is not nn.Module for c in type(module).__mro__)


def functions_in(value: Any) -> Iterator[FunctionType]:
    """Return the Python functions in a class's attribute: in a property up to three."""
    if isinstance(value, FunctionType):
        yield value
    for name in WRAPPED.get(type(value), ()):
        yield from functions_in(getattr(value, name))


def slots(kind: type) -> list[str]:
    """Return the names of an object's attributes that are in no dictionary."""
    names: list[str] = []
    for c in kind.__mro__:
        declared = vars(c).get("__slots__", ())
        names += [declared] if isinstance(declared, str) else declared
    return [name for name in names if name not in ("__dict__", "__weakref__")]
