"""A rule of a contract, and what became of it."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Subject = TypeVar("Subject")


class BrokenRule(Exception):
    """A rule does not hold; the message says what is wrong, in words."""


class NotMeant(Exception):
    """A rule says nothing of this subject; the message says why."""


@dataclass(frozen=True)
class Rule(Generic[Subject]):
    """One rule.

    Attributes:
        words: What holds, in words.
        check: Raises BrokenRule where it does not.
        quick: Whether it takes a fraction of a second; these are checked before a plugin is first trained in a sweep.
    """

    words: str
    check: Callable[[Subject], None]
    quick: bool = True


@dataclass(frozen=True)
class RuleOutcome:
    """The outcome of a rule for one model or task.

    Attributes:
        words: The rule.
        broken: What is wrong; empty where it holds.
        skipped: Why the rule says nothing here; empty where it does.
    """

    words: str
    broken: str = ""
    skipped: str = ""


def require(condition: Any, wrong: str) -> None:
    """Do nothing where ``condition`` is true.

    Raises:
        BrokenRule: It is not; ``wrong`` is its message.
    """
    if not condition:
        raise BrokenRule(wrong)


def check_subjects(rules: Sequence[Rule[Subject]], subjects: Iterable[tuple[str, Subject]]) -> Iterator[RuleOutcome]:
    """Yield how each rule stands, at the first of the named subjects for which it does not hold."""
    every = list(subjects)
    for rule in rules:
        yield _check_rule(rule, every)


def _check_rule(rule: Rule[Subject], subjects: Sequence[tuple[str, Subject]]) -> RuleOutcome:
    skipped = ""
    for name, subject in subjects:
        at = f"{name}: " if name else ""
        try:
            rule.check(subject)
        except NotMeant as why:
            skipped = skipped or str(why)
        except BrokenRule as error:
            return RuleOutcome(rule.words, f"{at}{error}")
        except Exception as error:  # whatever a plugin raises is a finding
            return RuleOutcome(rule.words, f"{at}{_one_line(error)}")
    return RuleOutcome(rule.words, skipped=skipped)


def _one_line(error: Exception) -> str:
    """Return in one line what was raised, and where in the plugin."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "contracts" not in frame.filename]
    text = (str(error).strip().splitlines() or [""])[0]
    where = next((f", line {f.lineno}" for f in reversed(frames) if "/longwave/" not in f.filename), "")
    return f"{type(error).__name__}: {text}{where}"
