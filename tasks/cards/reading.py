"""Reading of a card's files in any format, with a check for missing values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from longwave.tasks.base.raw import DataError
from longwave.tasks.cards.arrays import read_npz, read_series
from longwave.tasks.cards.card import Card
from longwave.tasks.cards.examples import Examples, join_examples
from longwave.tasks.cards.tables import cut_windows, read_long, read_wide

READERS = {"npz": read_npz, "ts": read_series}
LAYOUTS = {"long": read_long, "wide": read_wide, "series": cut_windows}
"""Readers of tables."""


def read_examples(card: Card, paths: Sequence[Path]) -> Examples:
    """Return the examples in the card's files.

    Raises:
        DataError: A file cannot be read, or breaks a rule; the message names file, row and column.
    """
    reader = READERS.get(card.kind) or LAYOUTS[card.layout]
    examples = join_examples([reader(card, path) for path in paths])
    _check_examples(card, examples)
    return examples


def _check_examples(card: Card, examples: Examples) -> None:
    """Raise DataError for a value that must not be missing, and for an example that is too short."""
    shortest = 1 + (card.horizon or 0)
    for k, (values, answer) in enumerate(zip(examples.values, examples.answers, strict=True)):
        if len(values) < shortest:
            where = examples.at(k, 0, 0)
            raise DataError(f"{where}: an example needs {shortest} or more steps with values, got {len(values)}.")
        missing = np.isnan(values)
        if missing.any() and card.missing == "refuse":
            step, channel = (int(n) for n in np.argwhere(missing)[0])
            rule = 'a value is missing. Set missing to "hold", "mask" or a number in the card, or fill it in'
            raise DataError(f"{examples.at(k, step, channel)}: {rule}.")
        lost = np.isnan(answer) if answer.ndim == 1 or card.missing == "refuse" else np.zeros(1, bool)
        if lost.any() and card.task != "forecasting":
            raise DataError(f"{examples.at(k, int(np.argwhere(lost)[0][0]), None)}: the target is missing.")
