"""Counts and lists in sentences."""

from __future__ import annotations

from collections.abc import Sequence


def describe_count(count: int, noun: str) -> str:
    """Return a number with its noun, which takes an s unless there is one: ``1 trial``, ``1,200 trials``."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def list_first(names: Sequence[str], limit: int, separator: str = ", ") -> str:
    """Return the first ``limit`` names in one line, and how many others there are: ``a, b and 3 more``."""
    others = len(names) - limit
    return separator.join(names[:limit]) + (f" and {others} more" if others > 0 else "")
