"""Parts of a variant that mean the same for every task."""

from __future__ import annotations

from collections.abc import Collection

FRESH = "test=2"
"""End of a variant with fresh test data, for tasks whose first ones were used in a published edition."""


def split_fresh(variant: str) -> tuple[str, bool]:
    """Return a variant without ``FRESH``, and whether it had it: for ``F=8,test=2``, ``F=8`` and True."""
    form = variant.removesuffix(FRESH)
    return form.removesuffix(","), form != variant


def with_fresh(forms: Collection[str] = ("",)) -> list[str]:
    """Return variants, each followed by the one with fresh test data."""
    return [*forms, *(",".join(filter(None, (form, FRESH))) for form in forms)]
