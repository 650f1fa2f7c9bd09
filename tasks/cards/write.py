"""A card as text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any


def to_toml(content: Mapping[str, Any]) -> str:
    """Return strings, numbers, lists of strings, and tables of them, as TOML, tables last; nested tables are inline."""
    plain = {name: value for name, value in content.items() if not isinstance(value, Mapping)}
    lines = [f"{_to_key(name)} = {_to_value(value)}" for name, value in plain.items()]
    for name, table in content.items():
        if isinstance(table, Mapping):
            lines += [
                "",
                f"[{_to_key(name)}]",
                *(f"{_to_key(key)} = {_to_value(value)}" for key, value in table.items()),
            ]
    return "\n".join(lines) + "\n"


def _to_key(name: str) -> str:
    """Return a name as a key or a table header."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _to_value(name)


def _to_value(value: Any) -> str:
    """Return a value; JSON strings and lists are TOML except for DEL, which TOML requires to be escaped."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_to_key(key)} = {_to_value(part)}" for key, part in value.items()) + " }"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_to_value, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
