"""Findings about a bundle, and conflicts with trials in the store."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from longwave.platform.exchange.bundle import BundledTrial
from longwave.platform.records.run import ENDED
from longwave.platform.records.stored import TrialEnd
from longwave.platform.redaction import redacted

Severity = Literal["reject", "flag"]
Findings = Iterator[tuple[Literal["reject"], str] | tuple[Literal["flag"], str, Sequence[str]]]
"""Severity and message of each finding of a check; for a flag, also the identities of the trials it concerns."""


@dataclass(frozen=True)
class AuditFinding:
    """A finding of a check, in one line.

    Attributes:
        check: Name of the check.
        severity: ``reject``: the bundle is not imported; ``flag``: it is imported, and its rows are marked.
        message: What is wrong, and where.
        trials: Identities of the trials that a flag concerns; if empty, it concerns the whole bundle.
    """

    check: str
    severity: Severity
    message: str
    trials: Sequence[str] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", redacted(self.message))  # it may quote the bundle


def find_conflicts(trials: Iterable[BundledTrial], stored_ends: Mapping[str, TrialEnd]) -> Iterator[AuditFinding]:
    """Yield a rejection for each trial that has another outcome in the store, or none yet.

    Args:
        trials: The bundle's.
        stored_ends: Outcomes of those trials that the store has, by trial.
    """
    for entry in trials:
        end = stored_ends.get(entry.config.id)
        if end and (difference := _describe_difference(end, entry)):
            yield AuditFinding("conflict", "reject", f"trial {entry.config.id} is in the store with {difference}.")


def _describe_difference(end: TrialEnd, entry: BundledTrial) -> str:
    """Return how a trial's outcome in the store differs; empty if it agrees."""
    if end.status not in ENDED:
        return "no end yet: finish its sweep first, or import into another store"
    for name in ("status", "epochs", "best_epoch", "valid", "test"):
        stored, bundled = getattr(end, name), getattr(entry.run, name)
        close = isinstance(stored, float) and isinstance(bundled, float) and math.isclose(stored, bundled, rel_tol=1e-6)
        if stored != bundled and not close:
            return f"{name} {stored}, in the bundle it has {bundled}: import it into another store"
    return ""
