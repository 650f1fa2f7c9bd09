"""Checks of argument types, as notebooks have no type checker."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from numbers import Integral, Real
from typing import Any

from longwave.platform.errors import ConfigError


def check_texts(**arguments: object) -> None:
    """Raise ConfigError unless each argument is a string."""
    _check_each(arguments, "a string", lambda value: isinstance(value, str))


def check_optional_texts(**arguments: object) -> None:
    """Raise ConfigError unless each argument is a string or None."""
    check_texts(**{name: value for name, value in arguments.items() if value is not None})


def check_lists(**arguments: object) -> None:
    """Raise ConfigError unless each argument is a list of strings; the letters of a string would be read as names."""
    for name, value in arguments.items():
        if isinstance(value, str):
            raise ConfigError(f"{name} must be a list of names, got {value!r}. Write: {name}=[{value!r}]")
    _check_each(arguments, "a list of names", _is_list_of_names)


def check_numbers(**arguments: object) -> None:
    """Raise ConfigError unless each argument is a number."""
    _check_each(arguments, "a number", lambda value: isinstance(value, Real) and not isinstance(value, bool))


def check_counts(least: int = 0, **arguments: object) -> None:
    """Raise ConfigError unless each argument is a whole number, ``least`` or more."""

    def is_count(value: Any) -> bool:
        return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least

    _check_each(arguments, f"a whole number, {least} or more", is_count)


def check_flags(**arguments: object) -> None:
    """Raise ConfigError unless each argument is True or False."""
    _check_each(arguments, "True or False", lambda value: isinstance(value, bool))


def _check_each(arguments: Mapping[str, object], rule: str, fits: Callable[[Any], bool]) -> None:
    for name, value in arguments.items():
        if not fits(value):
            raise ConfigError(f"{name} must be {rule}, got {value!r}.")


def _is_list_of_names(value: Any) -> bool:
    """Return whether a value holds only strings. An iterator does not count: reading it here would empty it."""
    return isinstance(value, Collection) and all(isinstance(item, str) for item in value)
