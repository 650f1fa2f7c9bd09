"""Names of models and tasks in a sweep file, in any case and spelling."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from longwave.platform.names import find_spelling, list_names

NAMED = {"longwave.tasks": ("task", "tasks", "variants"), "longwave.models": ("models", "space", "model")}
"""Where a file names them, by the package that they are of."""


def with_keys(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a file says, with keys in the place of such names; what is no name here stays as it is."""
    found = dict(content)
    for package, places in NAMED.items():
        known = list_names(package)
        for place in places:
            value = found.get(place)
            if isinstance(value, Mapping):
                found[place] = {_key(name, known): table for name, table in value.items()}
            elif value is not None:
                found[place] = [_key(name, known) for name in value] if isinstance(value, list) else _key(value, known)
    return found


def _key(name: Any, known: Collection[str]) -> Any:
    return find_spelling(name, known) if isinstance(name, str) else name
