"""The errors Longwave raises on purpose.

LongwaveError
  ConfigError       a sweep file, a name or a command is wrong; nothing has run
  StoreError        the results store refused a read or a write
  WorkerError       the workers could not be started, or are not fit for what was planned

The command line prints any of them as one line and exits with code 2.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class LongwaveError(Exception):
    """Base of every error Longwave raises on purpose."""


class ConfigError(LongwaveError):
    """A sweep file, a name or a command is wrong; nothing has run."""


class StoreError(LongwaveError):
    """The results store refused a read or a write."""


class WorkerError(LongwaveError):
    """The workers could not be started, or are not fit for what was planned."""


def did_you_mean(kind: str, name: str, known: Iterable[str], hint: str = "") -> str:
    """Return one line that names the unknown ``name``, the nearest known ones and where to look."""
    known = sorted(known)
    near = difflib.get_close_matches(name, known, n=3)
    guess = f"Did you mean {' or '.join(near)}?" if near else f"Known: {', '.join(known)}."
    return f"No {kind} {name!r}. {guess} {hint}".strip()
