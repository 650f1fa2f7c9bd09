"""From a table and a few answers to the roles of its columns: only what cannot be inferred from it is asked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from longwave.tasks.base.raw import DataError
from longwave.tasks.cards.columns import NUMBER, Columns, are_numbers, cut_number, mostly_numbers
from longwave.tasks.cards.content import MAX_CLASSES

SERIES = ("id", "series", "series_id", "sample", "sample_id", "case", "example", "sequence", "sequence_id", "trial")
TIME = ("t", "time", "date", "datetime", "ds", "timestamp", "step", "day", "month", "year")
TARGET = ("label", "class", "target", "category", "outcome")
GROUP = ("subject", "patient", "person", "participant", "user", "machine", "device", "site")
"""Common names, in lower case, of columns of each kind."""
ID = re.compile(r"(?:^|[ _.-])(?:id|uid|uuid|key|no|nr|number|code|unit)$|[a-z](?:Id|ID)$", re.IGNORECASE)
"""Endings of names of identifier columns."""
CLASSES = ("label", "class", "category")
"""Names of targets whose values are classes even if they are numbers; of many numbers it is asked."""
FEW = 20
"""Largest number of distinct numbers taken as classes."""
STEPS = 3
"""Fewest rows on average from one fall of the times to the next, for which they may be those of steps."""
ROLES = ("layout", "series", "time", "task", "target", "group", "horizon", "window", "stride")
"""Roles in a table besides its channels."""
CHOICES = {
    "layout": ("long", "wide", "series"),
    "task": ("classification", "regression", "forecasting"),
}


@dataclass(frozen=True)
class Open:
    """A question that the table leaves open.

    Attributes:
        name: Of the option that answers it.
        text: The question.
        choices: Possible answers; empty if any is possible.
    """

    name: str
    text: str
    choices: tuple[str, ...] = ()


def guess_roles(table: Columns, answers: Mapping[str, str]) -> tuple[dict[str, str], list[Open]]:
    """Return the known roles, from answers or inferred from names and values, and the open questions.

    Args:
        table: With its header.
        answers: Answers by name: those of ``ROLES``.

    Raises:
        DataError: An answer is not among the choices, or not a column.
    """
    check_choices(table.path, answers, ROLES)
    table.check([answers[name] for name in ("series", "time", "target", "group") if name in answers])
    roles = {**answers}
    used = set(answers.values())
    for name, words in {"time": TIME, "target": TARGET, "series": SERIES, "group": GROUP}.items():
        column = next((c for c in table.names if c.lower() in words and c not in used), "")
        if name == "time" and not column:
            cycles = [c for c in table.names if c.lower() == "cycle"]
            column = next((c for c in [*table.dates, *cycles] if c not in used), "")
        if name == "series" and answers.get("layout", "long") == "long":
            column = _find_series(table, roles, column, used)
        forecast = name == "target" and answers.get("task") == "forecasting"
        if name not in roles and column and not forecast:
            roles[name] = column
            used.add(column)
    roles.setdefault("layout", _guess_layout(table, roles))
    guessed_time = roles["layout"] == "series" and "time" not in answers and roles.get("time")
    if guessed_time and _changes_rarely(table.words(guessed_time)):
        del roles["time"]  # the year of months is no time of one series, whose rows are in order
    if roles["layout"] == "series" and roles.get("group") and "group" not in answers:
        del roles["group"]
    if "task" not in roles and (task := _guess_task(table, roles)):
        roles["task"] = task
    roles = {name: value for name, value in roles.items() if value}
    return roles, _open_questions(roles)


def check_choices(path: Path, answers: Mapping[str, str], roles: Sequence[str]) -> None:
    """Check that each answer has a role in such a file, and is among its choices.

    Raises:
        DataError: One is not.
    """
    for name, value in answers.items():
        if name not in roles:
            raise DataError(f"{path}: {name} does not apply to this kind of file. Possible: {', '.join(roles)}.")
        if name in CHOICES and value not in CHOICES[name]:
            raise DataError(f"{name} must be one of {', '.join(CHOICES[name])}, got {value!r}.")


def _find_series(table: Columns, roles: Mapping[str, str], named: str, used: set[str]) -> str:
    """Return the column that identifies the example of a row, or an empty string.

    It is the one with such a name, unless its values are all distinct in a table whose times repeat. Otherwise its
    values must repeat: if times repeat, no time may occur twice within a value, and the column must be named like an
    identifier or a group, or contain strings; if they do not, it must have such a name and contiguous rows.
    """
    time = roles.get("time", "")
    times = table.words(time) if time else []
    repeated = len(set(times)) < len(times)
    if (named and (not repeated or _repeats(table.words(named)))) or (_looks_wide(table) and "layout" not in roles):
        return named
    free = [name for name in table.names if name not in used and name != time]
    named_so = [name for name in free if ID.search(name)] + [name for name in free if name.lower() in GROUP]
    others = [name for name in free if name not in named_so] if repeated else []
    for name in named_so + others:
        words = table.words(name)
        apart = len({*zip(words, times, strict=True)}) == len(words) if repeated else _come_in_runs(words)
        if apart and _repeats(words) and "" not in words and (name in named_so or not are_numbers(words)):
            return name
    return named


def _repeats(words: Sequence[str]) -> bool:
    """Return whether there are two values or more, with two rows or more of each on average."""
    return 1 < len(set(words)) <= len(words) / 2


def _come_in_runs(words: Sequence[str]) -> bool:
    """Return whether all rows of a value are contiguous."""
    return 1 + sum(a != b for a, b in pairwise(words)) == len(set(words))


def _changes_rarely(words: Sequence[str]) -> bool:
    """Return whether half of the rows or more have the value of the row before."""
    return 2 * sum(a == b for a, b in pairwise(words)) >= len(words) - 1 > 0


def _are_times_of_steps(table: Columns, time: str) -> bool:
    """Return whether a column has times that increase from row to row, or do so anew for each example."""
    try:
        falls = int((np.diff(table.times(time)) <= 0).sum())
    except DataError:
        return False
    return (falls + 1) * STEPS <= len(table)


def _looks_wide(table: Columns) -> bool:
    """Return whether most columns share a name with different numbers at its end."""
    stems = Counter(map(cut_number, table.names))
    return len(table.names) > 3 and max(stems.values()) > len(table.names) / 2


def _guess_layout(table: Columns, roles: Mapping[str, str]) -> str:
    """Return the layout; empty if it is open, as of a table that looks wide but has times like those of steps."""
    if "series" in roles:
        words = table.words(roles["series"])
        return "long" if len(set(words)) < len(words) else "wide"
    if not _looks_wide(table):
        return "series" if "time" in roles else ""
    forecast = "horizon" in roles or roles.get("task") == "forecasting"
    if ("window" in roles or "stride" in roles) and ("time" in roles or forecast):
        return "series"
    return "" if "time" in roles and _are_times_of_steps(table, roles["time"]) else "wide"


def _guess_task(table: Columns, roles: Mapping[str, str]) -> str:
    if "horizon" in roles or (roles["layout"] == "series" and "target" not in roles):
        return "forecasting"
    if "target" not in roles:
        return ""
    words = set(table.words(roles["target"])) - {""}
    if mostly_numbers(words) and (len(words) > MAX_CLASSES or any("." in w for w in words if NUMBER.fullmatch(w))):
        return "regression"  # of which a value that is no number is a mistake
    if not are_numbers(words) or (roles["target"].lower() in CLASSES and len(words) <= FEW):
        return "classification"
    if roles["target"].lower() in CLASSES:
        return ""  # that many may be classes or values
    return "regression" if len(words) > FEW or any("." in word for word in words) else ""


def _open_questions(roles: Mapping[str, str]) -> list[Open]:
    questions = []
    if "layout" not in roles:
        text = (
            "Is a row a step of one of many examples (long), an example (wide), or a step of one long series (series)?"
        )
        questions.append(Open("layout", text, CHOICES["layout"]))
    if roles.get("layout") == "long" and "series" not in roles:
        questions.append(Open("series", "Which column identifies the example that a row belongs to?"))
    if "task" not in roles:
        questions.append(Open("task", "What kind of task is it?", CHOICES["task"]))
    if roles.get("task") != "forecasting" and "target" not in roles:
        questions.append(Open("target", "Which column is the target?"))
    if roles.get("task") == "forecasting" and "horizon" not in roles:
        questions.append(Open("horizon", "How many steps ahead?"))
    if roles.get("layout") == "series" and "window" not in roles:
        questions.append(Open("window", "How many steps long is each example cut from the series?"))
    return questions
