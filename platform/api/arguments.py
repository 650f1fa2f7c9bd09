"""Checks of argument types, as notebooks have no type checker."""

from __future__ import annotations

from longwave.platform.errors import ConfigError


def check_texts(**arguments: object) -> None:
    """Raise ConfigError unless each argument is a string."""
    for name, value in arguments.items():
        if not isinstance(value, str):
            raise ConfigError(f"{name} must be a string, got {value!r}.")


def check_lists(**arguments: object) -> None:
    """Raise ConfigError if an argument is a single string, whose letters would be read as names."""
    for name, value in arguments.items():
        if isinstance(value, str):
            raise ConfigError(f"{name} must be a list of names, got {value!r}. Write: {name}=[{value!r}]")
