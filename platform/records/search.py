"""How a sweep searches, in a reader's words: the sampler, its rounds, who is stopped early, what it begins with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

SAMPLER, ETA, FIRST = "random", 3, 1
"""What a sweep file takes unless it says another: its sampler, and of successive halving ``eta`` and ``first``."""
RACE: Mapping[str, int] = {"finalists": 4, "seeds": 1, "best": 2, "more": 2}
"""The race that a sweep has under rule 2 unless it says another."""
THEN = ", then "
"""Stands between a search and the one that went on from it."""
STARTS = {"published": "published settings", "rows": "earlier rows"}
"""What a search may begin with, by the name that a sweep file gives."""


def searched_by(content: Mapping[str, Any]) -> str:
    """Return how a sweep searches, in a line: ``tpe search in 4 rounds, warm start from earlier rows``.

    Args:
        content: Its settings as the store keeps them: what differs from the defaults.
    """
    if content.get("instead_of"):
        return "chosen among retrained settings by their median validation score, and retrained with other seeds"
    rounds = f" in {content['rounds']} rounds" if content.get("rounds", 1) > 1 else ""
    parts = [f"{content.get('sampler', SAMPLER)} search{rounds}"]
    if pruner := content.get("pruner"):
        parts.append(f"{pruner} in {'whole rounds' if content.get('rule') == 2 else 'packs'}")
    if (halving := content.get("halving")) is not None:
        eta, first = halving.get("eta", ETA), halving.get("first", FIRST)
        cohort = "whole rounds" if content.get("rule") == 2 else "packs"
        cohort = f"cohorts of {halving['cohort']}" if halving.get("cohort") else cohort
        parts.append(f"successive halving in {cohort} (η {eta}, from epoch {first})")
    if warm := content.get("warm"):
        parts.append(f"warm start from {' and '.join(STARTS[name] for name in warm)}")
    if content.get("study"):
        parts.append("warm start from trials of an Optuna study")
    if named := sorted({name for wishes in content.get("space", {}).values() for name in wishes}):
        parts.append(f"ranges of its own for {', '.join(named)}")
    race = content.get("race", RACE if content.get("rule") == 2 and content.get("retrain") != 0 else None)
    if race:
        race = {**RACE, **race}
        parts.append(f"a race of {race['finalists']} finalists with fresh seeds")
    if wider := content.get("wider"):
        named = sorted({name for ranges in wider["space"].values() for name in ranges})
        return f"{', '.join(parts)}{THEN}{wider['trials']} trials over wider ranges for {', '.join(named)}"
    return ", ".join(parts)


def distinct_ways(ways: Sequence[str]) -> tuple[str, ...]:
    """Return how some sweeps searched, each way once, but for those from which another went on."""
    return tuple(way for way in dict.fromkeys(ways) if not any(other.startswith(f"{way}{THEN}") for other in ways))
