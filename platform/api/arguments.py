"""Checks of argument types, as notebooks have no type checker."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral, Real

from longwave.platform.errors import ConfigError


def check_texts(**arguments: object) -> None:
    """Raise ConfigError unless each argument is a string."""
    for name, value in arguments.items():
        if not isinstance(value, str):
            raise ConfigError(f"{name} must be a string, got {value!r}.")


def check_lists(**arguments: object) -> None:
    """Raise ConfigError unless each argument is a list of strings; the letters of a string would be read as names."""
    for name, value in arguments.items():
        if isinstance(value, str):
            raise ConfigError(f"{name} must be a list of names, got {value!r}. Write: {name}=[{value!r}]")
        if not isinstance(value, Iterable) or not all(isinstance(item, str) for item in value):
            raise ConfigError(f"{name} must be a list of names, got {value!r}.")


def check_numbers(**arguments: object) -> None:
    """Raise ConfigError unless each argument is a number."""
    for name, value in arguments.items():
        if not isinstance(value, Real):
            raise ConfigError(f"{name} must be a number, got {value!r}.")


def check_counts(**arguments: object) -> None:
    """Raise ConfigError unless each argument is a whole number, 0 or more."""
    for name, value in arguments.items():
        if not isinstance(value, Integral) or value < 0:
            raise ConfigError(f"{name} must be a whole number, 0 or more, got {value!r}.")
