"""How checks of plugins are printed: a tick a rule, in words."""

from __future__ import annotations

from collections.abc import Iterable

from longwave.platform.contracts.rule import RuleOutcome
from longwave.platform.render.terminal import say

MARKS = {"broken": "✗", "skipped": "–", "": "✓"}


def shown(subject: str, found: Iterable[RuleOutcome]) -> int:
    """Print how each rule stands as soon as it is known, and return how many are broken."""
    say(subject)
    states = []
    for finding in found:
        states.append(state := "broken" if finding.broken else "skipped" if finding.skipped else "")
        say(f"  {MARKS[state]} {finding.words}")
        if state:
            say(f"      {finding.broken or finding.skipped}.")
    broken, spoken = states.count("broken"), len(states) - states.count("skipped")
    verdict = f"{broken} of {spoken} rules are broken" if broken else f"all {spoken} rules hold"
    said = f"; {len(states) - spoken} say nothing of it" if spoken < len(states) else ""
    say(f"{subject}: {verdict}{said}.")
    return broken
