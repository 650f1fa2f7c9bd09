"""The searches behind rows, from the store, and which of them draw dependent trials."""

from __future__ import annotations

from collections.abc import Iterable

from longwave.platform.boards.budget import SearchCurve, budgets
from longwave.platform.boards.row import Row
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.space import learning_samplers


def search_curves(store: Store, rows: Iterable[Row]) -> list[SearchCurve]:
    """Return the search of each model's best row on each task of ``rows``; see ``budgets``."""
    rows = list(rows)
    learned = [
        name for name in sorted({name for row in rows for name in row.sweeps}) if draws_are_dependent(store, name)
    ]
    return budgets(rows, lambda row: store.search_runs(row.config), learned)


def draws_are_dependent(store: Store, sweep: str) -> bool:
    """Return whether a sweep's trials are not independent draws: it learns, has a warm start, or widens its ranges.

    Raises:
        ConfigError: There is no such sweep.
    """
    content = store.sweep(sweep).content
    return content.get("sampler") in learning_samplers() or bool(content.get("warm") or content.get("wider"))
