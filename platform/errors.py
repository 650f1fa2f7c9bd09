"""The errors that Longwave raises on purpose.

LongwaveError
  ConfigError       a sweep file, a name or a command is wrong; nothing has run
  StoreError        the results store refused a read or a write
    StoreUnavailable  temporarily: locked, full or not reachable
  WorkerError       the workers could not be started, or cannot run what was planned
    WorkersLostError  they died during training
  Interrupted       a sweep was stopped cleanly by a signal

The command line prints each as one line and exits with status 2, or with 128 plus the signal's number after a signal.
A sweep all of whose trials failed ends with status 1.
"""

from __future__ import annotations

import signal
from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate

from longwave.platform.names import nearest_names
from longwave.platform.redaction import redacted
from longwave.platform.wording import list_first

LISTED = 300
"""Characters of known names that an error lists if none is similar; the first name is always listed."""


class LongwaveError(Exception):
    """Base of every error that Longwave raises on purpose. Passwords in its message are redacted."""

    def __init__(self, message: object = "") -> None:
        super().__init__(redacted(str(message)))


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or its type if there is no message."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


class ConfigError(LongwaveError):
    """A sweep file, a name or a command is wrong; nothing has run."""


class StoreError(LongwaveError):
    """The results store refused a read or a write."""


class NoStoreError(StoreError):
    """There is no store at the given address."""


class StoreUnavailable(StoreError):
    """The results store is temporarily not available: locked, full or not reachable. Waiting helps.

    Attributes:
        seconds: How long it is worth waiting for.
    """

    def __init__(self, message: str, seconds: float = 0.0) -> None:
        super().__init__(message)
        self.seconds = seconds


class WorkerError(LongwaveError):
    """The workers could not be started, or cannot run what was planned."""


class WorkersLostError(WorkerError):
    """The workers and the processes that start them died during training; checkpoints are kept."""


class Interrupted(LongwaveError):
    """A sweep was stopped cleanly by a signal: its checkpoints are saved, and it can be resumed.

    Args:
        number: Number of the signal.
        command: What resumes it.
    """

    def __init__(self, number: int, command: str) -> None:
        name = signal.Signals(number).name
        super().__init__(f"{name}: finished trials are kept. Resume the sweep with: {command}")
        self.status = 128 + number


def did_you_mean(kind: str, name: str, names: Iterable[str], hint: str = "", first: Collection[str] = ()) -> str:
    """Return one line with the unknown ``name``, similar known ones, those in ``first`` first, and a hint."""
    names = sorted(names)
    similar = nearest_names(name, names, first)
    guess = f"Did you mean {' or '.join(similar)}?" if similar else f"Known: {_list_first(names)}."
    return f"No {kind} {name!r}. {guess} {hint}".strip()


def _list_first(names: Sequence[str]) -> str:
    """Return the first names, with the number of those beyond ``LISTED`` characters; ``none`` without any."""
    lengths = accumulate(len(name) + len(", ") for name in names)
    count = max(1, sum(length <= LISTED for length in lengths))
    return list_first(names, count) if names else "none"
