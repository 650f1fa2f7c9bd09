"""A driver's store: its methods wait while the database is locked, full or unreachable, rather than end a sweep.

Leases, drivers and probes are not methods of ``Store``; they use ``with_retry`` themselves.
"""

from __future__ import annotations

import inspect

from longwave.platform.storage.database import Database
from longwave.platform.storage.retry import with_retry
from longwave.platform.storage.store import Store

ONCE = ("import_trials",)
"""Methods that consume an iterator, which would be empty when they are repeated."""


class RetryingStore(Store):
    """A store that runs each of its methods ``with_retry``. It shares connections and attributes with ``store``.

    Args:
        store: An open store.
    """

    def __init__(self, store: Store) -> None:
        self.__dict__ = store.__dict__

    @property
    def store(self) -> RetryingStore:
        """Itself, as the decorator ``with_retry`` expects."""
        return self

    @property
    def once(self) -> Store:
        """The same store without retries, for callers that would rather fail than wait."""
        plain = Store.__new__(Store)
        plain.__dict__ = self.__dict__
        return plain


for _name, _method in inspect.getmembers(Store, inspect.isfunction):
    if not _name.startswith("_") and not hasattr(Database, _name) and _name not in ONCE:
        setattr(RetryingStore, _name, with_retry(_method))
