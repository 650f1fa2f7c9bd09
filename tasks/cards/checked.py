"""Read a data card: TOML in, a checked ``Card`` out, or one line that says what is wrong and where."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from longwave.tasks.base.raw import DataError
from longwave.tasks.cards.card import Card, SplitRule


def read_card(path: Path) -> Card:
    """Return the card in a file.

    Raises:
        DataError: It cannot be read, is no TOML, or breaks a rule; the message names file, key and rule.
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
        DataError: As ``read_card``.
    """
    try:
        return Card.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"] if not str(part).startswith(("literal", "float")))
        rule = first["msg"].removeprefix("Value error, ")
        if first["type"] == "extra_forbidden":
            known = SplitRule.model_fields if len(first["loc"]) > 1 else Card.model_fields
            near = difflib.get_close_matches(str(first["loc"][-1]), known, n=2)
            guess = f"Did you mean {' or '.join(near)}?" if near else f"Known: {', '.join(known)}."
            raise DataError(f"{origin}: no key {key!r}. {guess}") from None
        if not key:
            raise DataError(f"{origin}: {rule}.") from None
        got = "" if first["type"] == "missing" else f", got {first['input']!r:.80}"
        raise DataError(f"{origin}: {key}: {rule}{got}.") from None
