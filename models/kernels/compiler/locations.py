"""Locations from which a layer's code reads: whether their values changed, and how to restore them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from itertools import repeat
from operator import getitem, is_
from types import MappingProxyType
from typing import Any

ABSENT = object()
"""Value of an empty location."""


@dataclass(frozen=True)
class Location:
    """A location, and its value when recorded.

    Attributes:
        label: Its name in the code: ``self.scale``.
        owner: A dictionary or a class (``NamedItem``, ``Keys``), a container (``Contents``), or another object.
        key: The name in the owner, if there are several.
        value: Its value; a list of the keys, or of the contents.
    """

    label: str
    owner: Any
    key: str
    value: Any

    @property
    def current(self) -> Any:
        """Its current value."""
        raise NotImplementedError

    def changed(self) -> bool:
        """Return whether it has another object now."""
        return self.current is not self.value

    def named(self) -> str:
        """Return the label of a change in it."""
        return self.label

    def restore(self) -> None:
        """Restore the value."""
        raise NotImplementedError


class NamedItem(Location):
    """A name in a dictionary, or in a class."""

    @property
    def current(self) -> Any:
        """The value, or ``ABSENT``."""
        return space(self.owner).get(self.key, ABSENT)

    def restore(self) -> None:
        """Restore the value."""
        _write(self.owner, self.key, self.value)


class Attribute(Location):
    """An attribute that is not in a dictionary: of a function, a cell, an object with slots."""

    @property
    def current(self) -> Any:
        """The value, or ``ABSENT``."""
        try:
            return getattr(self.owner, self.key, ABSENT)
        except ValueError:  # an empty cell
            return ABSENT

    def restore(self) -> None:
        """Restore the value."""
        if self.value is ABSENT:
            delattr(self.owner, self.key)
        else:
            setattr(self.owner, self.key, self.value)


class Contents(Location):
    """The content of a list, a set, a deque or a dictionary, keys first."""

    @property
    def current(self) -> list[Any]:
        """Its content."""
        return contents(self.owner)

    def changed(self) -> bool:
        """Return whether the content changed."""
        now = self.current
        return len(now) != len(self.value) or not all(map(is_, now, self.value))

    def restore(self) -> None:
        """Restore the content."""
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
    """The names in a dictionary or a class, without their values."""

    @property
    def current(self) -> list[str]:
        """The names."""
        return [*space(self.owner)]

    def changed(self) -> bool:
        """Return whether they changed."""
        return bool(self.current != self.value)

    def named(self) -> str:
        """Return the label of the first new name, or of the object if names were removed."""
        new = [key for key in self.current if key not in self.value]
        return f"{self.label}.{new[0]}" if new else self.label

    def restore(self) -> None:
        """Remove the new names."""
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
    """Return the names and values of a class or a dictionary."""
    return vars(owner) if isinstance(owner, type) else owner


def contents(owner: Any) -> list[Any]:
    """Return the content of a container; of a dictionary the keys, then the values."""
    return [*owner, *owner.values()] if isinstance(owner, Mapping) else [*owner]


class Check:
    """Checks many locations at once, in few Python operations, for changes."""

    def __init__(self, locations: Iterable[Location]) -> None:
        present, absent, attributes = list[Location](), dict[int, tuple[Any, list[str]]](), list[Attribute]()
        self._contents: list[tuple[Any, list[Any]]] = []
        self._names_in: list[tuple[Mapping[str, Any], list[str]]] = []
        for p in {(id(p.owner), type(p), p.key): p for p in locations}.values():
            if isinstance(p, Attribute):
                attributes.append(p)
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
        self._owners, self._names = [p.owner for p in attributes], [p.key for p in attributes]
        self._attributes = [p.value for p in attributes]
        self._absent = [(keys, tuple(names)) for keys, names in absent.values()]

    def __call__(self) -> bool:
        """Return whether nothing changed."""
        try:
            return (
                all(map(is_, map(getitem, self._spaces, self._keys), self._items))
                and all(map(is_, map(getattr, self._owners, self._names, repeat(ABSENT)), self._attributes))
                and all([*current] == names for current, names in self._names_in)
                and all(keys.isdisjoint(names) for keys, names in self._absent)
                and all(len(c) == len(current) and all(map(is_, c, current)) for c, current in self._contents)
            )
        except (KeyError, ValueError, RuntimeError):  # no such name, an empty cell, a concurrent change
            return False
