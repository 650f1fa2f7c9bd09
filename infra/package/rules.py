"""The rule that a value of a file breaks, in words: pydantic's message speaks of inputs and patterns."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

RULES = {
    "missing": "is missing",
    "extra_forbidden": "is not a key that is allowed here",
    "string_type": "must be a string",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "too_short": "must not be empty",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "literal_error": "must be {expected}",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
}
"""By the type of pydantic's error, the rule; its subject is the key. Every least length in Longwave is 1."""


def as_list(value: Any) -> Any:
    """Return a word as a list of one, and anything else unchanged, so that a file may give either."""
    return [value] if isinstance(value, str) else value


def describe_rule(error: ErrorDetails) -> str:
    """Return the broken rule, and the value if there is one: ``must be at least 0, got -1``."""
    kind = error["type"]
    if kind in RULES:
        limits = {name: f"{v:g}" if isinstance(v, float) else v for name, v in error.get("ctx", {}).items()}
        rule = RULES[kind].format_map(limits)
    else:
        rule = re.sub("^Input should", "must", error["msg"].removeprefix("Value error, ")).rstrip(".")
    return rule if kind == "missing" or ", got " in rule else f"{rule}, got {error['input']!r:.80}"
