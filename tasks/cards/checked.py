"""Reading of a data card: from TOML to a checked ``Card``, or one line per error with its place."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from longwave.rules import describe_rule
from longwave.tasks.base.raw import DataError
from longwave.tasks.cards.card import Card, SplitRule

DECIDING = {"files", "format", "layout", "channels", "task", "split"}
"""Keys that determine which others are required: if one of them is wrong, rules between keys are not checked."""


class CardError(DataError):
    """A data card breaks rules.

    Attributes:
        lines: One for each rule: the file, the key, the rule.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


def read_card(path: Path) -> Card:
    """Return the card in a file.

    Raises:
        DataError: It cannot be read, or is not TOML.
        CardError: It breaks rules; the message has a line for each, with file, key and rule.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise DataError(f"Cannot read the data card {path}: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"{path} is not TOML: {' '.join(str(error).split()).rstrip('.')}.") from None
    return check_card(content, str(path))


def check_card(content: Mapping[str, Any], origin: str) -> Card:
    """Return the card that ``content`` describes; ``origin`` names it in errors.

    Raises:
        CardError: Rules are broken; the message has a line for each.
    """
    try:
        return Card.model_validate(content)
    except ValidationError as error:
        errors = error.errors()
    if "models" in content:
        raise CardError([f"{origin} is a sweep file, not a data card. Run it with: longwave sweep run {origin}"])
    wrong = {str(each["loc"][0]) for each in errors if each["loc"]}
    first = {_name_key(each): each for each in reversed(errors)}  # for a key of two possible types pydantic reports two
    lines = [line for each in reversed(first.values()) for line in _describe_error(each)]
    if wrong and not wrong & DECIDING:
        lines += [line for line in _check_rest(content, wrong) if re.split("[.:]", line)[0] not in wrong]
    raise CardError([f"{origin}: {line}." if line[-1] not in ".?" else f"{origin}: {line}" for line in lines])


def _check_rest(content: Mapping[str, Any], wrong: set[str]) -> list[str]:
    """Return the rules broken by the card without its wrong keys; none if too few keys are left."""
    try:
        Card.model_validate({key: value for key, value in content.items() if key not in wrong})
    except ValidationError as error:
        return [line for each in error.errors() if each["type"] == "rules" for line in _describe_error(each)]
    return []


def _describe_error(error: ErrorDetails) -> list[str]:
    """Return an error of pydantic's in one line: key, rule and value; for rules between keys, one line each."""
    key = _name_key(error)
    if error["type"] == "rules":
        return [*error["ctx"]["rules"]]
    if error["type"] == "extra_forbidden":
        keys = SplitRule.model_fields if len(error["loc"]) > 1 else Card.model_fields
        near = difflib.get_close_matches(str(error["loc"][-1]), keys, n=2)
        guess = f"Did you mean {' or '.join(near)}?" if near else f"Known: {', '.join(keys)}."
        return [f"no key {key!r}. {guess}"]
    return [f"{key}: {describe_rule(error)}"]


def _name_key(error: ErrorDetails) -> str:
    """Return the key of an error, without pydantic's type names."""
    return ".".join(str(part) for part in error["loc"] if not str(part).startswith(("literal", "float")))
