"""Kinds of values that code may read: which are numbers and texts, which hold others, and which hide what they hold."""

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
"""Types whose values say all in their text."""
CONTAINERS = (list, tuple, set, frozenset, deque, dict, MappingProxyType)
BUILTINS = (BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType, MethodWrapperType)
"""Functions made in C."""
PLAIN = (CodeType, GetSetDescriptorType, MemberDescriptorType)
"""What is the same as long as it is the same object."""
WRAPPED: Mapping[type, tuple[str, ...]] = {
    functools.partial: ("func", "args", "keywords"),
    functools.cached_property: ("func",),
    property: ("fget", "fset", "fdel"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
}
"""What is in an object that wraps functions."""
GETTERS = (operator.attrgetter, operator.methodcaller)
SEEN = (object, *NUMBERS, *CONTAINERS, OrderedDict, defaultdict, SimpleNamespace)
"""Types made in C all of whose values can be seen, so that a class may derive from them."""
IMMUTABLE = 1 << 8
"""The flag of types made in C: Py_TPFLAGS_IMMUTABLETYPE."""


HELD = frozenset(("_parameters", "_buffers", "_modules"))
"""Where a module of torch's kind holds what has a place of its own."""
HOOKS = frozenset(("_forward_hooks", "_forward_pre_hooks"))
"""What torch reads of a module that is called."""


class Same:
    """Stands for one object: equal to what stands for the same."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def is_made_in_c(value: Any) -> bool:
    """Return whether a value is a function or a descriptor of a library, made in C, and keeps nothing."""
    kind = type(value)
    used = callable(value) or hasattr(kind, "__get__")
    known = is_fixed(str(kind.__module__)) and kind is not functools._lru_cache_wrapper
    return bool(used and known and kind.__flags__ & IMMUTABLE)


def is_followed(owner: Any) -> bool:
    """Return whether what a method made in C returns follows from what its owner holds, or from code of the owner."""
    if isinstance(owner, type):
        return issubclass(owner, torch.autograd.Function)  # the recorder says what is wrong with its ``apply``
    return owner is not None and not isinstance(owner, ModuleType)


def hides(kind: type) -> bool:
    """Return whether an object of a class may hold what cannot be seen."""
    return any(
        (is_library(c.__module__) and not is_fixed(c.__module__)) or (c.__flags__ & IMMUTABLE and c not in SEEN)
        for c in kind.__mro__
    )


def is_named_only(module: nn.Module) -> bool:
    """Return whether the code that reads a module's attributes is followed: torch's own is not."""
    return not any(c.__module__.startswith("torch.") and c is not nn.Module for c in type(module).__mro__)


def functions_in(value: Any) -> Iterator[FunctionType]:
    """Return the functions of Python in a class's attribute: in a property up to three."""
    if isinstance(value, FunctionType):
        yield value
    for name in WRAPPED.get(type(value), ()):
        yield from functions_in(getattr(value, name))


def slots(kind: type) -> list[str]:
    """Return the names of an object's attributes that are in no dictionary."""
    names: list[str] = []
    for c in kind.__mro__:
        own = vars(c).get("__slots__", ())
        names += [own] if isinstance(own, str) else own
    return [name for name in names if name not in ("__dict__", "__weakref__")]
