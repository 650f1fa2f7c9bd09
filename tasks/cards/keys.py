"""The keys of a data card in words, from its model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from longwave.tasks.cards.card import Card

KINDS = {"string": "string", "integer": "whole number", "number": "number", "boolean": "true or false"}


def list_keys() -> list[tuple[str, str, str]]:
    """Return each key's name, its allowed values with the default, and its meaning; ``split.by`` for a part's."""
    schema = Card.model_json_schema()
    return [*_list_properties(schema, schema.get("$defs", {}), "")]


def _list_properties(part: Mapping[str, Any], parts: Mapping[str, Any], above: str) -> Iterator[tuple[str, str, str]]:
    for name, key in part["properties"].items():
        meaning = " ".join(key.get("description", "").split())
        if "$ref" in key:
            yield from _list_properties(parts[key["$ref"].rpartition("/")[2]], parts, f"{above}{name}.")
            continue
        default = key.get("default")
        needed = "; needed" if name in part.get("required", ()) else ""
        ends = "" if default in (None, "", []) else f"; {json.dumps(default)} by default"
        yield f"{above}{name}", f"{_describe_kind(key)}{needed}{ends}", meaning


def _describe_kind(key: Mapping[str, Any]) -> str:
    """Return the allowed values of a key."""
    if "anyOf" in key:
        return " or ".join(_describe_kind(each) for each in key["anyOf"] if each.get("type") != "null")
    if "enum" in key:
        return ", ".join(key["enum"])
    if key.get("type") == "array":
        return f"list: {_describe_kind(key['items'])}"
    return KINDS[key["type"]]
