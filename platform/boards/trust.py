"""Which imported trainings count: those of bundles that the reader or the package trusts. All others are guests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from longwave.platform.boards.verification import verification
from longwave.platform.errors import ConfigError
from longwave.platform.records.group import Group

SHIPPED = Path(__file__).with_suffix(".txt")
"""Hashes that ship with the package."""
RANKED = ("ok", "diverged")
"""Ends of a training that medians and ranks count."""


@cache
def shipped(file: Path = SHIPPED) -> frozenset[str]:
    """Return the hashes of the bundles and editions that ship with the package.

    Raises:
        ConfigError: A word of the list is no SHA-256.
    """
    lines = [line.partition("#")[0] for line in file.read_text(encoding="utf-8").splitlines()]
    found = [word for line in lines for word in line.split()]
    for word in found:
        if not re.fullmatch("[0-9a-f]{64}", word):
            raise ConfigError(f"{file.name} lists {word!r}, which is no SHA-256 of 64 hex digits. Mend the list.")
    return frozenset(found)


def check_trust(names: Sequence[str], groups: Iterable[Group]) -> None:
    """Raise ConfigError where a name is not that of one bundle whose trainings are among ``groups``."""
    if not names:
        return
    bundles = {bundle for group in groups for bundle in group.came.values()}
    known = ", ".join(sorted(bundle[:12] for bundle in bundles)) or "none"
    for name in names:
        if not re.fullmatch("[0-9a-f]{4,64}", name):
            raise ConfigError(
                f"--trust takes a bundle's name, 4 to 64 hex digits, got {name!r}. Rows came in: {known}."
            )
        if (n := sum(bundle.startswith(name) for bundle in bundles)) != 1:
            why = f"begins the names of {n} bundles: give more digits" if n else "is no bundle that rows here came in"
            raise ConfigError(f"--trust {name} {why}. Rows came in: {known}.")


@dataclass(frozen=True)
class Seat:
    """What of a group counts on a board.

    Attributes:
        group: The group with the retrainings that count; of a guest with all.
        guests: Ids of those that were imported and are trusted by nobody.
        guest: Whether it is one: shown, and ranked with nobody.
    """

    group: Group
    guests: Sequence[str] = ()
    guest: bool = False

    @property
    def level(self) -> str:
        """How far its numbers are verified; see ``verification``."""
        group = self.group
        bundles = [group.came[run] for run in self.guests] if self.guest else []
        return verification(group.checks, group.reruns, bundles, 0 if self.guest else len(self.guests))


def seated(group: Group, trust: Sequence[str]) -> Seat:
    """Return what of a group counts: trainings that were made here, or came in a bundle that is trusted.

    It is a guest where none of these ended but re-runs none of which fell inside.

    Args:
        group: The group.
        trust: Names of bundles that the reader trusts, or their first digits.
    """
    guests = {run for run, bundle in group.came.items() if not _trusted(bundle, trust)}
    if not guests:
        return Seat(group)
    counted = [run for run in group.runs if run.id not in guests]
    own = sum(run.status in RANKED for run in counted) > len(group.reruns) or "inside" in group.reruns
    if not own:
        return Seat(group, sorted(guests), True)
    checks = [passed for run, passed in zip(group.came, group.checks, strict=True) if run not in guests]
    return Seat(replace(group, runs=counted, checks=checks), sorted(guests))


def _trusted(bundle: str, trust: Sequence[str]) -> bool:
    return bundle in shipped() or any(bundle.startswith(name) for name in trust)
