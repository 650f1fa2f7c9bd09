"""Drafts of a card: what is known from a file, and what to ask, for any format."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from longwave.tasks.base.raw import DataError
from longwave.tasks.cards.card import ENDINGS, default_delimiter
from longwave.tasks.cards.columns import Columns, read_columns, read_header
from longwave.tasks.cards.content import card_content
from longwave.tasks.cards.guess import Open, guess_roles
from longwave.tasks.cards.guess_arrays import ArraysDraft, SeriesDraft


class Draft(Protocol):
    """A file for which to write a card."""

    @property
    def names(self) -> Sequence[str]:
        """Possible answers to a question: its columns or arrays."""

    def guess_roles(self, answers: Mapping[str, str]) -> tuple[dict[str, str], list[Open]]:
        """Return the known roles, from answers or inferred from names and values, and the open questions.

        Raises:
            DataError: An answer is not among the choices, or not in the file.
        """

    def card_content(self, roles: Mapping[str, str], channels: Sequence[str]) -> dict[str, Any]:
        """Return the content of a card, from what ``guess_roles`` returned with nothing open.

        Raises:
            DataError: No input channel is found, or a requested one does not exist.
        """


NEEDS = {
    "horizon": "only a forecasting task has a horizon",
    "window": "only one long series is cut into windows",
    "stride": "only one long series is cut into windows",
    "series": "one long series has no column of examples",
    "time": "in a table with an example in each row, each needs a time, a number or a date like 2024-05-31",
    "group": "only many examples form groups: three or more, one of them with several examples",
    "target": "a forecast of examples in rows or arrays predicts their inputs",
}
"""What each role needs, where a card may leave it out."""


def fill_content(
    draft: Draft, answers: Mapping[str, str], roles: Mapping[str, str], channels: Sequence[str]
) -> dict[str, Any]:
    """Return the content of a card, in which every answer is used.

    Args:
        draft: Of the file.
        answers: What the user said of its roles.
        roles: What ``guess_roles`` made of them, with nothing open.
        channels: Input columns; empty for all that are free.

    Raises:
        DataError: An answer would not be used, or as ``Draft.card_content``.
    """
    content = draft.card_content(roles, channels)
    for name, answer in answers.items():
        if name not in content:
            raise DataError(f"{name} {answer} would not be used: {NEEDS[name]}. Leave it out.")
    return content


class TableDraft:
    """A CSV or Parquet file; the delimiter of a CSV is the one that gives its header most columns."""

    def __init__(self, file: Path, kind: str) -> None:
        self.delimiter = "," if kind == "parquet" else _find_delimiter(file)
        self.table: Columns = read_columns(file, kind, self.delimiter)
        self.table.check([])

    @property
    def names(self) -> Sequence[str]:
        """The columns."""
        return self.table.names

    def guess_roles(self, answers: Mapping[str, str]) -> tuple[dict[str, str], list[Open]]:
        """Return the known roles of the columns, and the open questions."""
        return guess_roles(self.table, answers)

    def card_content(self, roles: Mapping[str, str], channels: Sequence[str]) -> dict[str, Any]:
        """Return the content of a card."""
        content = card_content(self.table, roles, channels)
        default = default_delimiter(self.table.path.name)
        return content if self.delimiter == default else {**content, "delimiter": self.delimiter}


def _find_delimiter(file: Path) -> str:
    """Return the delimiter that gives a header the most columns.

    Raises:
        DataError: It is no header with any of them.
    """
    columns: dict[str, int] = {}
    errors: list[DataError] = []
    for sign in ",;\t|":
        try:
            columns[sign] = len(read_header(file, sign))
        except DataError as error:
            errors.append(error)  # a quoted header is invalid with the wrong delimiter
    if not columns:
        raise errors[0]
    return max(columns, key=columns.__getitem__)


def split_ending(name: str) -> tuple[str, str]:
    """Return a file's name without its ending, and the format of that ending, empty if unknown."""
    plain = re.sub(r"(?i)(\.csv|\.tsv)\.gz$", r"\1", name)
    stem, dot, ending = plain.rpartition(".")
    kind = ENDINGS.get(f"{dot}{ending}".lower(), "")
    return (stem, kind) if kind else (name, "")


def read_draft(file: Path) -> Draft:
    """Return the draft for a file.

    Raises:
        DataError: The file cannot be read as the format of its ending.
    """
    _, kind = split_ending(file.name)
    if kind == "npz":
        return ArraysDraft(file)
    if kind == "ts":
        return SeriesDraft(file)
    if kind:
        return TableDraft(file, kind)
    raise DataError(f"{file}: its name must end in {', '.join(ENDINGS)}; .gz may follow that of a CSV.")
