"""Parts of a variant that mean the same for every task."""

from __future__ import annotations

from collections.abc import Collection

FRESH = "test=2"
"""Ends the variant of a task whose test data are drawn anew, since an edition has shown results on the first ones."""


def split_fresh(variant: str) -> tuple[str, bool]:
    """Return a variant without ``FRESH``, and whether it had it: of ``F=8,test=2`` ``F=8`` and True."""
    form = variant.removesuffix(FRESH)
    return form.removesuffix(","), form != variant


def with_fresh(forms: Collection[str] = ("",)) -> list[str]:
    """Return variants, and of each the one with fresh test data."""
    return [*forms, *(",".join(filter(None, (form, FRESH))) for form in forms)]
