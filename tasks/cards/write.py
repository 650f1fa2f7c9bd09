"""A card as text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def to_toml(content: Mapping[str, Any]) -> str:
    """Return words, numbers, lists of words, and tables of them, as TOML, tables last."""
    plain = {name: value for name, value in content.items() if not isinstance(value, Mapping)}
    lines = [f"{name} = {_to_value(value)}" for name, value in plain.items()]
    for name, table in content.items():
        if isinstance(table, Mapping):
            lines += ["", f"[{name}]", *(f"{key} = {_to_value(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _to_value(value: Any) -> str:
    """Return a value; JSON's strings and lists are TOML's but for DEL, which TOML wants escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
