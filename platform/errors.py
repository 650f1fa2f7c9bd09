"""The errors Longwave raises on purpose.

LongwaveError
  ConfigError       a sweep file, a name or a command is wrong; nothing has run
  StoreError        the results store refused a read or a write
    StoreUnavailable  for now: locked, full or away
  WorkerError       the workers could not be started, or are not fit for what was planned
    WorkersLostError  they died while packs trained
  Interrupted       a signal ended a sweep in order

The command line prints any of them as one line and exits with code 2; with 128 and the signal's number after a signal.
"""

from __future__ import annotations

import signal
from collections.abc import Collection, Iterable

from longwave.platform.names import nearest_names
from longwave.platform.redaction import redacted

LISTED = 30
"""Known names that an error lists where none is near."""


class LongwaveError(Exception):
    """Base of every error Longwave raises on purpose. Its message holds no password, whatever it was made of."""

    def __init__(self, message: object = "") -> None:
        super().__init__(redacted(str(message)))


def first_line(error: BaseException) -> str:
    """Return the first line of what a library's error says, or its type where it says nothing."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


class ConfigError(LongwaveError):
    """A sweep file, a name or a command is wrong; nothing has run."""


class StoreError(LongwaveError):
    """The results store refused a read or a write."""


class NoStoreError(StoreError):
    """There is no store at the given address."""


class StoreUnavailable(StoreError):
    """The results store cannot be used for now: locked, full or away. Waiting helps.

    Attributes:
        seconds: How long it is worth waiting for.
    """

    def __init__(self, message: str, seconds: float = 0.0) -> None:
        super().__init__(message)
        self.seconds = seconds


class WorkerError(LongwaveError):
    """The workers could not be started, or are not fit for what was planned."""


class WorkersLostError(WorkerError):
    """The workers died with all that starts them, while packs trained; their checkpoints are there."""


class Interrupted(LongwaveError):
    """A signal ended a sweep in order: its checkpoints are saved, and it can go on.

    Args:
        number: Of the signal.
        sweep: Its name.
    """

    def __init__(self, number: int, sweep: str) -> None:
        name = signal.Signals(number).name
        super().__init__(f"{name}: finished trials are kept. Resume the sweep with: longwave sweep resume {sweep}")
        self.status = 128 + number


def did_you_mean(kind: str, name: str, known: Iterable[str], hint: str = "", first: Collection[str] = ()) -> str:
    """Return one line that names the unknown ``name``, the nearest known ones, ``first`` ahead, and where to look."""
    known = sorted(known)
    near = nearest_names(name, known, first)
    more = f" and {len(known) - LISTED} more" if len(known) > LISTED else ""
    listed = f"{', '.join(known[:LISTED])}{more}" if known else "none"
    guess = f"Did you mean {' or '.join(near)}?" if near else f"Known: {listed}."
    return f"No {kind} {name!r}. {guess} {hint}".strip()
