"""From the roles of a table's columns to the content of a card."""

from __future__ import annotations

import os.path
from collections import Counter
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from glob import escape
from pathlib import Path
from typing import Any

import numpy as np

from longwave.tasks.base.raw import DataError
from longwave.tasks.cards.card import default_stride
from longwave.tasks.cards.columns import NUMBER, Columns, cut_number, has_decimal_comma, mostly_numbers
from longwave.tasks.cards.examples import MISSING_CLASSES
from longwave.tasks.cards.split import are_splits

MAX_CLASSES = 1000
"""Largest number of classes."""
DESCRIBING = ("series", "time", "group")
"""Roles of columns that describe a row, and are not inputs."""


def card_content(table: Columns, roles: Mapping[str, str], channels: Sequence[str] = ()) -> dict[str, Any]:
    """Return the content of a card, from what ``guess_roles`` returned with nothing open.

    Raises:
        DataError: No numeric input column is found, or a requested one does not exist.
    """
    layout, task = roles["layout"], roles["task"]
    card: dict[str, Any] = {"files": [table.path.name], "layout": layout}
    card |= {name: roles[name] for name in _named_roles(table, roles) if name in roles}
    target = roles.get("target", "")
    split = next((name for name in table.names if name.lower() == "split" and are_splits(table.words(name))), "")
    used = {split, *(card.get(name) for name in DESCRIBING)}
    free = [name for name in table.names if name not in used and (name != target or task == "forecasting")]
    described = {roles.get("series")} if layout == "series" else {roles.get(name) for name in DESCRIBING}
    numeric = [name for name in free if name not in described and mostly_numbers(table.words(name))]
    if channels:
        table.check([name for name in channels if "*" not in name])
        card["channels"] = [*channels]
    elif not numeric:
        raise DataError(f"{table.path}: no input column contains numbers{_example_of(table, free)}.")
    else:
        card["channels"] = numeric if layout != "wide" else [_name_pattern(table.path, numeric, free)]
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
        gap = _find_gap(table, roles.get("time", ""), channels or numeric, window + card.get("horizon", 0))
        card |= {"gap": gap} if gap else {}
    if any("" in table.words(name) for name in numeric):
        card["missing"] = "hold"
    by = {"by": "column", "column": split} if split else {"by": "group"} if "group" in card else {}
    return {**card, **({"split": by} if by else {})}


def _named_roles(table: Columns, roles: Mapping[str, str]) -> Sequence[str]:
    """Return which of ``DESCRIBING`` a card of this layout names.

    In a wide table, groups must suffice for a split and contain several rows; every row must have a time.
    """
    if roles["layout"] != "wide":
        return DESCRIBING if roles["layout"] == "long" else ("time",)
    groups = table.words(roles["group"]) if "group" in roles else []
    splits = "" not in groups and 3 <= len(set(groups)) < len(groups)
    return ["series", *["time"] * _has_times(table, roles.get("time", "")), *["group"] * splits]


def _has_times(table: Columns, name: str) -> bool:
    """Return whether a column has a time, a number or a date, in every row."""
    try:
        return bool(name) and len(table.times(name)) == len(table)
    except DataError:
        return False


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


def _example_of(table: Columns, names: Sequence[str]) -> str:
    """Return the first value of the first of some columns, with what is wrong with it; empty without columns."""
    for name in names:
        for row, word in enumerate(table.words(name)):
            if word:
                comma = ". Write decimals with a point" * has_decimal_comma(word)
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


def _find_gap(table: Columns, time: str, channels: Sequence[str], steps: int) -> float:
    """Return the longest time between rows of a window, 1.5 times the median; 0 if no gap is longer, or if it would cut
    most windows, as with rows only on working days.
    """
    words = [table.words(name) for name in channels if name in table.names]
    present = np.array([any(row) for row in zip(*words, strict=True)], bool) if words else np.ones(len(table), bool)
    times = (table.times(time) if time else np.arange(len(table)))[present]
    if len(times) < 2:
        return 0.0
    intervals = np.diff(times)
    longest = 1.5 * float(np.median(intervals))
    breaks = int((intervals > longest).sum())
    return longest if breaks and len(times) >= steps * (breaks + 1) else 0.0


def _name_pattern(path: Path, steps: Sequence[str], free: Sequence[str]) -> str:
    """Return the pattern that matches the columns of the steps, and no other free ones.

    Raises:
        DataError: There is none, or most of the columns share a name with different numbers at its end, but not all.
    """
    stems = [*map(cut_number, steps)]
    stem, most = Counter(stems).most_common(1)[0]
    start, numbered = os.path.commonprefix([*steps]), f"{escape(stem)}[0-9]*"
    if len(steps) / 2 < most < len(steps):
        other = next(name for name, its_stem in zip(steps, stems, strict=True) if its_stem != stem)
        rule = f"{other!r} is not named like the other inputs, such as {steps[stems.index(stem)]!r}"
        raise DataError(f"{path}: {rule}. If it is not a step, leave it out: --channels '{numbered}'.")
    for pattern in (f"{escape(start)}*", numbered):
        if {name for name in free if fnmatchcase(name, pattern)} == {*steps}:
            return pattern
    other = next(name for name in free if name not in steps and name.startswith(start))
    raise DataError(
        f"{path}: no pattern selects the input columns without {other!r}. Name them: --channels '{numbered}'."
    )


def _target_varies(table: Columns, series: str, target: str) -> bool:
    first: dict[str, str] = {}
    return any(first.setdefault(s, t) != t for s, t in zip(table.words(series), table.words(target), strict=True))
