"""Examples as read from files: values, targets, and the data for splits; NaN is a missing value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from longwave.tasks.base.raw import DataError
from longwave.tasks.cards.card import Card

MISSING_CLASSES = "NA, N/A, nan, null, None and ? count as missing: rename a class of that name."
"""What to do if a class counts as missing, ``columns.MISSING``."""


@dataclass(frozen=True)
class Examples:
    """Examples of one or more files, in order.

    Attributes:
        values: Of each (T, p) float64, in the order of ``Card.input_channels``.
        answers: Targets of each, (q,) float64, or (T, q) with targets at every step: values, or the index of the class.
        at: ``at(example, step, channel)`` gives the position of a value in words; with channel None, of the target.
        groups, marks: Of each its group, and its entry in the split column; empty if there is none.
        times: (N, 2) float64: its first and its last time; NaN if there is none.
        files: Of each the index of its file.
    """

    values: list[np.ndarray]
    answers: list[np.ndarray]
    at: Callable[[int, int, int | None], str]
    groups: list[str]
    marks: list[str]
    times: np.ndarray
    files: list[int]

    def __len__(self) -> int:
        return len(self.values)


def join_examples(parts: Sequence[Examples]) -> Examples:
    """Return the examples of several files as one, numbered by file."""
    starts = np.cumsum([0, *(len(part) for part in parts)]).tolist()

    def at(example: int, step: int, channel: int | None) -> str:
        k = int(np.searchsorted(starts, example, side="right")) - 1
        return parts[k].at(example - starts[k], step, channel)

    return Examples(
        [value for part in parts for value in part.values],
        [answer for part in parts for answer in part.answers],
        at,
        [group for part in parts for group in part.groups],
        [mark for part in parts for mark in part.marks],
        np.concatenate([part.times for part in parts]),
        [k for k, part in enumerate(parts) for _ in range(len(part))],
    )


def number_classes(card: Card, words: Sequence[str], at: Callable[[int], str]) -> np.ndarray:
    """Return the indices of classes, (n,) float64; NaN for missing ones where allowed.

    Args:
        card: Its ``classes`` give the order.
        words: Names of classes.
        at: Position of the k-th, in words.

    Raises:
        DataError: One is not among the card's classes.
    """
    number = {name: float(k) for k, name in enumerate(card.classes)}
    numbers = np.full(len(words), np.nan)
    for k, word in enumerate(words):
        if word in number:
            numbers[k] = number[word]
        elif not word and (not card.every_step or card.missing == "refuse"):
            raise DataError(f"{at(k)}: the class is missing. {MISSING_CLASSES}")
        elif word:
            few = ", ".join(card.classes[:12]) + (", ..." if len(card.classes) > 12 else "")
            raise DataError(f"{at(k)}: it must be one of the card's classes, {few}; got {word!r}.")
    return numbers


def count_steps(values: np.ndarray) -> int:
    """Return the steps of (T, p) without missing ones at the end."""
    present = np.flatnonzero(~np.isnan(values).all(-1))
    return int(present[-1]) + 1 if len(present) else 0
