"""What is said against a bundle, and the one objection that takes no check: the store has another end of a trial."""

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
"""Severity and message of each finding of a check; of a flag, the identities of the trials that it is about."""


@dataclass(frozen=True)
class AuditFinding:
    """What a check found against a bundle, in one line.

    Attributes:
        check: Name of the check.
        severity: ``reject``: the bundle is not taken; ``flag``: it is taken and its rows are marked.
        message: What is wrong, and where.
        trials: Identities of those that a flag is about; without any, it is about all of the bundle.
    """

    check: str
    severity: Severity
    message: str
    trials: Sequence[str] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", redacted(self.message))  # it may quote the bundle


def find_conflicts(trials: Iterable[BundledTrial], known: Mapping[str, TrialEnd]) -> Iterator[AuditFinding]:
    """Yield those of a bundle's trials that the store has with another end, or without one: they reject it.

    Args:
        trials: The bundle's.
        known: How those of them ended that the store has.
    """
    for entry in trials:
        end = known.get(entry.config.id)
        if end and (difference := _describe_difference(end, entry)):
            yield AuditFinding("conflict", "reject", f"trial {entry.config.id} is in the store with {difference}.")


def _describe_difference(end: TrialEnd, entry: BundledTrial) -> str:
    """Return what the store says otherwise of how a trial ended; empty where it says the same."""
    if end.status not in ENDED:
        return "no end yet: finish its sweep first, or import into another store"
    for name in ("status", "epochs", "best_epoch", "valid", "test"):
        here, there = getattr(end, name), getattr(entry.run, name)
        close = isinstance(here, float) and isinstance(there, float) and math.isclose(here, there, rel_tol=1e-6)
        if here != there and not close:
            return f"{name} {here}, in the bundle it has {there}"
    return ""
