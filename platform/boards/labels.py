"""Marks that distinguish rows of the same title on a board: familiar settings, else the start of their identity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from longwave.platform.boards.printed import quote_numbers
from longwave.platform.boards.row import Row

KNOWN = ("hidden", "width", "epochs", "batch", "steps", "schedule", "optimiser", "precision")
"""Settings familiar to a reader, the most informative first."""


def labelled(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of one board with marks that make their labels unique."""
    by_title: dict[str, list[Row]] = {}
    for row in rows:
        by_title.setdefault(row.title, []).append(row)
    marks: dict[str, str] = {}
    for same_title in by_title.values():
        if len(same_title) > 1:
            marks |= {row.key: f"in {quote_numbers(row)}" for row in same_title if row.kind == "published"}
            marks |= _marks([row for row in same_title if row.kind == "retrained"])
    return [replace(row, mark=marks[row.key]) if marks.get(row.key) else row for row in rows]


def _marks(rows: Sequence[Row]) -> dict[str, str]:
    """Return marks by key, with only as many settings as needed to distinguish rows of one title."""
    facts_of_rows: list[list[str]] = [[] for _ in rows]
    for kind in zip(*map(_facts, rows), strict=True):
        if len({*map(tuple, facts_of_rows)}) < len(rows) and len({*kind}) > 1:
            facts_of_rows = [
                [*earlier, fact] if fact else earlier for earlier, fact in zip(facts_of_rows, kind, strict=True)
            ]
    marks = [f"({', '.join(facts)})" if facts else "" for facts in facts_of_rows]
    counts = Counter(marks)
    return {
        row.key: mark if counts[mark] == 1 else f"{mark} #{row.config[:4]}".strip()
        for row, mark in zip(rows, marks, strict=True)
    }


def _facts(row: Row) -> list[str]:
    """Return a row's state and ``KNOWN`` settings as texts, empty where absent, in the same order for each row."""
    settings = {**row.settings, "hidden": row.hidden}
    state = "superseded" if row.superseded else "untrusted" if row.untrusted else ""
    return [state, *(f"{name} {settings[name]}" if settings.get(name) else "" for name in KNOWN)]
