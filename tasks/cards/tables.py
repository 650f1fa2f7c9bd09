"""Examples from tables: one row per step, one row per example, or windows of one long series."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from longwave.tasks.base.raw import DataError
from longwave.tasks.cards.card import Card
from longwave.tasks.cards.columns import Columns, cut_number, read_columns
from longwave.tasks.cards.examples import Examples, count_steps, number_classes
from longwave.tasks.cards.split import SPLITS, name_split


def read_long(card: Card, path: Path) -> Examples:
    """Return the examples of a table with one row per step."""
    table = _open_columns(card, path, [card.series, *card.channels])
    words = table.words(card.series)
    if "" in words:
        raise DataError(f"{table.at(words.index(''), card.series)}: its example is missing.")
    index: dict[str, list[int]] = {}
    for row, word in enumerate(words):
        index.setdefault(word, []).append(row)
    rows = [np.array(each) for each in index.values()]
    values = np.stack([table.numbers(name) for name in card.input_channels], 1)
    times = _checked_times(card, table, rows)
    answers, steps = _read_answers(card, table), card.every_step or card.task == "forecasting"
    if not steps:
        for name in card.targets:
            _one_each(table, name, rows)

    def at(example: int, step: int, channel: int | None) -> str:
        return table.at(
            int(rows[example][step if steps or channel is not None else 0]), _column_of(card, step, channel)
        )

    targets = [answers[each] if steps else answers[each[0]] for each in rows]
    groups, marks = (_one_each(table, name, rows) for name in (card.group, card.split.column))
    ends = np.array([times[each[[0, -1]]] for each in rows])
    return Examples([values[each] for each in rows], targets, at, groups, marks, ends, [0] * len(rows))


def read_wide(card: Card, path: Path) -> Examples:
    """Return the examples of a table with one row per example; empty cells at its end shorten it."""
    table = _open_columns(card, path, [name for name in (card.series,) if name])
    columns = [_match_columns(card, table, pattern) for pattern in card.input_channels]
    if len({len(names) for names in columns}) > 1:
        counts = ", ".join(f"{p} {len(names)}" for p, names in zip(card.input_channels, columns, strict=True))
        raise DataError(f"{path}: all channels need the same number of columns, got {counts}.")
    numbers = {name: table.numbers(name) for names in columns for name in names}
    block = np.stack([np.stack([numbers[name] for name in names], 1) for names in columns], 2)
    values = [row[: count_steps(row)] for row in block]
    times = table.times(card.time) if card.time else np.full(len(table), np.nan)

    def at(example: int, step: int, channel: int | None) -> str:
        return table.at(example, card.targets[step] if channel is None else columns[channel][step])

    targets = values if card.task == "forecasting" else [*_read_answers(card, table)]
    groups, marks = (table.words(name) if name else [""] * len(table) for name in (card.group, card.split.column))
    return Examples(values, targets, at, groups, marks, np.stack([times, times], 1), [0] * len(table))


def cut_windows(card: Card, path: Path) -> Examples:
    """Return windows of one long series, of the card's length, none across two splits or a gap."""
    table = _open_columns(card, path, card.channels)
    values = np.stack([table.numbers(name) for name in card.input_channels], 1)
    answers = _read_answers(card, table)
    every = [np.arange(len(table))]
    times = _checked_times(card, table, every) if card.time else np.arange(len(table), dtype=np.float64)
    if card.by == "column":
        words = [*map(name_split, table.words(card.split.column))]
    else:
        last = round(len(table) * (1 - card.split.test))
        first = round(len(table) * (1 - card.split.test - card.split.valid))
        words = ["train"] * first + ["valid"] * (last - first) + ["test"] * (len(table) - last)
    stretches = _number_stretches(card, values, times)
    pieces = [*zip(words, stretches.tolist(), strict=True)]
    ends = [k for k in range(1, len(pieces)) if pieces[k] != pieces[k - 1]]
    spans = [(a, b) for a, b in zip([0, *ends], [*ends, len(pieces)], strict=True) if stretches[a] >= 0]
    window = card.window or 1
    steps = window + (card.horizon or 0)
    rows = [np.arange(k, k + steps) for a, b in spans for k in range(a, b - steps + 1, card.stride or window)]
    if short := {*SPLITS} & set(words) - {words[each[0]] for each in rows}:
        split = min(short)
        longest = max([b - a for a, b in spans if words[a] == split], default=0)
        rule = f"the {split} split needs {steps} steps in a row for one window"
        raise DataError(f"{path}: {rule}, got at most {longest}. Set a smaller window or horizon.")

    def at(example: int, step: int, channel: int | None) -> str:
        return table.at(int(rows[example][step]), _column_of(card, step, channel))

    groups = table.words(card.group) if card.group else [""] * len(table)
    return Examples(
        [values[each] for each in rows],
        [answers[each] for each in rows],
        at,
        [groups[each[0]] for each in rows],
        [words[each[0]] for each in rows],
        np.array([times[each[[0, -1]]] for each in rows]).reshape(-1, 2),
        [0] * len(rows),
    )


def _number_stretches(card: Card, values: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Return the index of each row's gapless segment, (rows,); -1 for a row within a gap."""
    if card.gap is None:
        return np.zeros(len(values), int)
    present = np.flatnonzero(~np.isnan(values).all(1))
    breaks = np.flatnonzero(np.diff(times[present]) > card.gap)
    numbers = np.full(len(values), -1)
    for k, each in enumerate(np.split(present, breaks + 1)):
        if len(each):
            numbers[each[0] : each[-1] + 1] = k
    return numbers


def _open_columns(card: Card, path: Path, needed: Sequence[str]) -> Columns:
    table = read_columns(path, card.kind, card.separator)
    roles = [card.time, card.group, card.split.column, *(card.target if card.task != "forecasting" else [])]
    try:
        table.check([*needed, *(name for name in roles if name)])
    except DataError as error:
        raise DataError(f"{error}{_hint_delimiter(card, table)}") from None
    return table


def _column_of(card: Card, step: int, channel: int | None) -> str:
    """Return the column of a channel, or of the target."""
    if channel is not None:
        return card.input_channels[channel]
    return card.targets[0 if card.every_step else min(step, len(card.targets) - 1)]


def _read_answers(card: Card, table: Columns) -> np.ndarray:
    """Return the targets in each row, (rows, q) float64."""
    if card.task == "classification":
        name = card.targets[0]
        return number_classes(card, table.words(name), lambda row: table.at(row, name))[:, None]
    return np.stack([table.numbers(name) for name in card.targets], 1)


def _one_each(table: Columns, name: str, rows: Sequence[np.ndarray]) -> list[str]:
    """Return each example's entry in a column, the same in all its rows; empty strings without a column."""
    if not name:
        return [""] * len(rows)
    words = table.words(name)
    for each in rows:
        first = words[each[0]]
        for row in each.tolist():
            if words[row] != first:
                rule = "it must be the same in all rows of an example"
                raise DataError(f"{table.at(row, name)}: {rule}, got {words[row]!r} after {first!r}.")
    return [words[each[0]] for each in rows]


def _checked_times(card: Card, table: Columns, rows: Sequence[np.ndarray]) -> np.ndarray:
    """Return the times of all rows, NaN without a column; within an example they must increase."""
    if not card.time:
        return np.full(len(table), np.nan)
    times = table.times(card.time)
    for each in rows:
        if len(wrong := np.flatnonzero(np.diff(times[each]) <= 0)):
            row, words = int(each[wrong[0] + 1]), table.words(card.time)
            rule = "times must increase within an example"
            before = words[int(each[wrong[0]])]
            raise DataError(f"{table.at(row, card.time)}: {rule}, got {words[row]} after {before}.")
    return times


def _match_columns(card: Card, table: Columns, pattern: str) -> list[str]:
    """Return the columns that match a channel's pattern, in the order of steps, except those with another role."""
    other = {
        card.series,
        card.time,
        card.group,
        card.split.column,
        *(card.target if card.task != "forecasting" else ()),
    }
    fits: Callable[[str], bool] = lambda name: name == pattern or fnmatchcase(name, pattern)  # noqa: E731
    matching = [name for name in table.names if name not in other and fits(name)]
    if not matching:
        none = f"{table.path}: no column matches {pattern!r}. It has {', '.join(table.names[:12])}."
        raise DataError(none + _hint_delimiter(card, table))
    return _order_steps(matching)


def _order_steps(names: list[str]) -> list[str]:
    """Return columns by the numbers at their ends, if they have the same name otherwise, else as they are.

    Numbers that fall are left so, since lags do, and so are decimals.
    """
    stem = cut_number(names[0])
    if {*map(cut_number, names)} != {stem} or stem in names or re.search(r"\d\.$", stem):
        return names
    numbers = {name: int(name.removeprefix(stem)) for name in names}
    falling = sorted(names, key=numbers.__getitem__, reverse=True)
    return names if names == falling else sorted(names, key=numbers.__getitem__)


def _hint_delimiter(card: Card, table: Columns) -> str:
    """Return a sentence on the delimiter of a CSV with one column; of another table an empty string."""
    one = card.kind == "csv" and len(table.names) == 1
    return " If another sign separates its columns, set delimiter in the card." * one
