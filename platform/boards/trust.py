"""Which imported trainings count: those of bundles that the reader or the package trusts. No other does."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from longwave.platform.boards.verification import verification
from longwave.platform.errors import ConfigError
from longwave.platform.records.group import Group

SHIPPED = Path(__file__).with_suffix(".txt")
"""Names of bundles that the package trusts, each with the SHA-256 of its file."""
LEAST_DIGITS = 8
"""Of a bundle's name, to name it by its beginning: a shorter one would soon name another, too."""
RANKED = ("ok", "diverged")
"""Ends of a training that medians and ranks count."""


@cache
def shipped(file: Path = SHIPPED) -> Mapping[str, str]:
    """Return the names of the bundles that the package trusts, and for each the SHA-256 of its file.

    Raises:
        ConfigError: A line of the list is not two SHA-256.
    """
    lines = [line.partition("#")[0].split() for line in file.read_text(encoding="utf-8").splitlines()]
    for words in filter(None, lines):
        if len(words) != 2 or not all(re.fullmatch("[0-9a-f]{64}", word) for word in words):
            line = " ".join(words)
            raise ConfigError(
                f"{file.name} lists {line!r}; a line is a bundle's name and its file's SHA-256, 64 hex digits each. "
                "Fix the list."
            )
    return dict(filter(None, lines))


def resolve_trust(names: Sequence[str], bundles: Collection[str]) -> tuple[str, ...]:
    """Return the full names of the bundles that ``names`` begin, given those of all bundles in the store.

    Raises:
        ConfigError: A name has fewer than ``LEAST_DIGITS`` digits, or begins the name of no bundle, or of several.
    """
    known = ", ".join(sorted(bundle[:12] for bundle in bundles if bundle not in shipped())) or "none"
    full = []
    for name in names:
        if not re.fullmatch(f"[0-9a-f]{{{LEAST_DIGITS},64}}", name):
            raise ConfigError(
                f"--trust takes a bundle's name, or its first {LEAST_DIGITS} hex digits or more, got {name!r}. Bundles "
                f"here: {known}."
            )
        matching = [bundle for bundle in bundles if bundle.startswith(name)]
        if len(matching) != 1:
            n = len(matching)
            why = f"begins the names of {n} bundles: give more digits" if n else "is not a bundle imported here"
            raise ConfigError(f"--trust {name} {why}. Bundles here: {known}.")
        full += matching
    return tuple(full)


@dataclass(frozen=True)
class RowTrust:
    """What of a row counts on a board.

    Attributes:
        group: Its retrainings that count; of an untrusted row all.
        untrusted_runs: Ids of those that were imported and that nobody trusts.
        untrusted: Whether nothing else speaks for it: it is shown, and ranked with nobody.
    """

    group: Group
    untrusted_runs: Sequence[str] = ()
    untrusted: bool = False

    @property
    def level(self) -> str:
        """How far its numbers are verified; see ``verification``."""
        group = self.group
        bundles = [group.came[run] for run in self.untrusted_runs] if self.untrusted else []
        aside = 0 if self.untrusted else len(self.untrusted_runs)
        return verification(group.checks, group.reruns, bundles, aside)


def trust_in(group: Group, trust: Sequence[str]) -> RowTrust:
    """Return what of a group counts: trainings that were made here, or came in a bundle that is trusted.

    The row is untrusted where none of these ended but re-runs none of which fell inside.

    Args:
        group: The group.
        trust: Full names of bundles that the reader trusts.
    """
    untrusted = {run for run, bundle in group.came.items() if not _is_trusted(bundle, trust)}
    if not untrusted:
        return RowTrust(group)
    counted = [run for run in group.runs if run.id not in untrusted]
    ended = sum(run.status in RANKED for run in counted)
    if ended <= len(group.reruns) and "inside" not in group.reruns:
        return RowTrust(group, sorted(untrusted), True)
    checks = [passed for run, passed in zip(group.came, group.checks, strict=True) if run not in untrusted]
    return RowTrust(replace(group, runs=counted, checks=checks), sorted(untrusted))


def _is_trusted(bundle: str, trust: Sequence[str]) -> bool:
    return bundle in shipped() or bundle in trust
