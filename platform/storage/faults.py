"""Classifies the errors of a database: temporary, damage, or permanent."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from longwave.platform.errors import StoreError, StoreUnavailable
from longwave.platform.redaction import redacted
from longwave.platform.storage.engine import is_allowed, short_cause, without_password


@dataclass(frozen=True)
class Fault:
    """Why a database is temporarily unusable.

    Attributes:
        why: In words.
        seconds: How long to wait for it; ``LONGWAVE_STORE_WAIT`` overrides it, see ``retry``.
    """

    why: str
    seconds: float


LOCKED = Fault("another process has locked it", 120.0)
"""A writer needs milliseconds; a backup or a transaction left open may take minutes."""
AWAY = Fault("its server does not answer", 300.0)
"""A restart takes seconds, an upgrade of the server minutes."""
FULL = Fault("its disk is full", 600.0)
"""Someone has to free space."""
BARRED = Fault("its folder or disk does not allow it", 600.0)
"""Someone has to restore a permission or a mount."""

SQLITE = {
    "SQLITE_BUSY": LOCKED,
    "SQLITE_LOCKED": LOCKED,
    "SQLITE_PROTOCOL": LOCKED,
    "SQLITE_FULL": FULL,
    "SQLITE_IOERR": BARRED,
    "SQLITE_READONLY": BARRED,
    "SQLITE_CANTOPEN": BARRED,
}
"""Faults by prefix of SQLite's name for an error."""
NEVER_WRITTEN = ("SQLITE_READONLY", "SQLITE_CANTOPEN", "EACCES", "EPERM", "EROFS")
"""Permanent for a store that this process has never written to, since it may not be allowed to at all."""
UNWRITABLE = ("SQLITE_READONLY", "SQLITE_CANTOPEN")
"""What SQLite says of a file, even to a reader, that needs a log beside it and cannot have one."""
UNSAFE = ("SQLITE_IOERR_FSYNC", "SQLITE_IOERR_DIR_FSYNC", "SQLITE_IOERR_CORRUPTFS")
"""After these the disk may have lost data that SQLite believes to be written, so nothing more is written."""
DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "NO_TEXT")
POSTGRESQL = {"08": AWAY, "57P": AWAY, "53100": FULL, "53": AWAY, "40": LOCKED, "55P03": LOCKED, "58030": BARRED}
"""Faults by prefix of PostgreSQL's code for an error; the first match counts."""
MAGIC = b"SQLite format 3\0"
"""The first bytes of every SQLite database."""
UNDEFINED_TABLE = "42P01"
"""PostgreSQL's code for what SQLite calls "no such table"."""
PERMANENT = ("does not exist", "authentication failed", "pg_hba.conf", "permission denied")
"""Parts of messages about connections that would fail the same way again."""
FILES = {"ENOSPC": FULL, "EDQUOT": FULL, "EACCES": BARRED, "EPERM": BARRED, "EROFS": BARRED, "EIO": BARRED}
"""Faults by the operating system's name for an error."""


def describe_refusal(error: Exception, url: str | sa.URL, wrote: bool = True) -> StoreError:
    """Return the exception to raise for an error of a store's database: one line, ``StoreUnavailable`` if temporary.

    Args:
        error: One of ``engine.REFUSED``.
        url: The store's.
        wrote: Whether this process has written to the store, so that it was allowed to.
    """
    full_url = url if isinstance(url, str) else url.render_as_string(hide_password=False)
    store, reason = without_password(url), redacted(short_cause(error), full_url)
    if isinstance(error, sa.exc.DataError):
        return StoreError(f"The store {store} refused a value: {reason}")
    if isinstance(error, sa.exc.IntegrityError) and "unique" in reason.lower():
        return StoreError(f"Another process has just written the same records to the store {store}. Try again.")
    if is_foreign_file(error, url):
        advice = "Name another with --store."
        return StoreError(f"The store {store} cannot be used: the file is not a SQLite database. {advice}")
    if _error_code(error).startswith(DAMAGED):
        return describe_damaged_store(url, reason)
    if fault := fault_of(error, wrote):
        return StoreUnavailable(f"The store {store} cannot be used, {fault.why}: {reason}", fault.seconds)
    if "no such table" in reason or _error_code(error) == UNDEFINED_TABLE:
        advice = "Put back a copy of it, or name another one: --store URL"
        return StoreError(f"The store {store} lost its tables while it was in use: {reason}. {advice}")
    if _error_code(error).startswith(UNWRITABLE) and _may_only_be_read(_locate_file(url)):
        reason += ". Copy it, with its -wal file if there is one, to a folder that you can write to."
    return StoreError(f"The store {store} cannot be used: {reason}")


def describe_damaged_store(url: str | sa.URL, damage: str) -> StoreError:
    """Return the exception to raise for a damaged store: one line that says what is damaged and what to do."""
    store = without_password(url)
    return StoreError(
        f"The store {store} is damaged: {damage}. Save what is readable with: longwave doctor --repair --store {store}"
    )


def is_foreign_file(error: Exception, url: str | sa.URL) -> bool:
    """Return whether SQLite refused a file that was never a database, rather than one whose beginning is damaged.

    A database begins with ``MAGIC``, and the first of its pages, which contain zeros, define its tables.
    """
    if _error_code(error) != "SQLITE_NOTADB":
        return False
    try:
        with _locate_file(url).open("rb") as file:
            start = file.read(2**20)
    except OSError:
        return False
    return not start.startswith(MAGIC) and not (b"\0" in start and b"CREATE TABLE " in start)


def fault_of(error: Exception, wrote: bool = True) -> Fault | None:
    """Return the temporary fault behind an error; None if waiting does not help."""
    code = _error_code(error)
    if code in UNSAFE or (not wrote and code.startswith(NEVER_WRITTEN)):
        return None
    if code.startswith("SQLITE"):
        return next((fault for start, fault in SQLITE.items() if code.startswith(start)), None)
    if isinstance(error, OSError):
        return FILES.get(code)
    if fault := next((fault for start, fault in POSTGRESQL.items() if code.startswith(start)), None):
        return fault
    disconnected = isinstance(error, sa.exc.DBAPIError) and error.connection_invalidated
    unreachable = isinstance(error, sa.exc.OperationalError) and not code  # without a code it is not from a server
    return AWAY if (disconnected or unreachable) and not any(words in str(error) for words in PERMANENT) else None


def _locate_file(url: str | sa.URL) -> Path:
    """Return the file of a SQLite store."""
    return Path(sa.make_url(url).database or "")


def _may_only_be_read(file: Path) -> bool:
    may_write = is_allowed(file, os.W_OK) and is_allowed(file.parent, os.W_OK)
    return is_allowed(file, os.R_OK) and not may_write


def _error_code(error: Exception) -> str:
    """Return a database's or the system's own name for an error; empty if it has none."""
    if isinstance(error, OSError):
        return errno.errorcode.get(error.errno or 0, "")
    origin = getattr(error, "orig", None) or error
    if str(origin).startswith("Could not decode to UTF-8"):  # from Python's sqlite3, which gives it no name
        return "NO_TEXT"
    return getattr(origin, "sqlite_errorname", None) or getattr(origin, "sqlstate", None) or ""
