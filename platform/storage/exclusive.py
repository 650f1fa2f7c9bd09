"""Lets only one process at a time, on whichever machine, do something with a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from filelock import FileLock, Timeout

from longwave.platform.errors import StoreError
from longwave.platform.records.identity import digest
from longwave.platform.storage.database import Database
from longwave.platform.storage.faults import LOCKED, fault_of

LOCK = 7011984
"""First key of the advisory locks in PostgreSQL."""


@contextmanager
def exclusively(store: Database, doing: str, wait: float = 0.0) -> Iterator[Callable[[], Any]]:
    """Hold a lock inside the block, so that no other process does the same. It ends with the process in any case.

    Yields a function to call before each part of the work: it raises if the lock was lost with its connection.

    Args:
        store: The store.
        doing: What the process is doing, without a password: ``"sending demo to W&B"``.
        wait: Seconds to wait for another process that does it.

    Raises:
        StoreError: Another process still holds the lock, or the database refused it.
    """
    busy = StoreError(f"Another process is {doing}. Try again when it has ended.")
    name, engine = digest({"doing": doing}), store.engine
    if engine.dialect.name == "sqlite":
        lock = FileLock(f"{engine.url.database}.{name[:8]}.lock", timeout=wait)
        with store.errors():
            try:
                lock.acquire()
            except Timeout:
                raise busy from None
        try:
            yield lambda: None
        finally:
            lock.release()
        return
    with store.errors():
        connection = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        connection.detach()  # not pooled: closing the connection releases the lock

    def query(text: str) -> Any:
        with store.errors():
            return connection.scalar(sa.text(text))

    try:
        query(f"SELECT set_config('lock_timeout', '{int(wait * 1000) + 1}ms', false)")
        with store.errors():
            try:
                connection.execute(sa.text(f"SELECT pg_advisory_lock({LOCK}, {int(name[:7], 16)})"))
            except sa.exc.OperationalError as error:
                raise (busy if fault_of(error) is LOCKED else error) from None
        yield lambda: query("SELECT 1")
    finally:
        connection.close()
