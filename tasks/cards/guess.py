"""From a table and a few answers to the content of a card: what names and values tell is not asked."""

from __future__ import annotations

import os.path
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from longwave.tasks.base.raw import DataError
from longwave.tasks.cards.columns import NUMBER, Columns

SERIES = ("id", "series", "series_id", "sample", "sample_id", "case", "example", "sequence", "sequence_id", "trial")
TIME = ("t", "time", "date", "datetime", "timestamp", "step", "day", "month", "year")
TARGET = ("label", "class", "target", "category", "outcome")
GROUP = ("subject", "patient", "person", "participant", "user", "machine", "device", "site")
"""Names, in small letters, that columns of each kind have."""
CLASSES = ("label", "class", "category")
"""Names of targets whose values are classes even where they are numbers."""
FEW, MOST = 20, 1000
"""Distinct numbers that may be classes, and most classes."""
CHOICES = {
    "layout": ("long", "wide", "series"),
    "task": ("classification", "regression", "forecasting"),
}


@dataclass(frozen=True)
class Open:
    """A question that the table does not answer.

    Attributes:
        name: Of the option that answers it.
        text: The question.
        choices: What may be answered; empty where any word may.
    """

    name: str
    text: str
    choices: tuple[str, ...] = ()


def guess_roles(table: Columns, given: Mapping[str, str]) -> tuple[dict[str, str], list[Open]]:
    """Return what is known by now, as given or as names and values tell, and what is open.

    Args:
        table: With its header.
        given: Answers by name: layout, series, time, task, target, group, horizon, window.

    Raises:
        DataError: An answer is none of the choices, or no column.
    """
    for name, value in given.items():
        if name in CHOICES and value not in CHOICES[name]:
            raise DataError(f"{name} is {', '.join(CHOICES[name])}; got {value!r}.")
        if name in ("series", "time", "target", "group"):
            table.check([value])
    known = {**given}
    used = set(given.values())
    for name, words in {"series": SERIES, "time": TIME, "target": TARGET, "group": GROUP}.items():
        column = next((own for own in table.names if own.lower() in words and own not in used), None)
        forecast = name == "target" and given.get("task") == "forecasting"
        if name not in known and column and not forecast:
            known[name] = column
            used.add(column)
    known.setdefault("layout", _guess_layout(table, known))
    if known["layout"] != "long" and known.get("group") and "group" not in given:
        del known["group"]
    if "task" not in known and (task := _guess_task(table, known)):
        known["task"] = task
    known = {name: value for name, value in known.items() if value}
    return known, _open_questions(known)


def card_content(table: Columns, known: Mapping[str, str], channels: Sequence[str] = ()) -> dict[str, Any]:
    """Return the content of a card, from what ``guess_roles`` returned with nothing open.

    Raises:
        DataError: No column is left to be fed, or one that is asked for is not there.
    """
    layout, task = known["layout"], known["task"]
    card: dict[str, Any] = {"files": [table.path.name], "layout": layout}
    roles = ["series", "time", "group"] if layout == "long" else ["time"] if layout == "series" else ["series", "group"]
    card |= {name: known[name] for name in roles if name in known}
    own = {known[name] for name in roles if name in known}
    target = known.get("target", "")
    split = next((name for name in table.names if name.lower() == "split" and set(table.words(name)) <= _SPLITS), "")
    free = [name for name in table.names if name not in {*own, split} and (name != target or task == "forecasting")]
    fed = [name for name in free if _are_numbers(table.words(name))]
    if channels:
        table.check([name for name in channels if "*" not in name])
        card["channels"] = [*channels]
    elif not fed:
        raise DataError(f"{table.path}: no numeric input column found.")
    else:
        card["channels"] = fed if layout != "wide" else [_name_pattern(fed, free)]
    card["task"] = task
    if task == "forecasting":
        card |= {"target": [target]} if target and layout != "wide" else {}
        card["horizon"] = int(known["horizon"])
    else:
        card["target"] = [target]
        if layout == "series" or (layout == "long" and _target_varies(table, known["series"], target)):
            card["every_step"] = True
    if task == "classification":
        card["classes"] = _find_classes(table, target)
    if layout == "series":
        card["window"] = int(known["window"])
    if any("" in table.words(name) for name in fed):
        card["missing"] = "hold"
    by = {"by": "column", "column": split} if split else {"by": "group"} if "group" in card else {}
    return {**card, **({"split": by} if by else {})}


_SPLITS = {"train", "valid", "test"}


def _guess_layout(table: Columns, known: Mapping[str, str]) -> str:
    if "series" in known:
        words = table.words(known["series"])
        return "long" if len(set(words)) < len(words) else "wide"
    stems = [re.sub(r"\d+$", "", name) for name in table.names]
    if len(table.names) > 3 and max(map(stems.count, stems)) > len(stems) / 2:
        return "wide"
    return "series" if "time" in known else ""


def _guess_task(table: Columns, known: Mapping[str, str]) -> str:
    if "horizon" in known or (known["layout"] == "series" and "target" not in known):
        return "forecasting"
    if "target" not in known:
        return ""
    words = set(table.words(known["target"])) - {""}
    if not _are_numbers(words) or (known["target"].lower() in CLASSES and len(words) <= FEW):
        return "classification"
    return "regression" if len(words) > FEW or any("." in word for word in words) else ""


def _open_questions(known: Mapping[str, str]) -> list[Open]:
    questions = []
    if "layout" not in known:
        text = "Is a row a step of one of many examples (long), a whole example (wide), or of one long series (series)?"
        questions.append(Open("layout", text, CHOICES["layout"]))
    if known.get("layout") == "long" and "series" not in known:
        questions.append(Open("series", "Which column says which example a row is of?"))
    if "task" not in known:
        questions.append(Open("task", "What is asked?", CHOICES["task"]))
    if known.get("task") != "forecasting" and "target" not in known:
        questions.append(Open("target", "Which column holds what is asked?"))
    if known.get("task") == "forecasting" and "horizon" not in known:
        questions.append(Open("horizon", "How many steps ahead?"))
    if known.get("layout") == "series" and "window" not in known:
        questions.append(Open("window", "How many steps has an example that is cut out of it?"))
    return questions


def _find_classes(table: Columns, target: str) -> list[str]:
    words = set(table.words(target)) - {""}
    if len(words) > MOST:
        raise DataError(f"{table.path}: {target} has {len(words)} values, too many for classes. Is it a regression?")
    return sorted(words, key=lambda word: (0, float(word), word) if NUMBER.fullmatch(word) else (1, 0.0, word))


def _are_numbers(words: Sequence[str] | set[str]) -> bool:
    there = [word for word in words if word]
    return bool(there) and all(NUMBER.fullmatch(word) for word in there)


def _name_pattern(fed: Sequence[str], free: Sequence[str]) -> str:
    """Return the pattern that names what is fed, and nothing else that is free."""
    start = re.sub(r"[\[\]?*]", "", os.path.commonprefix([*fed]))
    if {name for name in free if name.startswith(start)} == {*fed}:
        return f"{start}*"
    other = next(name for name in free if name not in fed and name.startswith(start))
    raise DataError(f"{other!r} is no number, and no pattern names the columns to feed without it: --channels 't*'.")


def _target_varies(table: Columns, series: str, target: str) -> bool:
    first: dict[str, str] = {}
    return any(first.setdefault(s, t) != t for s, t in zip(table.words(series), table.words(target), strict=True))
