"""A sweep's search in words: sampler, rounds, early stopping, warm start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

SAMPLER, ETA, FIRST = "random", 3, 1
"""Defaults of a sweep file: its sampler, and ``eta`` and ``first`` of successive halving."""
RACE: Mapping[str, int] = {"finalists": 4, "seeds": 1, "best": 2, "more": 2}
"""Default race of a sweep under rule 2."""
THEN = ", then "
"""Text between a search and the one that continues it."""
STARTS = {"published": "published settings", "rows": "earlier rows"}
"""Sources of a warm start, by their names in a sweep file."""


def searched_by(content: Mapping[str, Any]) -> str:
    """Return a line on a sweep's search: ``tpe search in 4 rounds, warm start from earlier rows``.

    Args:
        content: Its stored settings: those that differ from the defaults.
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
    if names := sorted({name for wishes in content.get("space", {}).values() for name in wishes}):
        parts.append(f"ranges of its own for {', '.join(names)}")
    race = content.get("race", RACE if content.get("rule") == 2 and content.get("retrain") != 0 else None)
    wider, trials = content.get("wider"), content.get("trials")
    if race not in (None, False):
        finalists = {**RACE, **race}["finalists"]
        if isinstance(trials, int):  # else so many per number, at most 64
            finalists = min(finalists, trials + (wider["trials"] if wider else 0))
        if finalists > 1:
            parts.append(f"a race of {finalists} finalists with fresh seeds")
    if wider:
        names = sorted({name for ranges in wider["space"].values() for name in ranges})
        return f"{', '.join(parts)}{THEN}{wider['trials']} trials over wider ranges for {', '.join(names)}"
    return ", ".join(parts)


def distinct_ways(ways: Sequence[str]) -> tuple[str, ...]:
    """Return the distinct searches of some sweeps, without those that another one continues."""
    return tuple(way for way in dict.fromkeys(ways) if not any(longer.startswith(f"{way}{THEN}") for longer in ways))
