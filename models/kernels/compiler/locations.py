"""Places that a layer's code reads from: whether what is there is what was there, and how it is put back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from itertools import repeat
from operator import getitem, is_
from types import MappingProxyType
from typing import Any

ABSENT = object()
"""What stands in a place where nothing is."""


@dataclass(frozen=True)
class Location:
    """One place, and what was in it.

    Attributes:
        label: As the code calls it: ``self.scale``.
        owner: A dictionary or a class (``NamedItem``, ``Keys``), a container (``Contents``), or another object.
        key: The name there, if there are several.
        value: What was there; a list of the keys, or of the contents.
    """

    label: str
    owner: Any
    key: str
    value: Any

    @property
    def current(self) -> Any:
        """What is there now."""
        raise NotImplementedError

    def changed(self) -> bool:
        """Return whether another object is there now."""
        return self.current is not self.value

    def named(self) -> str:
        """Return what to call a change in it."""
        return self.label

    def restore(self) -> None:
        """Put back what was there."""
        raise NotImplementedError


class NamedItem(Location):
    """A name in a dictionary, or in a class."""

    @property
    def current(self) -> Any:
        """The value, or ``ABSENT``."""
        return space(self.owner).get(self.key, ABSENT)

    def restore(self) -> None:
        """Put the value back."""
        _write(self.owner, self.key, self.value)


class Attribute(Location):
    """An attribute that is no item of a dictionary: of a function, a cell, an object with slots."""

    @property
    def current(self) -> Any:
        """The value, or ``ABSENT``."""
        try:
            return getattr(self.owner, self.key, ABSENT)
        except ValueError:  # an empty cell
            return ABSENT

    def restore(self) -> None:
        """Put the value back."""
        if self.value is ABSENT:
            delattr(self.owner, self.key)
        else:
            setattr(self.owner, self.key, self.value)


class Contents(Location):
    """All that is in a list, a set, a deque or a dictionary, with its keys first."""

    @property
    def current(self) -> list[Any]:
        """What is in it."""
        return contents(self.owner)

    def changed(self) -> bool:
        """Return whether anything else is in it."""
        now = self.current
        return len(now) != len(self.value) or not all(map(is_, now, self.value))

    def restore(self) -> None:
        """Put the contents back."""
        if isinstance(self.owner, MappingProxyType):
            return
        half = len(self.value) // 2
        self.owner.clear()
        if isinstance(self.owner, MutableMapping):
            self.owner.update(zip(self.value[:half], self.value[half:], strict=True))
        elif isinstance(self.owner, set):
            self.owner.update(self.value)
        else:
            self.owner.extend(self.value)


class Keys(Location):
    """The names in a dictionary, or in a class, whatever their values are."""

    @property
    def current(self) -> list[str]:
        """The names."""
        return [*space(self.owner)]

    def changed(self) -> bool:
        """Return whether there are others now."""
        return bool(self.current != self.value)

    def named(self) -> str:
        """Return the first name that is new, or the object's where names went."""
        new = [key for key in self.current if key not in self.value]
        return f"{self.label}.{new[0]}" if new else self.label

    def restore(self) -> None:
        """Take away the names that were not there."""
        for key in set(self.current) - set(self.value):
            _write(self.owner, key, ABSENT)


def _write(owner: Any, key: str, value: Any) -> None:
    if isinstance(owner, type):
        delattr(owner, key) if value is ABSENT else setattr(owner, key, value)
    elif value is ABSENT:
        owner.pop(key, None)
    else:
        owner[key] = value


def space(owner: Any) -> Mapping[str, Any]:
    """Return the names and values of a class, or of what is a dictionary itself."""
    return vars(owner) if isinstance(owner, type) else owner


def contents(owner: Any) -> list[Any]:
    """Return what is in a container; of a dictionary the keys, then the values."""
    return [*owner, *owner.values()] if isinstance(owner, Mapping) else [*owner]


class Check:
    """Says of many locations at once, in few steps of Python, whether each has what it had."""

    def __init__(self, locations: Iterable[Location]) -> None:
        present, absent, rest = list[Location](), dict[int, tuple[Any, list[str]]](), list[Attribute]()
        self._contents: list[tuple[Any, list[Any]]] = []
        self._names_in: list[tuple[Mapping[str, Any], list[str]]] = []
        for p in {(id(p.owner), type(p), p.key): p for p in locations}.values():
            if isinstance(p, Attribute):
                rest.append(p)
            elif isinstance(p, Keys):
                self._names_in.append((space(p.owner), p.value))
            elif isinstance(p, Contents) and isinstance(p.owner, Mapping):
                half = len(p.value) // 2
                self._contents += [(p.owner.keys(), p.value[:half]), (p.owner.values(), p.value[half:])]
            elif isinstance(p, Contents):
                self._contents.append((p.owner, p.value))
            elif p.value is ABSENT:
                absent.setdefault(id(p.owner), (space(p.owner).keys(), []))[1].append(p.key)
            else:
                present.append(p)
        self._spaces, self._keys = [space(p.owner) for p in present], [p.key for p in present]
        self._items = [p.value for p in present]
        self._owners, self._names = [p.owner for p in rest], [p.key for p in rest]
        self._attributes = [p.value for p in rest]
        self._absent = [(keys, tuple(names)) for keys, names in absent.values()]

    def __call__(self) -> bool:
        """Return whether nothing changed."""
        try:
            return (
                all(map(is_, map(getitem, self._spaces, self._keys), self._items))
                and all(map(is_, map(getattr, self._owners, self._names, repeat(ABSENT)), self._attributes))
                and all([*own] == names for own, names in self._names_in)
                and all(keys.isdisjoint(names) for keys, names in self._absent)
                and all(len(c) == len(own) and all(map(is_, c, own)) for c, own in self._contents)
            )
        except (KeyError, ValueError, RuntimeError):  # no such name, an empty cell, another thread at work
            return False
