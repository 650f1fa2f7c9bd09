"""Labels of rows in a figure or a table, no two the same where rows differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from longwave.platform.boards.row import Row
from longwave.platform.boards.texts import published


def labels(rows: Sequence[Row]) -> list[str]:
    """Return one label a row: the model, and where that is not enough the start of its identity, or its source."""
    often = Counter(row.title for row in rows)
    return [row.title if often[row.title] == 1 else f"{row.title} {_which(row)}" for row in rows]


def _which(row: Row) -> str:
    """Return what tells the row from others of its title."""
    return f"#{row.config[:4]}" if row.kind == "reproduced" else f"in {published(row)}"
