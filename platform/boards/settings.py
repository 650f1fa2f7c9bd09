"""The settings of a training and the facts of its environment in words, for pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

NAMES = {
    "steps": "steps per epoch",
    "drops": "lr drops after epochs",
    "clip": "gradient clip",
    "selection": "scored at",
    "task_version": "task version",
    "model_version": "model version",
    "protocol": "version of training rules",
    "dirty": "uncommitted changes",
}
"""Names in words of settings and facts, by key; the others are words."""
YES_NO = {"true": "yes", "false": "no"}


def setting_words(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return settings of a configuration that have a value, by their names in words, with values in words."""
    given = {name: value for name, value in settings.items() if value is not None or name == "clip"}
    return {NAMES.get(name, name): _value_words(name, value) for name, value in given.items()}


def fact_words(facts: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the values of each fact, in words and joined by "or", by the fact's name in words."""
    return {NAMES.get(name, name): " or ".join(YES_NO.get(v, v) for v in values) for name, values in facts.items()}


def _value_words(name: str, value: Any) -> str:
    if name == "drops":
        return ", ".join(map(str, value)) or "never"
    if name == "selection":
        return f"{value} epoch"
    if value is None:
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value)
