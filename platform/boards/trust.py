"""Which imported trainings count: only those of bundles that the reader or the package trusts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from longwave.platform.boards.row import SHORT
from longwave.platform.boards.verification import describe_verification
from longwave.platform.errors import ConfigError
from longwave.platform.records.group import Group

SHIPPED = Path(__file__).with_suffix(".txt")
"""Names of bundles that the package trusts, each with the SHA-256 of its file."""
LEAST_DIGITS = 8
"""Fewest digits that may abbreviate a bundle's name; fewer would soon be ambiguous."""
RANKED = ("ok", "diverged")
"""Outcomes of a training that count in medians and ranks."""


@cache
def shipped(file: Path = SHIPPED) -> Mapping[str, str]:
    """Return the names of the bundles that the package trusts, with the SHA-256 of their files.

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
    """Return the full names of the bundles that ``names`` abbreviate, among those of all bundles in the store.

    Raises:
        ConfigError: A name has fewer than ``LEAST_DIGITS`` digits, or fits no bundle, or several.
    """
    available = ", ".join(sorted(bundle[:SHORT] for bundle in bundles if bundle not in shipped()))
    bundles_here = f"Bundles here: {available}." if available else "All rows here are trusted already."
    resolved = []
    for name in map(str.lower, names):
        if not re.fullmatch(f"[0-9a-f]{{{LEAST_DIGITS},64}}", name):
            raise ConfigError(
                f"--trust takes a bundle's name, or its first {LEAST_DIGITS} hex digits or more, got {name!r}. "
                f"{bundles_here}"
            )
        matching = [bundle for bundle in bundles if bundle.startswith(name)]
        if len(matching) != 1:
            count = len(matching)
            why = f"begins the names of {count} bundles: give more digits" if count else "is not a bundle imported here"
            raise ConfigError(f"--trust {name} {why}. {bundles_here}")
        resolved += matching
    return tuple(resolved)


@dataclass(frozen=True)
class RowTrust:
    """Which retrainings of a row count on a board.

    Attributes:
        group: Its retrainings that count; all of an untrusted row.
        untrusted_runs: Ids of those that were imported from bundles that nobody trusts.
        untrusted: Whether nothing else supports the row: it is shown, but not ranked.
        untrusted_choice: Whether no search that anybody trusts chose it: nothing but re-runs made here supports it, or
            the sweep made here took over search trials from a bundle.
    """

    group: Group
    untrusted_runs: Sequence[str] = ()
    untrusted: bool = False
    untrusted_choice: bool = False

    @property
    def level(self) -> str:
        """To what extent its numbers are verified; see ``verification``."""
        group = self.group
        bundles = [group.came[run] for run in self.untrusted_runs] if self.untrusted else []
        aside = 0 if self.untrusted else len(self.untrusted_runs)
        return describe_verification(group.checks, group.reruns, bundles, aside, group.untrusted_searches)


def trust_in(group: Group, trust: Collection[str]) -> RowTrust:
    """Return which trainings of a group count: those made here or imported from a trusted bundle. The row is untrusted
    if none of these ended, apart from re-runs of which none fell inside its interval.

    Args:
        group: The group.
        trust: Full names of bundles that the reader trusts.
    """
    untrusted = {run for run, bundle in group.came.items() if not _is_trusted(bundle, trust)}
    chosen = bool(group.untrusted_searches)
    if not untrusted:
        return RowTrust(group, untrusted_choice=chosen)
    counted = [run for run in group.runs if run.id not in untrusted]
    only_reruns = sum(run.status in RANKED for run in counted) <= len(group.reruns)
    if only_reruns and "inside" not in group.reruns:
        return RowTrust(group, sorted(untrusted), True)
    checks = [passed for run, passed in zip(group.came, group.checks, strict=True) if run not in untrusted]
    return RowTrust(
        replace(group, runs=counted, checks=checks), sorted(untrusted), untrusted_choice=only_reruns or chosen
    )


def left_out(group: Group, trials: Iterable[str], trust: Collection[str] = ()) -> set[str]:
    """Return which retrainings of a row count in no number of its board: imported ones that nobody trusts, in a row
    that was trained here, and those that were used to choose the row.

    Args:
        group: The row's group.
        trials: Ids of all its retrainings.
        trust: Full names of bundles that the reader trusts.
    """
    return {*trials} - {run.id for run in trust_in(group, trust).group.runs}


def _is_trusted(bundle: str, trust: Collection[str]) -> bool:
    return bundle in shipped() or bundle in trust
