"""Checks of your own models and tasks in Python: like ``longwave check``, with the result of each rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from longwave.platform.api.printed_tables import PrintedTables
from longwave.platform.contracts.check import check_file
from longwave.platform.contracts.rule import RuleOutcome
from longwave.platform.render.plugins import print_outcomes
from longwave.platform.render.table import Table


def check(path: str | Path) -> CheckedRules:
    """Check your own model, task or data card, rule by rule.

    Example::

        lw.check("my_model.py").passed         # print it to see what is wrong and what to do

    Args:
        path: File or folder; or the name of a torchrecurrent cell, such as ``torchrecurrent-lem``.

    Raises:
        ConfigError: It is not a plugin, or does not run; the message names file and rule.
    """
    return CheckedRules({subject: list(outcomes) for subject, outcomes in check_file(Path(path))})


@dataclass(frozen=True, repr=False)
class CheckedRules(PrintedTables):
    """The results of all rules for the models and tasks in a file.

    Attributes:
        outcomes: By the object checked, ``"model my-leaky"``.
    """

    outcomes: Mapping[str, Sequence[RuleOutcome]]

    @property
    def passed(self) -> bool:
        """Whether no rule is broken."""
        return not any(outcome.broken for outcomes in self.outcomes.values() for outcome in outcomes)

    def tables(self) -> list[Table]:
        """Return one table per object checked, one line per rule."""
        return [_table_of(subject, outcomes) for subject, outcomes in self.outcomes.items()]

    def _print(self) -> None:
        for subject, outcomes in self.outcomes.items():
            print_outcomes(subject, outcomes)


def _table_of(subject: str, outcomes: Sequence[RuleOutcome]) -> Table:
    states = ["broken" if o.broken else "skipped" if o.skipped else "holds" for o in outcomes]
    lines = [(o.words, state, o.broken or o.skipped) for o, state in zip(outcomes, states, strict=True)]
    records = [{"of": subject, "rule": rule, "state": state, "why": why} for rule, state, why in lines]
    return Table(subject, ["rule", "state", "why"], lines, records=records)
