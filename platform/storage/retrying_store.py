"""The door of a driver to its store: no method ends a sweep because the database is locked, full or away for a while.

What is no method of ``Store`` (leases, drivers, probes) waits by ``with_retry``.
"""

from __future__ import annotations

import inspect

from longwave.platform.storage.database import Database
from longwave.platform.storage.retry import with_retry
from longwave.platform.storage.store import Store

ONCE = ("import_trials",)
"""Methods that go through an iterator: done again, they would find it empty."""


class RetryingStore(Store):
    """A store each method of which is done ``with_retry``. It shares connections and attributes with ``store``.

    Args:
        store: An open store.
    """

    def __init__(self, store: Store) -> None:
        self.__dict__ = store.__dict__

    @property
    def store(self) -> RetryingStore:
        """The store that its methods are done with: itself."""
        return self

    @property
    def once(self) -> Store:
        """The same store without retries, for callers that prefer no answer to waiting."""
        plain = Store.__new__(Store)
        plain.__dict__ = self.__dict__
        return plain


for _name, _method in inspect.getmembers(Store, inspect.isfunction):
    if not _name.startswith("_") and not hasattr(Database, _name) and _name not in ONCE:
        setattr(RetryingStore, _name, with_retry(_method))
