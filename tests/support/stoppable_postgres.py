"""A PostgreSQL server for a single test, which may stop and start it."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def stoppable_postgres() -> Iterator[tuple[Any, Callable[..., Any]]]:
    """Yield the server, and a function that calls ``pg_ctl`` with a command."""
    with tempfile.TemporaryDirectory(prefix="longwave-postgres-") as folder:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pgserver = pytest.importorskip("pgserver", reason="pgserver has no wheel for this Python")
            server = pgserver.get_server(folder)
        yield server, lambda *what: pgserver.pg_ctl(list(what), pgdata=server.pgdata, user=server.system_user)
        server.cleanup()
