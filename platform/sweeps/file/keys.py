"""Names of models and tasks in a sweep file, in any case and spelling."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from longwave.platform.names import names, spelled

NAMED = {"longwave.tasks": ("task", "tasks", "variants"), "longwave.models": ("models", "space", "model")}
"""Fields of a sweep file that hold such names, by the package of what they name."""


def with_keys(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a file's content with canonical names of models and tasks; unknown names stay as they are."""
    resolved = dict(content)
    for package, fields in NAMED.items():
        known = names(package)
        for field in fields:
            value = resolved.get(field)
            if isinstance(value, Mapping):
                resolved[field] = {_key(name, known): table for name, table in value.items()}
            elif value is not None:
                resolved[field] = (
                    [_key(name, known) for name in value] if isinstance(value, list) else _key(value, known)
                )
    return resolved


def _key(name: Any, known: Collection[str]) -> Any:
    return spelled(name, known) if isinstance(name, str) else name
