"""What tells rows of one title apart on their board: what a reader knows of them, else the start of their identity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import published

KNOWN = ("hidden", "width", "epochs", "batch", "steps", "schedule", "optimiser", "precision")
"""Settings that a reader knows, what says most first."""


def labelled(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of one board, each with the mark that its label needs so that no other has the same."""
    alike: dict[str, list[Row]] = {}
    for row in rows:
        alike.setdefault(row.title, []).append(row)
    marks: dict[str, str] = {}
    for theirs in alike.values():
        if len(theirs) > 1:
            marks |= {row.key: f"in {published(row)}" for row in theirs if row.kind == "published"}
            marks |= _marks([row for row in theirs if row.kind == "reproduced"])
    return [replace(row, mark=marks[row.key]) if marks.get(row.key) else row for row in rows]


def _marks(rows: Sequence[Row]) -> dict[str, str]:
    """Return marks by key: as few of the settings in which rows of one title differ as tell them apart."""
    facts_of_rows: list[list[str]] = [[] for _ in rows]
    for kind in zip(*map(_facts, rows), strict=True):
        if len({*map(tuple, facts_of_rows)}) < len(rows) and len({*kind}) > 1:
            facts_of_rows = [
                [*before, fact] if fact else before for before, fact in zip(facts_of_rows, kind, strict=True)
            ]
    marks = [f"({', '.join(facts)})" if facts else "" for facts in facts_of_rows]
    often = Counter(marks)
    return {
        row.key: mark if often[mark] == 1 else f"{mark} #{row.config[:4]}".strip()
        for row, mark in zip(rows, marks, strict=True)
    }


def _facts(row: Row) -> list[str]:
    """Return what a reader knows of a row beside its title, the same things of each row, what says most first."""
    settings = {**row.settings, "hidden": row.hidden}
    state = "superseded" if row.superseded else "untrusted" if row.untrusted else ""
    return [state, *(f"{name} {settings[name]}" if settings.get(name) else "" for name in KNOWN)]
