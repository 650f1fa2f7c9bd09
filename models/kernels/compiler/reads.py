"""What a layer's code reads besides its arguments, by value: a compiled loop is valid as long as none of it changes.

Python code names what it reads. For every function that ran while a layer was traced the names are known: those of its
globals, its cells and defaults, and all others, with all strings in it, which may be attributes. A ``Snapshot`` holds
each value that these names lead to, starting from the layer:

* numbers, texts and the like by value; lists, tuples, sets and mappings by their content;
* executed functions by their code, defaults, cells and globals; functions that did not run are ignored;
* layers, classes and Python modules by their attributes of these names, or by all of them if code reads attributes by
  computed names (``COMPUTED``); other objects by all their attributes;
* torch, and the few libraries of stateless functions (``PURE``), are assumed constant;
* tensors by shape and type, as their values enter no loop: the recorder refuses tensors from elsewhere;
* torch's default dtype.

Anything else cannot be compared, such as an array, an iterator, a file, a clock, the environment or a random number:
the loop is refused, and the reference runs the layer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, cast

import torch
from torch import Tensor, nn

from longwave.models.kernels.compiler import kinds, locations
from longwave.models.kernels.compiler.locations import ABSENT, Check, Location
from longwave.models.kernels.compiler.names import COMPUTED, Reads, is_fixed, is_library, is_ours, is_stateful, names_of

LIMIT = 10_000
"""Largest number of values compared at each call."""


class _Torch:
    """Global settings of torch."""

    @property
    def default_dtype(self) -> torch.dtype:
        return torch.get_default_dtype()

    @default_dtype.setter
    def default_dtype(self, dtype: torch.dtype) -> None:
        torch.set_default_dtype(dtype)


TORCH = _Torch()


class Snapshot:
    """All values that ``reads`` lead to.

    Args:
        reads: The names that code can read.
        roots: Objects from which names start, by label.

    Attributes:
        form: The values, to compare with another snapshot's: equal forms of the same reads give equal loops.
        locations: Their locations.
        tensors: Locations of weights, whose shapes are compared elsewhere.
        obstacle: What cannot be compared; empty if everything can be.
        computed: Whether a function reads attributes by computed names.
        functions: Those found, by their code.
    """

    def __init__(self, reads: Reads, roots: Mapping[str, Any]) -> None:
        self.reads, self.obstacle, self.computed = reads, "", False
        self.locations: list[Location] = []
        self.tensors: list[Location] = []
        self.functions: dict[CodeType, FunctionType] = {}
        self._form: list[Any] = []
        self._visited: dict[int, int] = {}
        self._alive: list[Any] = []  # so that ids stay unique
        self._first = next(iter(roots.values()))
        for label, root in roots.items():
            self._visit(label, root)
        self._attribute("torch's default dtype", TORCH, "default_dtype")
        self.form = tuple(self._form)

    def check(self) -> Check:
        """Return a check that no location has changed; it does not keep the roots alive."""
        return Check(self.locations)

    def _visit(self, label: str, value: Any) -> None:
        kind = type(value)
        if label in self.reads.ignored:
            return
        if value is ABSENT:
            self._same(ABSENT)
        elif kind in kinds.ATOMS:
            self._form.append((kind, repr(value)))
        elif isinstance(value, Tensor):
            self._form.append((kind, value.shape, value.dtype, value.device))
        elif id(value) in self._visited:
            self._form.append(self._visited[id(value)])
        elif not self._is_full(1):
            self._visited[id(value)] = len(self._visited)
            self._alive.append(value)
            self._look(label, value)

    def _look(self, label: str, value: Any) -> None:
        if isinstance(value, kinds.CONTAINERS):
            self._container(label, value)
        elif isinstance(value, FunctionType):
            self._function(label, value)
        elif isinstance(value, (MethodType, *kinds.BUILTINS)):
            self._method(label, value)
        elif type(value) in kinds.WRAPPED:
            self._same(type(value))
            for name in kinds.WRAPPED[type(value)]:
                self._visit(label, getattr(value, name))
        elif isinstance(value, kinds.PLAIN):
            self._same(value)
        elif isinstance(value, ModuleType):
            self._module(label, value)
        elif isinstance(value, type):
            self._class(label, value)
        else:
            self._object(label, value)

    def _same(self, value: Any) -> None:
        self._form.append(kinds.Same(value))
        getter = isinstance(value, kinds.GETTERS) or getattr(value, "__name__", "") in COMPUTED
        self.computed = self.computed or getter

    def _refuse(self, label: str, value: Any) -> None:
        self._form.append((label, type(value)))
        rule = f"reads {label} ({type(value).__name__}), which cannot be compared from call to call"
        self.obstacle = self.obstacle or rule

    def _is_full(self, more: int) -> bool:
        """Return whether there would be too many values."""
        full = len(self._form) + more > LIMIT
        if full and not self.obstacle:
            self.obstacle = f"reads more than {LIMIT} values besides its arguments"
        return full

    def _item(self, label: str, owner: Any, key: str) -> Any:
        value = locations.space(owner).get(key, ABSENT)
        self.locations.append(locations.NamedItem(label, owner, key, value))
        self._form.append(key)
        self._visit(label, value)
        return value

    def _attribute(self, label: str, owner: Any, key: str) -> None:
        location = locations.Attribute(label, owner, key, ABSENT)
        self.locations.append(replace(location, value=location.current))
        self._visit(label, location.current)

    def _container(self, label: str, value: Any, inside: str = "{}[{!r}]") -> None:
        contents = locations.contents(value)
        self._form.append((type(value), len(contents)))
        if self._is_full(len(contents)):
            return
        if not isinstance(value, (tuple, frozenset)):
            self.locations.append(locations.Contents(label, value, "", contents))
        keys = [*value] * 2 if isinstance(value, Mapping) else range(len(contents))
        for key, inner in zip(keys, contents, strict=True):
            self._visit(inside.format(label, key), inner)
        if type(value) not in kinds.SEEN:
            self._visit(f"type({label})", type(value))
            self._visit(label, getattr(value, "__dict__", None))
        if isinstance(value, defaultdict):
            self._visit(label, value.default_factory)

    def _function(self, label: str, f: FunctionType) -> None:
        home = str(f.__globals__.get("__name__"))
        if is_library(home) or is_ours(home):
            if is_stateful(home, f.__name__):
                return self._refuse(label, f)
            self._same(f)
            return self._visit(label, getattr(f, "__wrapped__", None))
        self.functions.setdefault(f.__code__, f)
        self._same(f.__code__)
        if vars(f) or self.reads.computed:
            self._container(label, vars(f), "{}.{}")
        if f.__code__ not in self.reads.codes:
            return None
        # If a function has no defaults, no call needed any.
        for name in ("__code__", *(n for n in ("__defaults__", "__kwdefaults__") if getattr(f, n))):
            self._attribute(f"{f.__name__}.{name}", f, name)
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
            self._attribute(name, cell, "cell_contents")
        for name in sorted(names_of(f.__code__).globals):
            if self._item(name, f.__globals__, name) is ABSENT:
                self._item(name, cast(Any, f).__builtins__, name)
        return None

    def _method(self, label: str, value: Any) -> None:
        owner = getattr(value, "__self__", None)
        if isinstance(value, MethodType):
            self._visit(label, value.__func__)
            return self._visit(label, owner)
        if kinds.is_followed(owner):
            self._form.append(value.__name__)
            return self._visit(label, owner)
        kind = owner if isinstance(owner, type) else getattr(value, "__objclass__", value)
        home = str(owner.__name__ if isinstance(owner, ModuleType) else kind.__module__)
        stateless = is_fixed(home) and not is_stateful(home, value.__name__)
        return self._same(value) if stateless else self._refuse(label, value)

    def _module(self, label: str, module: ModuleType) -> None:
        home, attributes = module.__name__, vars(module)
        if is_library(home) and not is_fixed(home):
            return self._refuse(label, module)
        self._same(module)
        names = {*attributes} if self.reads.computed and not is_library(home) else self.reads.names
        for name in sorted(names):
            if name in attributes or not is_library(home):
                self._item(f"{label}.{name}", attributes, name)
        return None

    def _class(self, label: str, kind: type) -> None:
        for c in kind.__mro__:
            self._same(c)
            if is_fixed(c.__module__):
                continue
            if is_library(c.__module__) or c.__flags__ & kinds.IMMUTABLE:
                return self._refuse(label, kind)
            self._class_attributes(c)
        return self._visit(label, type(kind))

    def _class_attributes(self, c: type) -> None:
        """Visit the attributes of the class itself."""
        self.locations.append(locations.Keys(c.__name__, c, "", [*vars(c)]))
        for name in sorted(vars(c)):
            inner = [*kinds.functions_in(vars(c)[name])]
            self.functions.update({f.__code__: f for f in inner})
            ran = any(f.__code__ in self.reads.codes for f in inner)
            computed = self.reads.computed and not name.startswith("_")
            if ran or computed or name in self.reads.names:
                self._item(f"{c.__name__}.{name}", c, name)

    def _object(self, label: str, value: Any) -> None:
        kind, attributes, named = type(value), getattr(value, "__dict__", None), kinds.slots(type(value))
        self._same(kind)
        if kinds.is_made_in_c(value) or (is_ours(kind.__module__) and not isinstance(value, nn.Module)):
            return self._same(value)  # numpy.exp; a Param
        if kinds.hides(kind) or (attributes is None and not named and not isinstance(value, kinds.NUMBERS)):
            return self._refuse(label, value)
        if isinstance(value, kinds.NUMBERS):
            self._form.append(next(base for base in kinds.NUMBERS if isinstance(value, base)).__repr__(value))
        self._visit(f"type({label})", kind)
        for name in named:
            self._attribute(f"{label}.{name}", value, name)
        if isinstance(value, nn.Module) and kinds.is_named_only(value):
            self._layer(label, value)
        elif attributes is not None:
            self._container(label, attributes, "{}.{}")
        return None

    def _layer(self, label: str, layer: nn.Module) -> None:
        """Visit a torch module, leaving out all that the layer's code does not name."""
        attributes, parts = vars(layer), layer._modules
        self.locations.append(locations.Keys(label, attributes, "", [*attributes]))
        names = {*attributes, *parts} if self.reads.computed else {*self.reads.names}
        if layer is not self._first:
            names |= kinds.HOOKS
        for name in sorted(names & attributes.keys() - kinds.HELD):
            self._item(f"{label}.{name}", attributes, name)
        for name in sorted(names & parts.keys()):
            self._item(f"{label}.{name}", parts, name)
        for tensors in (layer._parameters, layer._buffers):
            self.tensors.append(locations.Keys(label, tensors, "", [*tensors]))
            self.tensors.append(locations.Contents(label, tensors, "", locations.contents(tensors)))
