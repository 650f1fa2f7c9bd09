"""A rule for models or tasks, and its outcome."""

from __future__ import annotations

import os
import site
import sysconfig
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

Subject = TypeVar("Subject")
ROOT = Path(__file__).parents[2]
LIBRARIES = (
    *(f"{ROOT / part}{os.sep}" for part in ("models", "tasks", "platform", "dashboard")),
    *(f"{folder}{os.sep}" for folder in {*site.getsitepackages(), sysconfig.get_path("stdlib")}),
    "<",
)
"""Beginnings of the files of Longwave and of libraries, in which no line is one of a plugin."""


class BrokenRule(Exception):
    """A rule does not hold; the message says what is wrong."""


class NotMeant(Exception):
    """A rule does not apply to this subject; the message says why."""


@dataclass(frozen=True)
class Rule(Generic[Subject]):
    """One rule.

    Attributes:
        words: The rule, as a sentence.
        check: Raises BrokenRule if it does not hold, NotMeant if it does not apply.
        quick: Whether it takes a fraction of a second; quick rules are checked before a sweep first trains a plugin.
    """

    words: str
    check: Callable[[Subject], None]
    quick: bool = True


@dataclass(frozen=True)
class RuleOutcome:
    """The outcome of a rule for one model or task.

    Attributes:
        words: The rule.
        broken: What is wrong; empty if the rule holds.
        skipped: Why the rule does not apply; empty if it does.
    """

    words: str
    broken: str = ""
    skipped: str = ""


def require(condition: Any, wrong: str) -> None:
    """Raise BrokenRule with the message ``wrong`` unless ``condition`` is true."""
    if not condition:
        raise BrokenRule(wrong)


def check_subjects(rules: Sequence[Rule[Subject]], subjects: Iterable[tuple[str, Subject]]) -> Iterator[RuleOutcome]:
    """Yield the outcome of each rule over all named subjects, up to the first that breaks it."""
    all_subjects = list(subjects)
    for rule in rules:
        yield _check_rule(rule, all_subjects)


def _check_rule(rule: Rule[Subject], subjects: Sequence[tuple[str, Subject]]) -> RuleOutcome:
    skipped = ""
    for name, subject in subjects:
        prefix = f"{name}: " if name else ""
        try:
            rule.check(subject)
        except NotMeant as why:
            skipped = skipped or str(why)
        except BrokenRule as error:
            return RuleOutcome(rule.words, f"{prefix}{error}")
        except Exception as error:  # whatever a plugin raises is a finding
            return RuleOutcome(rule.words, f"{prefix}{_one_line(error)}")
    return RuleOutcome(rule.words, skipped=skipped)


def _one_line(error: Exception) -> str:
    """Return an exception in one line, with its line number in the plugin, if it was raised below one."""
    text = (str(error).strip().splitlines() or [""])[0].rstrip(".")
    frames = reversed(traceback.extract_tb(error.__traceback__))
    where = next((f", line {frame.lineno}" for frame in frames if not frame.filename.startswith(LIBRARIES)), "")
    return f"{type(error).__name__}: {text}{where}"
