"""What a database's refusal means: worth waiting for, damage, or for good."""

from __future__ import annotations

import errno
from dataclasses import dataclass

import sqlalchemy as sa

from longwave.platform.errors import StoreError, StoreUnavailable
from longwave.platform.redaction import redacted
from longwave.platform.storage.engine import short_cause, without_password


@dataclass(frozen=True)
class Fault:
    """Why a database does not serve for now.

    Attributes:
        why: In words.
        seconds: How long is waited for it to serve again; ``LONGWAVE_STORE_WAIT`` overrides it, see ``retry``.
    """

    why: str
    seconds: float


LOCKED = Fault("another process has locked it", 120.0)
"""A writer needs milliseconds, a backup or somebody's open transaction minutes."""
AWAY = Fault("its server does not answer", 300.0)
"""A restart takes seconds, an upgrade of the server minutes."""
FULL = Fault("its disk is full", 600.0)
"""Somebody has to make room."""
BARRED = Fault("its folder or disk does not allow it", 600.0)
"""Somebody has to give back what was taken away: a permission, a mount."""

SQLITE = {
    "SQLITE_BUSY": LOCKED,
    "SQLITE_LOCKED": LOCKED,
    "SQLITE_PROTOCOL": LOCKED,
    "SQLITE_FULL": FULL,
    "SQLITE_IOERR": BARRED,
    "SQLITE_READONLY": BARRED,
    "SQLITE_CANTOPEN": BARRED,
}
"""By the beginning of SQLite's name for an error."""
NEVER_WRITTEN = ("SQLITE_READONLY", "SQLITE_CANTOPEN", "EACCES", "EPERM", "EROFS")
"""What is no passing fault of a store that was never written to: it may never be."""
UNSAFE = ("SQLITE_IOERR_FSYNC", "SQLITE_IOERR_DIR_FSYNC", "SQLITE_IOERR_CORRUPTFS")
"""After these the disk may have lost what SQLite takes for written: nothing more is written there."""
DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "NO_TEXT")
POSTGRESQL = {"08": AWAY, "57P": AWAY, "53100": FULL, "53": AWAY, "40": LOCKED, "55P03": LOCKED, "58030": BARRED}
"""By the beginning of PostgreSQL's code for an error; the first that fits counts."""
UNDEFINED_TABLE = "42P01"
"""PostgreSQL's code for what SQLite calls "no such table"."""
FOR_GOOD = ("does not exist", "authentication failed", "pg_hba.conf", "permission denied")
"""In the words of a server that was reached, or cannot be, and will say the same again."""
FILES = {"ENOSPC": FULL, "EDQUOT": FULL, "EACCES": BARRED, "EPERM": BARRED, "EROFS": BARRED, "EIO": BARRED}
"""By the name of the operating system's error."""


def describe_refusal(error: Exception, url: str | sa.URL, wrote: bool = True) -> StoreError:
    """Return what to raise where a store's database raised ``error``: one line, ``StoreUnavailable`` if it may pass.

    Args:
        error: One of ``engine.REFUSED``.
        url: The store's.
        wrote: Whether the store has been written to by this process, so that it was permitted.
    """
    plain = url if isinstance(url, str) else url.render_as_string(hide_password=False)
    store, reason = without_password(url), redacted(short_cause(error), plain)
    if _error_code(error).startswith(DAMAGED):
        return StoreError(
            f"The store {store} is damaged: {reason}. "
            f"Save what is readable with: longwave doctor --repair --store {store}"
        )
    if fault := fault_of(error, wrote):
        return StoreUnavailable(f"The store {store} cannot be used, {fault.why}: {reason}", fault.seconds)
    if "no such table" in reason or _error_code(error) == UNDEFINED_TABLE:
        advice = "Put back a copy of it, or name another one: --store URL"
        return StoreError(f"The store {store} lost its tables while it was in use: {reason}. {advice}")
    return StoreError(f"The store {store} cannot be used: {reason}")


def fault_of(error: Exception, wrote: bool = True) -> Fault | None:
    """Return the transient fault behind an error; None if waiting does not help."""
    code = _error_code(error)
    if code in UNSAFE or (not wrote and code.startswith(NEVER_WRITTEN)):
        return None
    if code.startswith("SQLITE"):
        return next((fault for start, fault in SQLITE.items() if code.startswith(start)), None)
    if isinstance(error, OSError):
        return FILES.get(code)
    if known := next((fault for start, fault in POSTGRESQL.items() if code.startswith(start)), None):
        return known
    lost = isinstance(error, sa.exc.DBAPIError) and error.connection_invalidated
    silent = isinstance(error, sa.exc.OperationalError) and not code  # no server said it: none was reached
    return AWAY if (lost or silent) and not any(words in str(error) for words in FOR_GOOD) else None


def _error_code(error: Exception) -> str:
    """Return a database's or the system's own name for an error; empty if it has none."""
    if isinstance(error, OSError):
        return errno.errorcode.get(error.errno or 0, "")
    origin = getattr(error, "orig", None) or error
    if str(origin).startswith("Could not decode to UTF-8"):  # Python's module says this, and gives it no name
        return "NO_TEXT"
    return getattr(origin, "sqlite_errorname", None) or getattr(origin, "sqlstate", None) or ""
