"""How checks of plugins are printed: a tick a rule, in words."""

from __future__ import annotations

from collections.abc import Iterable

from longwave.platform.contracts.rule import RuleOutcome
from longwave.platform.render.terminal import print_line

MARKS = {"broken": "✗", "skipped": "–", "": "✓"}


def print_outcomes(subject: str, outcomes: Iterable[RuleOutcome]) -> int:
    """Print how each rule stands as soon as it is known, and return how many are broken."""
    print_line(subject)
    states = []
    for finding in outcomes:
        states.append(state := "broken" if finding.broken else "skipped" if finding.skipped else "")
        print_line(f"  {MARKS[state]} {finding.words}")
        if state:
            print_line(f"      {finding.broken or finding.skipped}.")
    broken, checked = states.count("broken"), len(states) - states.count("skipped")
    verdict = f"{broken} of {checked} rules {_verb(broken, 'fails', 'fail')}" if broken else f"{checked} rules pass"
    left = len(states) - checked
    more = f"; {left} {_verb(left, 'does', 'do')} not apply" if left else ""
    print_line(f"{subject}: {verdict}{more}.")
    return broken


def _verb(count: int, one: str, many: str) -> str:
    return one if count == 1 else many
