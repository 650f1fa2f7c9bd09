"""Output of checks of plugins: one line per rule."""

from __future__ import annotations

from collections.abc import Iterable

from longwave.platform.contracts.rule import RuleOutcome
from longwave.platform.render.terminal import print_line

MARKS = {"broken": "✗", "skipped": "–", "": "✓"}


def print_outcomes(subject: str, outcomes: Iterable[RuleOutcome]) -> int:
    """Print the outcome of each rule as soon as it is known, and return the number of broken rules."""
    print_line(subject)
    states = []
    for finding in outcomes:
        states.append(state := "broken" if finding.broken else "skipped" if finding.skipped else "")
        print_line(f"  {MARKS[state]} {finding.words}")
        if state:
            print_line(f"      {finding.broken or finding.skipped}.")
    broken, checked = states.count("broken"), len(states) - states.count("skipped")
    verdict = f"{broken} of {checked} rules {_verb(broken, 'fails', 'fail')}" if broken else f"{checked} rules pass"
    not_applicable = len(states) - checked
    suffix = f"; {not_applicable} {_verb(not_applicable, 'does', 'do')} not apply" if not_applicable else ""
    print_line(f"{subject}: {verdict}{suffix}.")
    return broken


def _verb(count: int, one: str, many: str) -> str:
    return one if count == 1 else many
