"""From a table and a few answers to the content of a card: only what cannot be inferred from it is asked."""

from __future__ import annotations

import os.path
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from longwave.tasks.base.raw import DataError
from longwave.tasks.cards.card import default_stride
from longwave.tasks.cards.columns import NUMBER, Columns
from longwave.tasks.cards.examples import MISSING_CLASSES

SERIES = ("id", "series", "series_id", "sample", "sample_id", "case", "example", "sequence", "sequence_id", "trial")
TIME = ("t", "time", "date", "datetime", "ds", "timestamp", "step", "day", "month", "year")
TARGET = ("label", "class", "target", "category", "outcome")
GROUP = ("subject", "patient", "person", "participant", "user", "machine", "device", "site")
"""Common names, in lower case, of columns of each kind."""
ID = re.compile(r"(?:^|[ _.-])(?:id|uid|uuid|key|no|nr|number|code)$|[a-z](?:Id|ID)$", re.IGNORECASE)
"""Endings of names of identifier columns."""
CLASSES = ("label", "class", "category")
"""Names of targets whose values are classes even if they are numbers."""
FEW, MAX_CLASSES = 20, 1000
"""Largest number of distinct numbers taken as classes, and of classes."""
SPLITS = {"train", "valid", "test"}
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
            column = next((c for c in table.dates if c not in used), "")
        if name == "series" and answers.get("layout", "long") == "long":
            column = _find_series(table, roles.get("time", ""), column, used)
        forecast = name == "target" and answers.get("task") == "forecasting"
        if name not in roles and column and not forecast:
            roles[name] = column
            used.add(column)
    roles.setdefault("layout", _guess_layout(table, roles))
    if roles["layout"] != "long" and roles.get("group") and "group" not in answers:
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


def card_content(table: Columns, roles: Mapping[str, str], channels: Sequence[str] = ()) -> dict[str, Any]:
    """Return the content of a card, from what ``guess_roles`` returned with nothing open.

    Raises:
        DataError: No numeric input column is found, or a requested one does not exist.
    """
    layout, task = roles["layout"], roles["task"]
    card: dict[str, Any] = {"files": [table.path.name], "layout": layout}
    named = ["series", "time", "group"] if layout == "long" else ["time"] if layout == "series" else ["series", "group"]
    card |= {name: roles[name] for name in named if name in roles}
    used = {roles[name] for name in named if name in roles}
    target = roles.get("target", "")
    split = next((name for name in table.names if name.lower() == "split" and set(table.words(name)) <= SPLITS), "")
    free = [name for name in table.names if name not in {*used, split} and (name != target or task == "forecasting")]
    numeric = [name for name in free if _mostly_numbers(table.words(name))]
    if channels:
        table.check([name for name in channels if "*" not in name])
        card["channels"] = [*channels]
    elif not numeric:
        raise DataError(f"{table.path}: no input column contains numbers{_example_of(table, free)}.")
    else:
        card["channels"] = numeric if layout != "wide" else [_name_pattern(numeric, free)]
    card["task"] = task
    if task == "forecasting":
        card |= {"target": [target]} if target and layout != "wide" else {}
        card["horizon"] = int(roles["horizon"])
    else:
        card["target"] = [target]
        if layout == "series" or (layout == "long" and _target_varies(table, roles["series"], target)):
            card["every_step"] = True
    if not channels:
        _check_numbers(table, numeric)
    if target and task != "classification":
        table.numbers(target)
    if task == "classification":
        card["classes"] = sort_classes(table.path, target, table.words(target))
    if layout == "series":
        window = int(roles["window"])
        card |= {"window": window, "stride": int(roles.get("stride", default_stride(window)))}
        gap = _find_gap(table, roles.get("time", ""), numeric, window + card.get("horizon", 0))
        card |= {"gap": gap} if gap else {}
    if any("" in table.words(name) for name in numeric):
        card["missing"] = "hold"
    by = {"by": "column", "column": split} if split else {"by": "group"} if "group" in card else {}
    return {**card, **({"split": by} if by else {})}


def _example_of(table: Columns, names: Sequence[str]) -> str:
    """Return the first value of the first of some columns, with what is wrong with it; empty without columns."""
    for name in names:
        for row, word in enumerate(table.words(name)):
            if word:
                comma = ". Write decimals with a point" * (NUMBER.fullmatch(word.replace(",", ".")) is not None)
                return f"; row {row + 1} of {name} is {word!r:.80}{comma}"
    return ""


def _check_numbers(table: Columns, names: Sequence[str]) -> None:
    """Check that columns, of which most values are numbers, contain nothing else.

    Raises:
        DataError: They do.
    """
    for name in names:
        try:
            table.numbers(name)
        except DataError as error:
            raise DataError(f"{error} Or name the input columns with --channels.") from None


def _find_series(table: Columns, time: str, named: str, used: set[str]) -> str:
    """Return the column that identifies the example of a row, or an empty string.

    It is the one with such a name, unless its values are all distinct in a table whose times repeat. Otherwise its
    values must repeat: if times repeat, no time may occur twice within a value, and the column must be named like an
    identifier or a group, or contain strings; if they do not, it must have such a name and contiguous rows.
    """
    times = table.words(time) if time else []
    repeated = len(set(times)) < len(times)
    if (named and (not repeated or _repeats(table.words(named)))) or _looks_wide(table):
        return named
    free = [name for name in table.names if name not in used and name != time]
    named_so = [name for name in free if ID.search(name)] + [name for name in free if name.lower() in GROUP]
    others = [name for name in free if name not in named_so] if repeated else []
    for name in named_so + others:
        words = table.words(name)
        apart = len({*zip(words, times, strict=True)}) == len(words) if repeated else _come_in_runs(words)
        if apart and _repeats(words) and "" not in words and (name in named_so or not _are_numbers(words)):
            return name
    return named


def _repeats(words: Sequence[str]) -> bool:
    """Return whether there are two values or more, with two rows or more of each on average."""
    return 1 < len(set(words)) <= len(words) / 2


def _come_in_runs(words: Sequence[str]) -> bool:
    """Return whether all rows of a value are contiguous."""
    return 1 + sum(a != b for a, b in pairwise(words)) == len(set(words))


def _looks_wide(table: Columns) -> bool:
    """Return whether most columns share a name with different numbers at its end."""
    stems = [re.sub(r"\d+$", "", name) for name in table.names]
    return len(table.names) > 3 and max(map(stems.count, stems)) > len(stems) / 2


def _guess_layout(table: Columns, roles: Mapping[str, str]) -> str:
    if "series" in roles:
        words = table.words(roles["series"])
        return "long" if len(set(words)) < len(words) else "wide"
    return "wide" if _looks_wide(table) else "series" if "time" in roles else ""


def _find_gap(table: Columns, time: str, channels: Sequence[str], steps: int) -> float:
    """Return the longest time between rows of a window, 1.5 times the median; 0 if no gap is longer, or if it would cut
    most windows, as with rows only on working days.
    """
    present = np.array([any(words) for words in zip(*(table.words(name) for name in channels), strict=True)])
    times = (table.times(time) if time else np.arange(len(table)))[present]
    if len(times) < 2:
        return 0.0
    intervals = np.diff(times)
    longest = 1.5 * float(np.median(intervals))
    breaks = int((intervals > longest).sum())
    return longest if breaks and len(times) >= steps * (breaks + 1) else 0.0


def _guess_task(table: Columns, roles: Mapping[str, str]) -> str:
    if "horizon" in roles or (roles["layout"] == "series" and "target" not in roles):
        return "forecasting"
    if "target" not in roles:
        return ""
    words = set(table.words(roles["target"])) - {""}
    if _mostly_numbers(words) and (len(words) > MAX_CLASSES or any("." in w for w in words if NUMBER.fullmatch(w))):
        return "regression"  # of which a value that is no number is a mistake
    if not _are_numbers(words) or (roles["target"].lower() in CLASSES and len(words) <= FEW):
        return "classification"
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


def sort_classes(path: Path, name: str, words: Sequence[str]) -> list[str]:
    """Return the classes among words, numbers first.

    Raises:
        DataError: There are too few or too many.
    """
    classes = set(words) - {""}
    if len(classes) < 2:
        rule = f"a classification needs two classes or more, got {', '.join(classes) or 'none'}"
        raise DataError(f"{path}: {name}: {rule}. {MISSING_CLASSES}")
    if len(classes) > MAX_CLASSES:
        raise DataError(
            f"{path}: {name} has {len(classes)} different values, too many for classes. Is it a regression?"
        )
    return sorted(classes, key=lambda word: (0, float(word), word) if NUMBER.fullmatch(word) else (1, 0.0, word))


def _are_numbers(words: Sequence[str] | set[str]) -> bool:
    present = [word for word in words if word]
    return bool(present) and all(NUMBER.fullmatch(word) for word in present)


def _mostly_numbers(words: Sequence[str] | set[str]) -> bool:
    """Return whether more than half of the values are numbers; the others of a column of numbers are mistakes."""
    present = [word for word in words if word]
    return 2 * sum(NUMBER.fullmatch(word) is not None for word in present) > len(present)


def _name_pattern(channels: Sequence[str], free: Sequence[str]) -> str:
    """Return the pattern that matches the input columns, and no other free ones."""
    start = re.sub(r"[\[\]?*]", "", os.path.commonprefix([*channels]))
    if {name for name in free if name.startswith(start)} == {*channels}:
        return f"{start}*"
    other = next(name for name in free if name not in channels and name.startswith(start))
    raise DataError(
        f"{other!r} is not a number, and no pattern can select the input columns without it: --channels 't*'."
    )


def _target_varies(table: Columns, series: str, target: str) -> bool:
    first: dict[str, str] = {}
    return any(first.setdefault(s, t) != t for s, t in zip(table.words(series), table.words(target), strict=True))
