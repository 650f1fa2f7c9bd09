"""Builds boards from the results in a store."""

from __future__ import annotations

from dataclasses import replace

from longwave.platform.boards.board import check_pool, rows
from longwave.platform.boards.row import Row
from longwave.platform.boards.trust import resolve_trust
from longwave.platform.records.group import EVERYBODY, Pool
from longwave.platform.storage.queries import Queries


def read_board(store: Queries, task: str | None = None, pool: Pool = EVERYBODY) -> list[Row]:
    """Return the rows of ``task``, or of all tasks, in the store.

    The pool may name bundles by their first digits.

    Raises:
        ConfigError: A name in the pool matches no bundle of the store, or several; a model has no results; or rows of
            one board measure different things.
    """
    pool = replace(pool, trust=resolve_trust(pool.trust, store.bundles()) if pool.trust else ())
    groups, published = store.groups(task, pool.trust), store.published(task)
    check_pool(pool, groups, published)
    return rows(groups, published, pool)
